/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases_read.h: the trees of a boot, phase by phase: from plugin_phases.h and the file
 * of counts to a recording.
 *
 * A phase begins at a mark and ends at the next, the last one at the last mark, or
 * where the guest was ended.  What is counted in all of them together is what was
 * counted until then, exactly.
 */
#ifndef US_TRACE_PHASES_READ_H
#define US_TRACE_PHASES_READ_H

#include "symbol/symbol.h"
#include "trace/counts_read.h"

struct us_phases {
	char *map; /* of the file, private */
	size_t size;
	unsigned n; /* marks, at most US_COUNTS_MAX_PHASE: more begin no phase */
	size_t at[US_COUNTS_MAX_PHASE]; /* bytes from the beginning of the file */
	/* Which point of the boot it is. */
	uint32_t point[US_COUNTS_MAX_PHASE];
	uint64_t insns[US_COUNTS_MAX_PHASE]; /* by us_phases_record() */
};

/* A mark for what is heard of the VMM, as us_phase_mark_write() does: fd was opened to
 * append.  The guest runs on meanwhile. */
US_MUST_CHECK int us_phases_mark(const struct us_counts *c, int fd, uint32_t point);

/* Marks of points that are wanted, up to the first that is not whole; none: n is 0.
 * -ENOENT and others: the file cannot be read. */
US_MUST_CHECK int us_phases_open(const char *path,
				 bool (*wanted)(void *ctx, uint32_t point), void *ctx,
				 struct us_phases *ret, struct us_err *e);
/* All vCPUs' trees, each phase below a node of its own (US_COUNTS_PHASE), to_end: until
 * now.  s: the guest's images, to tell how much has no name.  Once. */
US_MUST_CHECK int us_phases_record(struct us_phases *p, const struct us_counts *c,
				   bool to_end, struct us_symbols *s,
				   struct us_writer *w, struct us_counts_sums *ret,
				   struct us_err *e);
void us_phases_close(struct us_phases *p); /* accepts a zeroed one */

#endif
