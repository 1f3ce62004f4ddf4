/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h: a recording in memory, symbolised: the model that all formats print.
 *
 * Samples are summed while they are read, by stack and by slice of time, so that ten
 * million of them cost no more memory than their distinct stacks.
 */
#ifndef US_REPORT_PROFILE_H
#define US_REPORT_PROFILE_H

#include "store/store.h"
#include "symbol/symbol.h"

struct us_profile;

struct us_profile_opts {
	uint64_t vcpu_mask;	 /* 0: all */
	uint64_t from_ns, to_ns; /* of the recording; to 0: its end */
	const char *focus;	 /* extended regex: only stacks with such a function */
	const char *const
		*images; /* -e ELF[@bias]: besides, or instead of, the recorded */
	size_t n_image;
};

/* One function (or, without a name, one address or one page's unknown code). */
struct us_profile_func {
	const char *name;   /* never NULL: "0xffffffff80101234" if unknown */
	const char *file;   /* NULL: unknown */
	const char *module; /* NULL: unknown */
	us_gva start;
	uint32_t line;
	bool inlined;
	uint64_t self, total; /* weight of running samples */
	double self_low, self_high, total_low,
		total_high; /* 95 % interval, shares 0..1 */
};

/* The call tree: node 0 is the root. */
struct us_profile_node {
	uint32_t func;		      /* index into funcs; of node 0: none */
	uint32_t parent, child, next; /* node indices; 0: none */
	uint32_t line; /* where in the function, of its hottest; 0: unknown */
	uint64_t self, total;
};

/* A distinct stack, symbolised, for folded and the like. */
US_MUST_CHECK int us_profile_read(int fd, const struct us_profile_opts *o,
				  struct us_profile **ret, struct us_err *e);
void us_profile_free(struct us_profile *p); /* accepts NULL */

const struct us_profile_func *us_profile_funcs(const struct us_profile *p,
					       size_t *ret_n);
const struct us_profile_node *us_profile_nodes(const struct us_profile *p,
					       size_t *ret_n);

/* Where samples fell, exactly: QProfiler's view, one row an address's line. */
struct us_profile_line {
	uint32_t func;
	uint32_t line;
	us_gva pc;
	uint64_t self;
};
const struct us_profile_line *us_profile_lines(const struct us_profile *p,
					       size_t *ret_n);

struct us_profile_summary {
	uint64_t running;		 /* weight of the samples in the tree */
	uint64_t idle, exit, ready, off; /* weights by state, after the filters */
	uint64_t ends[US_N_END];
	uint64_t first_ns, last_ns;
	uint64_t blocks;	      /* slices of time behind the intervals */
	struct us_record_stats stats; /* of the whole recording */
	enum us_record_end end;
	const char *end_words;
	struct us_reader_result file;
};
const struct us_profile_summary *us_profile_summary(const struct us_profile *p);
const char *us_profile_fact(const struct us_profile *p, const char *key); /* or NULL */

/* What the reader must know: wrong image, cut file, block resolution, ... */
size_t us_profile_n_warning(const struct us_profile *p);
const char *us_profile_warning(const struct us_profile *p, size_t i);

#endif
