/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts_read.h: the file of counts.h, while QEMU writes it or after its end, however
 * that came: from what it is at this moment to a recording.
 */
#ifndef US_TRACE_COUNTS_READ_H
#define US_TRACE_COUNTS_READ_H

#include "store/store.h"
#include "trace/counts.h"

struct us_counts {
	const char *map; /* of the whole file; what it says is checked with each use */
	size_t size;
	struct us_counts_head head; /* a checked copy */
};

/* What was written. */
struct us_counts_sums {
	unsigned n_vcpu; /* that were started */
	uint64_t insns, calls;
	uint64_t lost, too_deep, resets, interrupts;
};

/* -ENOENT, ...: it cannot be read; -EBADMSG: it is no such file, or not whole yet. */
US_MUST_CHECK int us_counts_open(const char *path, struct us_counts *ret,
				 struct us_err *e);
void us_counts_close(struct us_counts *c); /* accepts a zeroed one */
/* Has the plugin given up, as it cannot tell the vCPUs apart? */
bool us_counts_are_mixed(const char *path);
/* Did QEMU come to its end in good order? */
bool us_counts_ended(const struct us_counts *c);
/* Is the code that was executed that of the images?  By the functions' first bytes. */
enum us_match us_counts_match(const struct us_counts *c);
/* All vCPUs' trees, as they are now. */
US_MUST_CHECK int us_counts_record(const struct us_counts *c, struct us_writer *w,
				   struct us_counts_sums *ret, struct us_err *e);

#endif
