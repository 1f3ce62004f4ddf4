/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * columns.h: what people read fits in so many columns: names are cut in their middle,
 * paths at their beginning, text is wrapped; figures are never cut.
 */
#ifndef US_REPORT_COLUMNS_H
#define US_REPORT_COLUMNS_H

#include "report/report.h"

#define US_CELL_SIZE 1200 /* bytes of a name or path, with the NUL */

/* Columns in which tables of o fit. */
size_t us_report_columns(const struct us_report_opts *o);

/* The two last columns of a table: what a row is of, and where that is. */
struct us_two_columns {
	size_t name, place;		  /* widths; place 0: it is left out */
	size_t widest_name, widest_place; /* of what was measured */
};
void us_two_columns_measure(struct us_two_columns *c, const char *name,
			    const char *place);
/* After all rows were measured: used columns stand before the name. */
void us_two_columns_fit(struct us_two_columns *c, const struct us_report_opts *o,
			size_t used);
/* Both, cut to fit, the name padded if a place follows; no end of line.  Both are
 * printable and become what is shown. */
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

/* The source of a function as o wants it, in dst if need be. */
const char *us_report_path(const struct us_profile_func *f,
			   const struct us_report_opts *o,
			   char dst[static US_PATH_SIZE]);

/* Text that is made printable, in lines: the first after first ("# "), the others
 * after next; paint ("\033[2m") and its end around each if colours are wanted. */
void us_report_wrap(FILE *out, const struct us_report_opts *o, const char *paint,
		    const char *first, const char *next, const char *text);

#endif
