/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * columns.h: fits text for people into a number of columns: names are cut in the
 * middle, paths at the beginning, text is wrapped; figures are never cut.
 */
#ifndef US_REPORT_COLUMNS_H
#define US_REPORT_COLUMNS_H

#include "report/report.h"

#define US_CELL_SIZE 1200 /* bytes of a name or path, with the NUL */

/* Width of tables for o, in columns. */
size_t us_report_columns(const struct us_report_opts *o);

/* The two last columns of a table: the name of a row, and its place (source or
 * module). */
struct us_two_columns {
	size_t name, place;		  /* widths; place 0: no such column */
	size_t widest_name, widest_place; /* widest that were measured */
};
void us_two_columns_measure(struct us_two_columns *c, const char *name,
			    const char *place);
/* Call after measuring all rows; used: columns before the name. */
void us_two_columns_fit(struct us_two_columns *c, const struct us_report_opts *o,
			size_t used);
/* Print both, cut to fit, with the name padded if a place follows, without a newline.
 * Both must be printable, and are changed to what is shown. */
void us_two_columns_print(const struct us_two_columns *c,
			  const struct us_report_opts *o,
			  char name[static US_CELL_SIZE],
			  char place[static US_CELL_SIZE], FILE *out);

/* "name" or "name (inlined)", and "kernel/sched.c:12" or else the module; printable. */
void us_report_name_cell(const struct us_profile_func *f,
			 char dst[static US_CELL_SIZE]);
void us_report_place_cell(const struct us_profile_func *f,
			  const struct us_report_opts *o,
			  char dst[static US_CELL_SIZE]);

/* The source path of a function as o asks for it, in dst if needed. */
const char *us_report_path(const struct us_profile_func *f,
			   const struct us_report_opts *o,
			   char dst[static US_PATH_SIZE]);

/* Print text, made printable, in lines: the first after `first` ("# "), the others
 * after `next`.  If colours are wanted, each line is between paint ("\033[2m") and its
 * end. */
void us_report_wrap(FILE *out, const struct us_report_opts *o, const char *paint,
		    const char *first, const char *next, const char *text);
/* The profile's warnings, each as such a line that begins with "# warning: ". */
void us_report_warnings(FILE *out, const struct us_report_opts *o,
			const struct us_profile *p);

#endif
