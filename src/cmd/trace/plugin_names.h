/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_names.h: the functions that were counted or traced, by name, in a recording
 * whose images may be gone when it is read. */
#ifndef US_CMD_PLUGIN_NAMES_H
#define US_CMD_PLUGIN_NAMES_H

#include "cmd/trace/plugin_run.h"
#include "trace/events_read.h"

/* Write them under the numbers of us_plugin_run_facts(), unless something else ran than
 * the images.  traced: functions of a trace, as far as they were read; NULL: none. */
US_MUST_CHECK int us_plugin_names_write(const struct us_plugin_run *r,
					const struct us_counts *c,
					const struct us_events_file *traced,
					struct us_writer *w, struct us_err *e);

#endif
