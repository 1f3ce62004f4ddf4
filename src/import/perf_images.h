/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_images.h: the ELF files that a perf.data has mapped, each opened once, though
 * each process that runs maps them anew.
 */
#ifndef US_IMPORT_PERF_IMAGES_H
#define US_IMPORT_PERF_IMAGES_H

#include "base/name_set.h"
#include "store/store.h"

#define US_PERF_MOST_MODULES (1U << 16) /* a report compares each with each */

/* Code of a file at an address. */
struct us_perf_area {
	uint64_t start, end;
	uint64_t offset; /* of start, in the file */
	/* Valid as long as the perf.data's bytes. */
	const char *path;
	const uint8_t *build_id;
	uint8_t build_id_len; /* 0: not given */
};

struct us_perf_images {
	struct us_name_set paths; /* their numbers are those of v */
	struct us_perf_image *v;
	size_t n, cap;
	uint32_t n_module; /* written so far */
	struct us_limits *limits;
};

/* Does its path name a file, and is it short enough for a recording? */
bool us_perf_area_has_file(const struct us_perf_area *a);

/* Write the module that such an area is, in the address space with this root (0: in
 * all), with the bias and the evidence that its file gives; but no more than
 * US_PERF_MOST_MODULES. */
US_MUST_CHECK int us_perf_images_write(struct us_perf_images *x,
				       const struct us_perf_area *a, us_gpa root,
				       struct us_writer *w, struct us_err *e);
void us_perf_images_fini(struct us_perf_images *x); /* accepts a zeroed one */

#endif
