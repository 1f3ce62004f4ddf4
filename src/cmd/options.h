/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h: a subcommand's options, read from its table; help made from the same.
 */
#ifndef US_CMD_OPTIONS_H
#define US_CMD_OPTIONS_H

#include "cmd/cmd.h"
#include "symbol/debug_file.h"

#include <stdbool.h>
#include <stdint.h>

struct us_options {
	const struct us_cmd *cmd;
	int argc;
	char **argv;
	const char *value; /* of the option that was returned last */
	int rest;	   /* index of the first argument that is no option */
	bool help;	   /* -h was given and answered */
	bool started;
};

/*
 * The next option's id; 0 at the end, -1 on a mistake
 * or after -h (check help), which have been told to the user.
 * Stops at the first argument that is no option if the command asks (args ends in
 * "..."), so that a VMM's own options are not read.
 */
int us_options_next(struct us_options *o);

/*
 * For a command that takes --json (any option but -h is that) and nothing else.  True:
 * go on; else *ret_exit is what to exit with, the user has been told.
 */
bool us_options_json(const struct us_cmd *cmd, int argc, char **argv, bool *ret_json,
		     int *ret_exit);

/* Text to value; on a mistake the user is told and false returned. */
bool us_parse_double(const char *option, const char *text, double least, double most,
		     double *ret);
bool us_parse_duration(const char *option, const char *text, uint64_t *ret_ns);
/* "0,2-3": bit n for vCPU n. */
bool us_parse_vcpus(const char *text, uint64_t *ret_mask);

/* Add a folder of debug files. */
#define US_MAX_DIRS 16
bool us_parse_dir(const struct us_cmd *cmd, const char *text,
		  const char *dir[US_MAX_DIRS], struct us_debug_dirs *ret);

/* "uniscope: MESSAGE" and the hint, on stderr. */
void us_complain(const struct us_err *e);
/* A mistake in how the command was called; returns US_EXIT_USAGE. */
int us_usage(const struct us_cmd *cmd, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3)));
void us_print_help(const struct us_cmd *cmd);
/* The exit code that documents this errno. */
int us_exit_code(int err);

#endif
