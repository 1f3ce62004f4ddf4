/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_options.h: the options of the commands that sample guests now: record, serve and
 * top. */
#ifndef US_CMD_LIVE_OPTIONS_H
#define US_CMD_LIVE_OPTIONS_H

#include "base/clock.h"
#include "cmd/record/budget.h"
#include "cmd/record/one.h"

/* Samples per second of each vCPU; in pages and tables of all guests. */
#define US_LIVE_HZ     997
#define US_LIVE_HZ_ALL 99
/* Of all guests: between two wake-ups of a recording. */
#define US_LIVE_PAUSE_ALL_NS (200 * US_NS_PER_MS)

/* Beside 'F', for the frequency, whose default differs. */
enum us_live_option {
	US_LIVE_BUDGET = US_OPTION_LONG + 2000,
	US_LIVE_TASKS,
};

/* clang-format off */
/* Rows for a command's table of options: member is a us_record_settings. */
#define US_LIVE_ROWS(type, member)                                                     \
	{ 0, "backend", "NAME",                                                        \
	  "bpf, kvm, plugin, gdb, qmp or xen (auto: the best that works)",             \
	  US_TEXT(type, member.backend) },                                             \
	{ 0, "vcpu", "LIST", "only these vCPUs, such as 0,2-3",                        \
	  US_VCPUS(type, member.schedule.vcpu_mask) },                                 \
	{ US_LIVE_BUDGET, "budget", "PERCENT",                                         \
	  "guest time that samples may take (" US_BUDGET_HELP "; 100: no bound)",      \
	  US_OWN }
/* then: what shows them. */
#define US_LIVE_TASKS_ROW(then)                                                        \
	{ US_LIVE_TASKS, "tasks", "HZ",                                                \
	  "a Linux guest's waiting tasks, read HZ times a second (try 4)" then,        \
	  US_OWN }
/* clang-format on */

/* Take the value of 'F' or of a row above; false: the user was told what is wrong. */
bool us_live_set(struct us_record_settings *s, int id, const char *value);

#endif
