/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.h: source files, found by the paths in DWARF, and their lines. */
#ifndef US_REPORT_SOURCE_H
#define US_REPORT_SOURCE_H

#include "report/annotate.h"

#include <time.h>

#define US_SOURCE_MAX (8U << 20) /* bytes; larger files are not read */

struct us_sources {
	const struct us_annotate_opts *opts;
	struct {
		struct us_source {
			char *name; /* file and dir, as in DWARF */
			char *text; /* lines end with NULs; NULL: not found */
			size_t n_line;
			uint32_t *start; /* offset of each line in text */
			time_t changed;
		} * v;
		size_t n, cap;
	} files;
};

/* The file, found and read on first use; text is NULL if it was not found.  NULL: out
 * of memory.  Valid until the next call. */
const struct us_source *us_source_get(struct us_sources *s, const char *dir,
				      const char *file);
/* A line, from 1; NULL: there is none. */
const char *us_source_line(const struct us_source *s, uint32_t line);
void us_sources_fini(struct us_sources *s); /* accepts a zeroed one */

#endif
