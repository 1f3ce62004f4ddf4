/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output.h: where a recording goes, and what is made of it at once.
 *
 * The recording itself is always written first, so that nothing that happens later can
 * lose it.  If the user asked for another format, it stands beside the result as
 * FILE.data until the result is whole.
 */
#ifndef US_CMD_OUTPUT_H
#define US_CMD_OUTPUT_H

#include "report/report.h"

struct us_output {
	char path[US_STORE_MAX_PATH];	/* of the recording */
	char result[US_STORE_MAX_PATH]; /* of the converted file; "": none wanted */
	const struct us_format *format;
	const struct us_debug_dirs *dirs; /* NULL: none */
	bool raw_names;	 /* the user's, for the result: not demangled */
	bool host;	 /* the same: with what the host did */
	bool full_paths; /* the same: of sources */
	int fd, result_fd;
	bool open, is_stdout;
};

/* name: NULL for uniscope.data, "-" for standard output.  A uniscope.data of an
 * earlier recording is kept as uniscope.data.old.  Files are made with mode 0600. */
US_MUST_CHECK int us_output_open(struct us_output *o, const char *name,
				 struct us_err *e);
/* A file without a name, which is gone once nobody has it open. path is "". */
US_MUST_CHECK int us_output_temporary(struct us_output *o, struct us_err *e);
/* Cut the recording to its good bytes after a failed write. */
void us_output_cut(struct us_output *o, uint64_t good_bytes);
/* Make the result, if one is wanted, and say what to type next. */
US_MUST_CHECK int us_output_convert(struct us_output *o, bool quiet, struct us_err *e);
void us_output_close(struct us_output *o);

/* Columns of tables for people: US_REPORT_COLUMNS, or less on a narrower terminal. */
unsigned us_output_columns(FILE *out);

#endif
