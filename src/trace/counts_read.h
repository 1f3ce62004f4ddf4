/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts_read.h: writes the present content of the file of plugin_counts.h to a
 * recording.
 */
#ifndef US_TRACE_COUNTS_READ_H
#define US_TRACE_COUNTS_READ_H

#include "store/store.h"
#include "vmm/plugin_counts_file.h"

/* Sums of what was written. */
struct us_counts_sums {
	unsigned n_vcpu;   /* vCPUs that were started, at most US_MAX_VCPUS */
	unsigned n_beyond; /* further ones: what they did is left out */
	uint64_t insns, calls;
	uint64_t lost, too_deep, resets, interrupts;
	uint64_t n_full;  /* as in us_counts_head */
	uint64_t unnamed; /* instructions in code without names */
	/* Functions of the images at whose addresses other code ran; 0 if the guest
	 * does not run the images at all. */
	uint64_t n_other;
	/* Distance of the images' code, if much of it ran elsewhere; else 0. */
	uint64_t slide;
};

/* Was the executed code that of the images?  Decided by how many of their functions it
 * was. */
enum us_match us_counts_match(const struct us_counts *c);
/* Begin sums, of the vCPUs that were started by now. */
struct us_counts_sums us_counts_sums_of(const struct us_counts *c);
/* Fill in the vCPUs' other values and the slide; insns and unnamed are set. */
void us_counts_sum_up(const struct us_counts *c, struct us_counts_sums *s);
/* Write all vCPUs' trees at this moment. */
US_MUST_CHECK int us_counts_record(const struct us_counts *c, struct us_writer *w,
				   struct us_counts_sums *ret, struct us_err *e);

#endif
