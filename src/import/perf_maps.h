/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_maps.h: which files the processes of a perf.data had mapped at a time.
 *
 * A process gets another address space whenever what was at an address of a sampled one
 * is replaced: by an exec, or by a mapping over another.  Each has a number of its own
 * in place of the root of page tables, which perf does not know.  So an address in a
 * space leads to one file, and a report needs no times.
 *
 * All mappings together, with the copies of those of a process that forks and then maps
 * more, are at most US_PERF_MOST_MAPPINGS: a file of that many has half a gigabyte.
 * One process has as many as Linux allows by default (vm.max_map_count).
 */
#ifndef US_IMPORT_PERF_MAPS_H
#define US_IMPORT_PERF_MAPS_H

#include "import/perf_file.h"
#include "import/perf_images.h"
#include "store/limits.h"

#define US_PERF_MOST_MAPPINGS	     (1U << 22)
#define US_PERF_MOST_MAPPINGS_OF_ONE (1U << 16)

struct us_perf_maps;

US_MUST_CHECK int us_perf_maps_new(struct us_limits *limits, struct us_perf_maps **ret);
void us_perf_maps_free(struct us_perf_maps *m); /* accepts NULL */

/* While the file is read: what happened, and the record's place in the file, by which
 * those of the same time are ordered.  Only what is executable matters. */
US_MUST_CHECK int us_perf_maps_mapping(struct us_perf_maps *m,
				       const struct us_perf_mapping *x, size_t number);
US_MUST_CHECK int us_perf_maps_comm(struct us_perf_maps *m,
				    const struct us_perf_comm *c, size_t number);
US_MUST_CHECK int us_perf_maps_fork(struct us_perf_maps *m,
				    const struct us_perf_fork *f, size_t number);

/* Once, when all is there. */
void us_perf_maps_sort(struct us_perf_maps *m);
/* After that: do different files of two processes share an address? */
US_MUST_CHECK int us_perf_maps_clash(const struct us_perf_maps *m, bool *ret);

/* The root of the space that a sample is in.  Samples are asked for in the order of
 * their times.  0: no memory. */
us_gpa us_perf_maps_root(struct us_perf_maps *m, uint32_t pid, uint64_t time_ns,
			 size_t number);
/* A us_program_seer's callback: keep the mapping that this address is in. */
void us_perf_maps_see(void *ctx, us_gpa root, us_gva pc);
/* Write the processes that were sampled, and the mappings that were seen. */
US_MUST_CHECK int us_perf_maps_write(struct us_perf_maps *m,
				     struct us_perf_images *images, struct us_writer *w,
				     struct us_err *e);

#endif
