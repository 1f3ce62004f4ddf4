/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd.h: a subcommand is a file here and a row in the table in main.c.
 */
#ifndef US_CMD_H
#define US_CMD_H

#include "base/err.h"

#include <stddef.h>

/* Exit codes: stable, documented in uniscope(1). */
enum us_exit {
	US_EXIT_OK = 0,
	US_EXIT_FAILED = 1,
	US_EXIT_USAGE = 2,
	US_EXIT_NO_GUEST = 3, /* no such guest, or not permitted */
	/* Diff --fail-above: a function has grown by more than that. */
	US_EXIT_CHANGED = 4,
};

/* Options without a letter are numbered from here. */
#define US_OPTION_LONG 256

/* Where an option's value goes in the command's settings. */
enum us_option_kind {
	US_OPTION_OWN,	    /* to the command's own function */
	US_OPTION_ARGUMENT, /* before the arguments, as if it were one */
	US_OPTION_FLAG,
	US_OPTION_TEXT,
	US_OPTION_TIME,
	US_OPTION_VCPUS,
	US_OPTION_IMAGE,
	US_OPTION_FOLDER,
	US_OPTION_ROOT,
	US_OPTION_SERVER,
};

struct us_option {
	/* Its letter.  Options without one have US_OPTION_LONG or higher; or 0 if the
	 * kind is not OWN. */
	int id;
	const char *name; /* long name without dashes */
	const char *arg;  /* "HZ"; NULL: no value; "[LIST]": --name or --name=LIST */
	const char *help;
	enum us_option_kind kind;
	size_t offset; /* offset in the settings; see options.h */
};

struct us_cmd {
	const char *name, *args, *summary;
	const struct us_option *options; /* ends with a zeroed one */
	const char *const *examples; /* "command line\0what it does"; ends with NULL */
	int (*run)(int argc, char **argv); /* enum us_exit */
};

extern const struct us_cmd *const us_cmds[]; /* in main.c; NULL-terminated */
extern const struct us_cmd us_cmd_ps, us_cmd_record, us_cmd_report, us_cmd_annotate,
	us_cmd_dump, us_cmd_doctor, us_cmd_count, us_cmd_trace, us_cmd_replay,
	us_cmd_boot, us_cmd_diff, us_cmd_import, us_cmd_serve, us_cmd_top;

#endif
