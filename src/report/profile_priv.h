/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_priv.h: what the profile_*.c files share.
 *
 * Reading goes in steps, a file each: profile_read.c (samples into slices),
 * profile_modules.c (images), profile_names.c (addresses to functions),
 * profile_tree.c (stacks to the call tree), profile_stats.c (sums and intervals),
 * profile_order.c (rows in their order), profile_warn.c.
 */
#ifndef US_REPORT_PROFILE_PRIV_H
#define US_REPORT_PROFILE_PRIV_H

#include "report/pair_map.h"
#include "report/profile.h"
#include "report/slices.h"
#include "report/trie.h"

/* A key of the slices is a stack and what the vCPU did with it. */
enum us_profile_kind {
	US_KIND_GUEST,
	US_KIND_EXIT,
	US_KIND_READY,
	US_N_KIND,
};
#define US_PROFILE_NONE UINT32_MAX

/* A function's frame at an address. */
struct us_profile_frame {
	uint32_t func, line;
	const char *file;
};

/* Frames at one address: frames.v[first .. first + n), innermost first. */
struct us_profile_site {
	uint32_t first, n;
};

struct us_profile {
	struct us_profile_opts opts; /* valid while reading only */
	struct us_profile_summary sum;
	char *end_words;
	double sum_weight_squares; /* of running samples, for Wilson's n */
	uint64_t last_t;

	struct {
		struct us_profile_fact {
			char *key, *value;
		} * v;
		size_t n, cap;
	} facts;
	struct {
		char **v;
		size_t n, cap;
	} warnings;
	struct {
		struct us_profile_module *v;
		size_t n, cap;
	} modules;
	struct us_symbols *symbols;

	struct us_trie trie;	  /* mark: node of the call tree, as a caller */
	struct us_slices running; /* by node of the trie * US_N_KIND + kind */
	struct us_slices idle;	  /* by 0: not idle, 1: idle */

	/* profile_names.c */
	struct {
		struct us_profile_func *v;
		size_t n, cap;
	} funcs;
	uint32_t *func_slot; /* hash table of index + 1 */
	size_t func_slots;
	struct us_pair_map known_sites; /* (pc, is return) to index + 1 */
	struct {
		struct us_profile_site *v;
		size_t n, cap;
	} sites;
	struct {
		struct us_profile_frame *v;
		size_t n, cap;
	} frames;
	struct {
		char **v;
		size_t n, cap;
	} names; /* made up ones, of unknown code */

	/* profile_tree.c */
	struct {
		struct us_profile_node *v;
		size_t n, cap;
	} nodes;
	uint32_t *key_node; /* key to its leaf's node; US_PROFILE_NONE: not in it */
	size_t n_key;

	struct {
		struct us_profile_line *v;
		size_t n, cap;
	} lines;
};

/* Out of memory is not reported: a warning that is lost must not lose the report. */
void us_profile_warn(struct us_profile *p, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* The steps, in their order; 0 or -errno with *e filled. */
US_MUST_CHECK int us_profile_open_modules(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_build_tree(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_apply_focus(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_count(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_order_tree(struct us_profile *p); /* -ENOMEM */
US_MUST_CHECK int us_profile_count_lines(struct us_profile *p, struct us_err *e);
void us_profile_warn_of_quality(struct us_profile *p);

/* Frames of an address, symbolised on first use.  NULL: out of memory. */
const struct us_profile_site *us_profile_site(struct us_profile *p, us_gva pc,
					      bool is_return);
/* The index of a US_FRAME_... function; US_PROFILE_NONE: out of memory. */
uint32_t us_profile_special(struct us_profile *p, const char *name);

#endif
