/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h: reads a subcommand's options by its table, and makes the help text from
 * it.
 */
#ifndef US_CMD_OPTIONS_H
#define US_CMD_OPTIONS_H

#include "cmd/cmd.h"
#include "cmd/symbol_files.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The last part of an option's row: its value goes into this member of the settings,
 * which must have the right type.
 *
 * { 'o', "output", "FILE", "write there", US_TEXT(struct settings, out) },
 */
#define US_INTO(kind, wanted, type, member)                                            \
	kind, offsetof(type, member) + 0 * sizeof(char[US_IS(wanted, type, member)])
#define US_IS(wanted, type, member)                                                    \
	(__builtin_types_compatible_p(wanted, __typeof__(((type *)0)->member)) ? 1 : -1)
#define US_OWN		      US_OPTION_OWN, 0	    /* set() takes it */
#define US_ARGUMENT	      US_OPTION_ARGUMENT, 0 /* see us_options.rest */
#define US_FLAG(type, member) US_INTO(US_OPTION_FLAG, bool, type, member) /* true */
#define US_TEXT(type, member) US_INTO(US_OPTION_TEXT, const char *, type, member)
#define US_TIME(type, member)                                                          \
	US_INTO(US_OPTION_TIME, uint64_t, type, member) /* ns, not 0 */
#define US_VCPUS(type, member) US_INTO(US_OPTION_VCPUS, uint64_t, type, member)
#define US_IMAGE(type, member)                                                         \
	US_INTO(US_OPTION_IMAGE, struct us_symbol_files, type, member)
#define US_FOLDER(type, member)                                                        \
	US_INTO(US_OPTION_FOLDER, struct us_symbol_files, type, member)

#define US_ROOT(type, member)                                                          \
	US_INTO(US_OPTION_ROOT, struct us_symbol_files, type, member)
#define US_SERVER(type, member)                                                        \
	US_INTO(US_OPTION_SERVER, struct us_symbol_files, type, member)

/* Where the guest's symbols are, for a command that meets a guest: member is a
 * us_symbol_files. */
/* clang-format off */
#define US_SYMBOL_ROWS(type, member)                                                   \
	{ 'e', "elf", "ELF[@BIAS]",                                                    \
	  "the guest's symbol file, or nm's output of it; repeatable",                 \
	  US_IMAGE(type, member) },                                                    \
	{ 0, "symbols", "DIR", "search DIR for separate debug files; repeatable",      \
	  US_FOLDER(type, member) }
/* And for one that reads recordings. */
#define US_RECORDED_SYMBOL_ROWS(type, member)                                          \
	{ 'e', "elf", "ELF[@BIAS]",                                                    \
	  "use this symbol file instead of the recorded one; repeatable",              \
	  US_IMAGE(type, member) },                                                    \
	{ 0, "symbols", "DIR", "search DIR for images and debug files; repeatable",    \
	  US_FOLDER(type, member) }
/* Those of the programs in a Linux guest. */
#define US_PROGRAM_ROWS(type, member)                                                  \
	{ 0, "root", "DIR",                                                            \
	  "folder with a Linux guest's files, to name its programs",                   \
	  US_ROOT(type, member) },                                                     \
	{ 0, "debuginfod", "URL",                                                      \
	  "ask this server for symbols of the guest's programs",                       \
	  US_SERVER(type, member) }
/* clang-format on */

/* As perf's commands take a recording. */
#define US_INPUT_ROW                                                                   \
	{                                                                              \
		'i', "input", "FILE", "a recording: the same as FILE without -i",      \
			US_ARGUMENT                                                    \
	}
#define US_MAX_ARGUMENTS 64 /* by options */

/* A command's arguments, and where their values go. */
struct us_options {
	const struct us_cmd *cmd;
	int argc;
	char **argv;
	void *settings; /* for the rows that name a member */
	/* For the other rows; false: the user was told what is wrong.  May be NULL. */
	bool (*set)(void *settings, int id, const char *value);
	/* Results. */
	char **rest; /* arguments by options (US_ARGUMENT), then those after the
			options; ends with NULL */
	int n_rest;
	bool command;		       /* rest follows a -- */
	char *named[US_MAX_ARGUMENTS]; /* those of rest that were given by options */
	int n_named;
};

/*
 * Read all options.  True: continue; else exit with *ret_exit: the user was told what
 * is wrong, or got the help text.
 *
 * Options may come before and after a TARGET.  A command that takes a VMM's ARGS...
 * instead of a TARGET stops at the first argument that is not an option, so that the
 * VMM's options are not read if the -- was forgotten.
 */
bool us_options_read(struct us_options *o, int *ret_exit);

/* The remaining argument of a command that takes at most one; what: its name.  *ret is
 * unchanged if there is none.  Returns as us_options_read(). */
bool us_options_one(const struct us_options *o, const char *what, const char **ret,
		    int *ret_exit);

/* For a command that takes no argument. */
bool us_options_none(const struct us_options *o, int *ret_exit);

/* Parse a value (base/quantity.h); on a mistake, tell the user and return false. */
bool us_parse_double(const char *option, const char *text, double least, double most,
		     double *ret);
/* The same, with or without Hz or % behind it. */
bool us_parse_rate(const char *option, const char *text, double least, double most,
		   double *ret);
bool us_parse_percent(const char *option, const char *text, double least, double most,
		      double *ret);
bool us_parse_size(const char *option, const char *text, uint64_t least, uint64_t most,
		   uint64_t *ret);
bool us_parse_duration(const char *option, const char *text, uint64_t *ret_ns);
/* Keep of *mask (0: all; else bit n for vCPU n) only those of list, "0,2-3"; false also
 * if none is left.  text: what the user gave option, which list is in. */
bool us_narrow_vcpus(const char *option, const char *text, const char *list,
		     uint64_t *mask);

/* "uniscope: MESSAGE" and the hint, on stderr. */
void us_complain(const struct us_err *e);
/* Report a usage error; returns US_EXIT_USAGE. */
int us_usage(const struct us_cmd *cmd, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3)));
/* A value that is an extended regular expression; false: the user was told why it is
 * none. */
bool us_is_regex(const struct us_cmd *cmd, const char *option, const char *value);
/* The same for a part of the value, such as what is behind KEY=. */
bool us_is_regex_in(const struct us_cmd *cmd, const char *option, const char *value,
		    const char *regex);
void us_print_help(const struct us_cmd *cmd);
/* The documented exit code for this errno. */
int us_exit_code(int err);

#endif
