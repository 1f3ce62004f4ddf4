/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases_read.h: the call trees of a boot by phase: from plugin_phases.h and the file
 * of counts to a recording.
 *
 * A phase begins at a mark and ends at the next one.  The last phase ends at the last
 * mark, or where the guest was ended.  The phases add up exactly to what was counted
 * until then.
 */
#ifndef US_TRACE_PHASES_READ_H
#define US_TRACE_PHASES_READ_H

#include "symbol/symbol.h"
#include "trace/counts_read.h"

struct us_phases {
	char *map; /* private mapping of the file */
	size_t size;
	unsigned n;			/* marks; further ones begin no phase */
	size_t at[US_COUNTS_MAX_PHASE]; /* offsets of marks in the file, in bytes */
	/* Point of the boot, for each mark. */
	uint32_t point[US_COUNTS_MAX_PHASE];
	uint64_t insns[US_COUNTS_MAX_PHASE]; /* set by us_phases_record() */
};

/* Write a mark for an event that is seen outside of the plugin, like
 * us_phase_mark_write(): fd was opened with O_APPEND.  The guest keeps running. */
US_MUST_CHECK int us_phases_mark(const struct us_counts *c, int fd, uint32_t point);

/* Read the marks of wanted points, up to the first incomplete one; none: n is 0.
 * -ENOENT and others: the file cannot be read. */
US_MUST_CHECK int us_phases_open(const char *path,
				 bool (*wanted)(void *ctx, uint32_t point), void *ctx,
				 struct us_phases *ret, struct us_err *e);
/* Write all vCPUs' trees, each phase below a node of its own (US_COUNTS_PHASE).
 * to_end: the last phase lasts until now.  s: the guest's images, to find how much code
 * has no name.  Call it once. */
US_MUST_CHECK int us_phases_record(struct us_phases *p, const struct us_counts *c,
				   bool to_end, struct us_symbols *s,
				   struct us_writer *w, struct us_counts_sums *ret,
				   struct us_err *e);
void us_phases_close(struct us_phases *p); /* accepts a zeroed one */

#endif
