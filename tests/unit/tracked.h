/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracked.h: five functions at 0x1000, 0x2000, ..., and a tracker that is told of what
 * they execute: for the tests of where a vCPU is in the tree of calls. */
#ifndef TEST_TRACKED_H
#define TEST_TRACKED_H

#include "unit.h"

#include "trace/functions.h"
#include "trace/track.h"

#define NODES 64

enum { MAIN, F, G, H, TICK, N_FUNCTION };

struct machine {
	struct us_track_stacks stacks;
	struct us_tracker t;
	struct us_counts_vcpu vcpu;
	struct us_counts_node node[NODES];
	uint64_t insns;
	struct us_track_function f[N_FUNCTION];
};

static inline struct machine *new_machine(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	assert_non_null(m);
	*state = m;
	for (unsigned i = 0; i < N_FUNCTION; i++)
		m->f[i] = (struct us_track_function){ .address = 0x1000 * (i + 1),
						      .number = 16 + i,
						      .has_entry = true };
	assert_int_equal(us_track_stacks_init(&m->stacks), 0);
	assert_int_equal(us_tracker_init(&m->t, &m->stacks, 0, &m->vcpu, m->node, NODES,
					 &m->insns),
			 0);
	return m;
}

static inline int stop(void **state)
{
	struct machine *m = *state;
	us_tracker_fini(&m->t);
	us_track_stacks_fini(&m->stacks);
	free(m);
	return 0;
}

/* A block of n instructions that begins a function. */
static inline void enter(struct machine *m, int f, unsigned n)
{
	struct us_track_entry e = { .function = &m->f[f], .n_insn = n };
	m->insns += n;
	us_track_enter(&m->t, &e);
}

/* From the root, "1000;2000"; hexadecimal. */
static inline void path_of(const struct machine *m, uint32_t node,
			   char text[static 256])
{
	*text = '\0';
	for (uint32_t i = node; i; i = m->node[i].parent) {
		char more[256];
		snprintf(more, sizeof(more), "%llx%s%.200s",
			 (unsigned long long)m->node[i].address, *text ? ";" : "",
			 text);
		memcpy(text, more, sizeof(more));
	}
}

/* Where it is. */
static inline void expect_path(const struct machine *m, const char *path)
{
	char text[256];
	path_of(m, m->vcpu.node, text);
	assert_string_equal(text, path);
}

/* ---- What is written down ---- */

struct traced {
	struct us_events_head head;
	struct us_events_vcpu vcpu;
	uint64_t record[1024];
	struct us_events events;
};

static inline void trace_on(struct machine *m, struct traced *t)
{
	*t = (struct traced){ .events = { .head = &t->head,
					  .vcpu = &t->vcpu,
					  .record = t->record,
					  .mask = 1023,
					  .max_depth = UINT16_MAX } };
	for (unsigned i = 0; i < N_FUNCTION; i++)
		m->f[i].choice = US_FUNCTION_TRACED;
	m->t.events = &t->events;
	us_events_switch(&t->head, true);
}

/* As "+f" entered, "!f" by an interrupt, "-f" left, ">f" jumped to, "=f" open, "#n" on
 * a stack, "#n?" of which nothing is known, "~" what was on top of another moved here;
 * f is the letter of a function. */
static inline void expect_events(const struct traced *t, const char *want)
{
	static const char sign[] = ".+!->=#";
	char text[512] = "";
	uint64_t last = 0;
	for (uint64_t i = 0; i < t->vcpu.written; i++) {
		uint64_t r = t->record[i & 1023], insns = r & US_EVENT_INSNS_MASK;
		unsigned kind = r >> US_EVENT_KIND_SHIFT;
		unsigned n = r >> US_EVENT_NUMBER_SHIFT & US_EVENT_NUMBER_MASK;
		char more[16];
		assert_true(kind < US_EVENT_TIME);
		assert_true(insns >= last);
		last = insns;
		if (kind != US_EVENT_STACK)
			snprintf(more, sizeof(more), "%c%c ", sign[kind],
				 "mfghT"[n - 16]);
		else if (n & US_EVENT_MOVED)
			snprintf(more, sizeof(more), "~ ");
		else
			snprintf(more, sizeof(more), "#%u%s ", n & US_EVENT_STACK_MASK,
				 n & US_EVENT_FORGET ? "?" : "");
		strcat(text, more);
	}
	if (*text)
		text[strlen(text) - 1] = '\0';
	assert_string_equal(text, want);
}

#endif
