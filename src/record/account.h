/* SPDX-License-Identifier: GPL-2.0-or-later */
/* account.h: what became of every sample that was due, and what it cost the guest. */
#ifndef US_RECORD_ACCOUNT_H
#define US_RECORD_ACCOUNT_H

#include "store/store.h"

/*
 * A histogram of durations in fixed memory: 32 buckets for each power of two, so that a
 * bucket is at most 1/32 wider than the values in it.
 */
#define US_HISTOGRAM_BUCKETS 1920

struct us_histogram {
	uint64_t n, max;
	uint64_t bucket[US_HISTOGRAM_BUCKETS];
};

void us_histogram_add(struct us_histogram *h, uint64_t v);
/* The smallest bound that the given share (0 to 1) of the values does not exceed,
 * rounded up to the end of its bucket but never above the maximum; 0 if empty. */
uint64_t us_histogram_quantile(const struct us_histogram *h, double share);

struct us_account {
	struct us_record_stats taken; /* running, idle, off, lost, truncated */
	struct us_histogram held;
};

/* A capture was taken; written: it fit into the ring. */
void us_account_add(struct us_account *a, const struct us_sample *s, uint64_t held_ns,
		    bool written);

/*
 * The sums so far; counts come from the backend.  due is the sum of everything that was
 * decided, so that the sums are consistent at any moment, even between the captures of
 * one stop.
 */
void us_account_sum(const struct us_account *a, const struct us_backend_counts *counts,
		    uint64_t elapsed_ns, struct us_record_stats *ret);

/*
 * At the end: samples that the backend counted as due but neither delivered nor
 * explained count as failed.  Up to under_way of them are ignored: they were under way
 * when the recording ended.
 */
void us_account_close(struct us_record_stats *s, const struct us_backend_counts *counts,
		      uint64_t under_way);

#endif
