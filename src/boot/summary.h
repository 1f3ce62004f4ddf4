/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.h: what several boots have in common. */
#ifndef US_BOOT_SUMMARY_H
#define US_BOOT_SUMMARY_H

#include "base/rank.h"
#include "boot/run.h"

/* A point that was passed, and the time from the one before. */
struct us_boot_row {
	size_t point;		  /* of the plan */
	size_t n_seen;		  /* runs that passed it */
	struct us_estimate at;	  /* ns since the launch */
	struct us_estimate phase; /* ns since the row before, in runs with both */
	/* CPU time of the VMM's process until then, ns; value 0: none. */
	struct us_estimate cpu;
	struct us_estimate insns;
};

struct us_boot_summary {
	struct us_boot_row row[US_BOOT_MAX_POINT]; /* in order of time */
	size_t n;
};

/* 0 or -ENOMEM. */
US_MUST_CHECK int us_boot_summarize(const struct us_boot_plan *p,
				    const struct us_boot_run *run, size_t n,
				    struct us_boot_summary *ret);

/* The time from one point to another, in runs that passed both; *ret_n: number of
 * these.  0 or -ENOMEM. */
US_MUST_CHECK int us_boot_span(const struct us_boot_run *run, size_t n, size_t from,
			       size_t to, struct us_estimate *ret, size_t *ret_n);

/* How much later b passes a point than a; sure: see rank.h.  0 or -ENOMEM. */
US_MUST_CHECK int us_boot_difference(const struct us_boot_run *a, size_t n_a,
				     size_t point_a, const struct us_boot_run *b,
				     size_t n_b, size_t point_b,
				     struct us_estimate *ret);

#endif
