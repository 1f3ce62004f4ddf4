/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/record/plugin.h: a QEMU that record starts gets the plugin (backend plugin), if
 * the guest's functions are known before and QEMU accepts it.
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
 * 1: start p->command.argv instead of s->argv; 0: start s->argv, and e->msg says why
 * ("": the plugin does not apply).  Negative: the user asked for this backend, and it
 * is not possible.
 */
US_MUST_CHECK int us_record_plugin_prepare(struct us_record_plugin *p,
					   const struct us_record_settings *s,
					   struct us_err *e);
/* QEMU ended while it started: did it reject the plugin? */
bool us_record_plugin_refused(const struct us_record_plugin *p);

/*
 * For a QEMU that someone else starts: write the files that the plugin needs into
 * s->prepare, a folder, and the option for QEMU to standard output.
 */
US_MUST_CHECK int us_record_plugin_write(const struct us_record_settings *s,
					 struct us_err *e);
void us_record_plugin_fini(struct us_record_plugin *p); /* accepts a zeroed one */

#endif
