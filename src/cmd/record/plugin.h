/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/record/plugin.h: a QEMU that record starts gets the plugin (backend plugin), if
 * the guest's functions are known before it starts, and QEMU takes it.
 */
#ifndef US_CMD_RECORD_PLUGIN_H
#define US_CMD_RECORD_PLUGIN_H

#include "cmd/trace/plugin_run.h"
#include "cmd/record/one.h"

struct us_record_plugin {
	struct us_plugin_asked asked;
	struct us_plugin_run run;
	struct us_plugin_command command;
};

/*
 * 1: p->command.argv is what is to be started instead of s->argv; 0: s->argv is, and
 * e->msg says why ("": the plugin does not come into question).  Negative: the user
 * named this backend, and it cannot be.
 */
US_MUST_CHECK int us_record_plugin_prepare(struct us_record_plugin *p,
					   const struct us_record_settings *s,
					   struct us_err *e);
/* QEMU has ended before it was there: was it that it did not take the plugin? */
bool us_record_plugin_refused(const struct us_record_plugin *p);

/*
 * For a QEMU that someone else starts: what the plugin needs is written into
 * s->prepare, a folder, and the option that QEMU needs to standard output.
 */
US_MUST_CHECK int us_record_plugin_write(const struct us_record_settings *s,
					 struct us_err *e);
void us_record_plugin_fini(struct us_record_plugin *p); /* accepts a zeroed one */

#endif
