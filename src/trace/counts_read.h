/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts_read.h: the file of plugin_counts.h: from what it is at this moment to a
 * recording.
 */
#ifndef US_TRACE_COUNTS_READ_H
#define US_TRACE_COUNTS_READ_H

#include "store/store.h"
#include "vmm/plugin_counts_file.h"

/* What was written. */
struct us_counts_sums {
	unsigned n_vcpu; /* that were started */
	uint64_t insns, calls;
	uint64_t lost, too_deep, resets, interrupts;
	uint64_t unnamed; /* of the instructions */
	uint64_t slide;	  /* of the images' code, if much of it ran elsewhere; else 0 */
};

/* Is the code that was executed that of the images?  By the functions' first bytes. */
enum us_match us_counts_match(const struct us_counts *c);
/* What else is known of the vCPUs, and the slide; insns and unnamed are there. */
void us_counts_sum_up(const struct us_counts *c, struct us_counts_sums *s);
/* All vCPUs' trees, as they are now. */
US_MUST_CHECK int us_counts_record(const struct us_counts *c, struct us_writer *w,
				   struct us_counts_sums *ret, struct us_err *e);

#endif
