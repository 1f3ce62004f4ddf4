/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output.h: where a recording goes, and its conversion afterwards.
 *
 * The recording itself is always written first, so that no later failure can lose it.
 * If the user asked for another format, the recording is in FILE.data beside the result
 * until the result is complete.
 *
 * us_output_open()     fails if there cannot be such files; earlier ones are untouched
 * us_output_keep()     when there is something to record: earlier ones are replaced
 * us_output_convert()
 * us_output_close()    leaves nothing behind that was not kept
 */
#ifndef US_CMD_OUTPUT_H
#define US_CMD_OUTPUT_H

#include "cmd/new_file.h"
#include "report/report.h"

struct us_output {
	char path[US_STORE_MAX_PATH];	/* of the recording */
	char result[US_STORE_MAX_PATH]; /* of the converted file; "": none wanted */
	char shown[256];		/* of one without a path: what to call it */
	const struct us_format *format;
	const struct us_debug_dirs *dirs; /* NULL: none */
	bool raw_names;			  /* for the result: names are not demangled */
	bool host;			  /* for the result: with what the host did */
	bool full_paths;		  /* for the result: full paths of sources */
	struct us_new_file file, result_file;
	int fd, result_fd;
	bool by_default; /* an earlier file is kept as .old */
	bool open, is_stdout, converted;
};

/* name: NULL for uniscope.data, "-" for standard output, and so is another name of what
 * that leads to.  Files are created with mode 0600.  On failure nothing is left behind.
 */
US_MUST_CHECK int us_output_open(struct us_output *o, const char *name,
				 struct us_err *e);
/* A file without a name, which disappears when it is closed.  path is "". */
US_MUST_CHECK int us_output_temporary(struct us_output *o, struct us_err *e);
/* For messages: its path, or words for a temporary file. */
const char *us_output_shown(const struct us_output *o);
/* Give recording and result their names, before rights are dropped (rights.h).  From
 * now on the recording is found, even if this process is killed.  An earlier
 * uniscope.data is kept as uniscope.data.old. */
US_MUST_CHECK int us_output_keep(struct us_output *o, struct us_err *e);
/* Truncate the recording to its good bytes after a failed write. */
void us_output_cut(struct us_output *o, uint64_t good_bytes);
/* Keep the recording, create the result, if one is wanted, and suggest the next
 * command. */
US_MUST_CHECK int us_output_convert(struct us_output *o, bool quiet, struct us_err *e);
void us_output_close(struct us_output *o);
/* Tell the user what a format, which was written, cannot show of p. */
void us_output_caution(const struct us_format *f, const struct us_profile *p);

/* Columns of tables for people: US_REPORT_COLUMNS, or less on a narrower terminal. */
unsigned us_output_columns(FILE *out);
/* Print first and s to stdout, in lines of at most all columns; those after the first
 * are indented by the length of first.  s is printable. */
void us_output_wrapped(const char *first, const char *s, size_t all);
/* Is it a terminal with colours?  Not if TERM is "dumb", or NO_COLOR is set and not
 * empty (https://no-color.org). */
bool us_output_colour(FILE *out);

#endif
