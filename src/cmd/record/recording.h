/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording.h: shared by the commands that read a recording. */
#ifndef US_CMD_RECORDING_H
#define US_CMD_RECORDING_H

#include "cmd/cmd.h"
#include "cmd/new_file.h"
#include "cmd/symbol_files.h"
#include "profile/profile.h"
#include "report/annotate.h"

#include <stdbool.h>
#include <stdio.h>

/* Open the file, or standard input for "-"; the caller closes *ret. */
US_MUST_CHECK int us_recording_open(const char *path, int *ret, struct us_err *e);

/* Read several as one profile (us_profile_read_all()), named as the user did; naming
 * one twice is an error. */
US_MUST_CHECK int us_recordings_read(const char *const *path, size_t n,
				     const struct us_profile_opts *o,
				     struct us_profile **ret, struct us_err *e);

/* Fail if two of these files are the same recording. */
US_MUST_CHECK int us_recordings_are_different(const char *const *path, size_t n,
					      struct us_err *e);

/* What a command writes: a file with mode 0600, which replaces an earlier one when it
 * is whole; a folder (f is NULL); or stdout, if path is NULL or "-". */
struct us_result {
	const char *path;
	FILE *f;
	struct us_new_file file;
	bool quiet; /* set it after us_result_open(): the user is not told */
};
US_MUST_CHECK int us_result_open(struct us_result *o, const char *path,
				 struct us_err *e);
/* r: the result of writing; if 0, the file gets its name and the user is told.  Else it
 * is removed. */
US_MUST_CHECK int us_result_close(struct us_result *o, int r, struct us_err *e);

/* --time "FROM,TO"; false: the user was told what is wrong. */
bool us_recording_time(const struct us_cmd *cmd, const char *value,
		       struct us_profile_opts *o);
#define US_PROCESSES_OF_ONE "processes are told apart in one recording only"
/* --group-by and the keys of --filter; false: the user was told. */
bool us_recording_by(const struct us_cmd *cmd, const char *option, const char *name,
		     enum us_profile_by *ret);
/* Filters by owner in a Linux guest: --pid N, --comm REGEX, --container REGEX.  Each
 * sets o->processes.  False: the user was told what is wrong. */
bool us_recording_pid(const struct us_cmd *cmd, const char *value,
		      struct us_profile_opts *o);
bool us_recording_owner(const struct us_cmd *cmd, enum us_profile_by by,
			const char *value, struct us_profile_opts *o);
/* Which samples are shown: rows for a command's table of options (of: "the recording"),
 * and the function that takes their values; false: the user was told what is wrong. */
enum us_select {
	US_SELECT_TIME = US_OPTION_LONG + 1000,
	US_SELECT_FOCUS,
	US_SELECT_IGNORE,
	US_SELECT_FILTER,
	US_SELECT_PID,
	US_SELECT_COMM,
	US_SELECT_CONTAINER,
	US_SELECT_KERNEL,
	US_SELECT_USER,
};
/* clang-format off */
#define US_SELECT_ROWS(of)                                                             \
	{ US_SELECT_TIME, "time", "FROM,TO", "only this part of " of ": 1s,2.5s",      \
	  US_OWN },                                                                    \
	{ US_SELECT_FOCUS, "focus", "REGEX",                                           \
	  "only stacks with a function that matches", US_OWN },                        \
	{ US_SELECT_IGNORE, "ignore", "REGEX",                                         \
	  "only stacks without a function that matches", US_OWN },                     \
	{ US_SELECT_FILTER, "filter", "KEY=REGEX",                                     \
	  "only samples whose KEY matches; repeatable. KEY: guest, recording,"         \
	  "\n                               vcpu, state, process, thread, comm, "      \
	  "container, image, file, function",                                          \
	  US_OWN },                                                                    \
	{ US_SELECT_PID, "pid", "N",                                                   \
	  "only this process or thread of a Linux guest; repeatable", US_OWN },        \
	{ US_SELECT_COMM, "comm", "REGEX", "only threads whose name matches",          \
	  US_OWN },                                                                    \
	{ US_SELECT_CONTAINER, "container", "REGEX",                                   \
	  "only cgroups whose path matches", US_OWN }
#define US_SELECT_PART_ROWS                                                            \
	{ US_SELECT_KERNEL, "kernel-only", NULL,                                       \
	  "only samples taken in the guest's kernel", US_OWN },                        \
	{ US_SELECT_USER, "user-only", NULL,                                           \
	  "only samples taken in programs (ring 3)", US_OWN }
/* clang-format on */
bool us_recording_select(const struct us_cmd *cmd, int id, const char *value,
			 struct us_profile_opts *o);
/* Do the filters need processes? */
bool us_recording_of_owners(const struct us_profile_opts *o);
/* Where sources are: --source, --source-prefix. */
#define US_MAX_SOURCE_PLACES 16
struct us_source_places {
	const char *prefix[US_MAX_SOURCE_PLACES], *dir[US_MAX_SOURCE_PLACES];
	size_t n_prefix, n_dir;
};
/* false: the user was told what is wrong. */
bool us_source_dir(const struct us_cmd *cmd, struct us_source_places *p,
		   const char *value);
bool us_source_prefix(const struct us_cmd *cmd, struct us_source_places *p,
		      const char *value);
/* p must outlive the options. */
struct us_annotate_opts us_source_opts(const struct us_source_places *p);

/* Use symbol files instead of the recorded ones: -e, --symbols. */
void us_recording_symbols(const struct us_symbol_files *f, struct us_profile_opts *o);

#endif
