/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h: one symbolised profile in, many formats out.
 *
 * A format is one file with one `const struct us_format` and one row in the table in
 * report.c.
 */
#ifndef US_REPORT_H
#define US_REPORT_H

#include "report/profile.h"

#include <stdio.h>

enum us_sort {
	US_SORT_SELF,
	US_SORT_TOTAL,
	US_SORT_NAME,
	US_SORT_FILE,
};

struct us_report_opts {
	enum us_sort sort;
	bool children;	/* count callees in: total is shown and sorted by */
	size_t limit;	/* rows at most; 0: all */
	bool colour;	/* the output is a terminal */
	unsigned width; /* of the terminal; 0: not one */
};

struct us_format {
	const char *name;    /* "text", "json", "folded", "html", "qprofiler" */
	const char *suffix;  /* of a file: ".html"; NULL: none */
	const char *summary; /* one line for --help */
	int (*write)(const struct us_profile *p, const struct us_report_opts *o,
		     FILE *out, struct us_err *e);
};

extern const struct us_format *const us_formats[]; /* NULL-terminated */

const struct us_format *us_format_by_name(const char *name);   /* or NULL */
const struct us_format *us_format_by_suffix(const char *path); /* or NULL */

/* Write and check the stream: a full disk is an error here. */
US_MUST_CHECK int us_report(const struct us_profile *p, const struct us_format *f,
			    const struct us_report_opts *o, FILE *out,
			    struct us_err *e);

#endif
