/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_priv.h: what the files of this folder share. */
#ifndef US_LIVE_LIVE_PRIV_H
#define US_LIVE_LIVE_PRIV_H

#include "base/pair_map.h"
#include "live/live.h"
#include "profile/naming.h"

/* A node of the recording's stacks. */
struct us_live_node {
	us_gva pc;
	us_stack_id parent;
	uint32_t asked;	 /* the last replay (live_play.c) that delivered it */
	us_stack_id was; /* its number in that replay */
	uint8_t flags;
};

/* The last nodes: v[number % cap]; [0] is the empty stack until it is overwritten. */
struct us_live_nodes {
	struct us_live_node *v;
	size_t cap;	/* a power of two */
	us_stack_id n;	/* numbers used so far: the next one */
	uint32_t given; /* numbers given in this replay */
};

/* The last samples of tasks that waited: v[i % cap] for i from first to n. */
struct us_live_waits {
	struct us_wait *v;
	size_t cap; /* a power of two */
	uint64_t first, n;
	uint64_t dropped_ns; /* time of the latest one that was dropped */
	struct us_wait_stats stats;
};

struct us_live {
	struct us_live_opts opts;
	int fd, again_fd; /* the file: to follow; to read it again */
	struct us_reader *reader;
	struct us_reader_result read;

	struct {
		struct us_live_fact {
			char *key, *value;
		} * v;
		size_t n, cap;
	} facts;
	struct {
		struct us_module *v;
		size_t n, cap;
	} modules;
	/* The guest's programs, each in its latest version. */
	struct {
		struct us_program_file *v;
		size_t n, cap;
	} programs;
	struct {
		struct us_mapping *v;
		size_t n, cap;
	} mappings;
	struct {
		struct us_program_name *v;
		size_t n, cap;
	} program_names;
	struct {
		struct us_process *v;
		size_t n, cap;
	} processes;
	struct {
		struct us_task *v;
		size_t n, cap;
	} tasks;
	struct {
		struct us_waiter *v; /* by number - 1 */
		size_t n, cap;
	} waiters;
	struct us_live_waits waits;
	/* Finds the entry that a new one replaces: its number + 1. */
	struct us_pair_map known_process, known_id, known_stack;
	struct us_naming *naming;
	bool images_changed; /* since naming opened the images */

	struct us_live_nodes guest, host;
	uint32_t play; /* number of the last replay */

	/* The last samples: v[i % cap] for i from first to n. */
	struct us_sample *v;
	size_t cap; /* a power of two */
	uint64_t first, n;
	uint64_t dropped_ns; /* time of the latest one that was dropped */

	struct us_sample last[US_MAX_VCPUS]; /* weight 0: none */
	unsigned n_vcpu;
	uint64_t now_ns;
	struct us_record_stats stats;
	bool has_stats, over;
	enum us_record_end end;
	char *words;
};

/* The i-th sample; i: from l->first to l->n - 1. */
static inline const struct us_sample *us_live_sample_at(const struct us_live *l,
							uint64_t i)
{
	return &l->v[i & (l->cap - 1)];
}

static inline const struct us_wait *us_live_wait_at(const struct us_live_waits *w,
						    uint64_t i)
{
	return &w->v[i & (w->cap - 1)];
}

/* A node that is still there, else NULL. */
static inline const struct us_live_node *us_live_node(const struct us_live_nodes *t,
						      us_stack_id id)
{
	return id && id < t->n && t->n - id <= t->cap ? &t->v[id & (t->cap - 1)] : NULL;
}

/* live_owners.c: a process or thread of the recording; 0 or -ENOMEM. */
US_MUST_CHECK int us_live_process(struct us_live *l, const struct us_process *s);
US_MUST_CHECK int us_live_task(struct us_live *l, const struct us_task *t);
void us_live_free_owners(struct us_live *l);

/* live_waits.c: a task that waits, and a sample of it; 0 or -ENOMEM. */
US_MUST_CHECK int us_live_waiter(struct us_live *l, const struct us_waiter *s);
US_MUST_CHECK int us_live_wait(struct us_live *l, const struct us_wait *s);
void us_live_free_waits(struct us_live *l);

/* The times of a view; *ret_to is exclusive. */
void us_live_times(const struct us_live *l, const struct us_live_view *v,
		   uint64_t *ret_from, uint64_t *ret_to);

#endif
