/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h: a subcommand's options, read from its table; help made from the same.
 */
#ifndef US_CMD_OPTIONS_H
#define US_CMD_OPTIONS_H

#include "cmd/cmd.h"
#include "cmd/symbol_files.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The last words of an option's row: its value goes into this member of the settings,
 * which must have the type.
 *
 *	{ 'o', "output", "FILE", "write there", US_TEXT(struct settings, out) },
 */
#define US_INTO(kind, wanted, type, member)                                            \
	kind, offsetof(type, member) + 0 * sizeof(char[US_IS(wanted, type, member)])
#define US_IS(wanted, type, member)                                                    \
	(__builtin_types_compatible_p(wanted, __typeof__(((type *)0)->member)) ? 1 : -1)
#define US_OWN		       US_OPTION_OWN, 0 /* set() takes it */
#define US_FLAG(type, member)  US_INTO(US_OPTION_FLAG, bool, type, member) /* true */
#define US_TEXT(type, member)  US_INTO(US_OPTION_TEXT, const char *, type, member)
#define US_TIME(type, member)  US_INTO(US_OPTION_TIME, uint64_t, type, member) /* ns */
#define US_VCPUS(type, member) US_INTO(US_OPTION_VCPUS, uint64_t, type, member)
#define US_IMAGE(type, member)                                                         \
	US_INTO(US_OPTION_IMAGE, struct us_symbol_files, type, member)
#define US_FOLDER(type, member)                                                        \
	US_INTO(US_OPTION_FOLDER, struct us_symbol_files, type, member)

#define US_ROOT(type, member)                                                          \
	US_INTO(US_OPTION_ROOT, struct us_symbol_files, type, member)
#define US_SERVER(type, member)                                                        \
	US_INTO(US_OPTION_SERVER, struct us_symbol_files, type, member)

/* A command's arguments, and what they are read into. */
struct us_options {
	const struct us_cmd *cmd;
	int argc;
	char **argv;
	void *settings; /* of the rows that say where */
	/* Of the others; false: the user was told what is wrong. May be NULL. */
	bool (*set)(void *settings, int id, const char *value);
	/* Results. */
	char **rest; /* what follows the options; ends with NULL */
	int n_rest;
	bool command; /* and it follows a -- */
};

/*
 * Read all options.  True: go on; else *ret_exit is what to exit with, the user has
 * been told what is wrong, or was given the help text.
 * Options may stand before and behind a TARGET.  A command that takes no TARGET but a
 * VMM's ARGS... stops at the first argument that is no option, so that those of the VMM
 * are not read where its -- was forgotten.
 */
bool us_options_read(struct us_options *o, int *ret_exit);

/* What is left, of a command that takes one argument at most, called what: *ret is
 * that, or stays.  As us_options_read(). */
bool us_options_one(const struct us_options *o, const char *what, const char **ret,
		    int *ret_exit);

/* For a command that takes none. */
bool us_options_none(const struct us_options *o, int *ret_exit);

/* Text to value; on a mistake the user is told and false returned. */
bool us_parse_double(const char *option, const char *text, double least, double most,
		     double *ret);
bool us_parse_duration(const char *option, const char *text, uint64_t *ret_ns);
/* "0,2-3": bit n for vCPU n. */
bool us_parse_vcpus(const char *text, uint64_t *ret_mask);

/* "uniscope: MESSAGE" and the hint, on stderr. */
void us_complain(const struct us_err *e);
/* A mistake in how the command was called; returns US_EXIT_USAGE. */
int us_usage(const struct us_cmd *cmd, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3)));
void us_print_help(const struct us_cmd *cmd);
/* The exit code that documents this errno. */
int us_exit_code(int err);

#endif
