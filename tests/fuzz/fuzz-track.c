/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls, returns and jumps of a guest that does as it likes, whose calls store return
 * addresses or leave them in a register, on two vCPUs whose stacks mix: what was
 * executed is in the tree, all of it; and what is written down, by functions that are
 * chosen and while it is on, says at each step what is open. */
#include "trace/functions.h"
#include "trace/track.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES	  64
#define FUNCTIONS 8
#define RECORDS	  (1U << 15) /* more than a step makes */
#define STACKS	  256	     /* of those, and so deep, it is compared */
#define DEPTH	  64

struct vcpu {
	struct us_tracker t;
	struct us_counts_vcpu counts;
	struct us_counts_node node[NODES];
	uint64_t insns;
	struct us_events events;
	struct us_events_vcpu shared;
	uint64_t record[RECORDS];
	uint64_t read;
	uint32_t on; /* a stack, by the events */
};

/* What a reader of the events knows to be open. */
struct reader {
	struct {
		uint32_t function[DEPTH], n;
		bool deep; /* than that, once: no longer compared */
	} stack[STACKS];
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void open_function(struct reader *r, uint32_t stack, uint32_t function)
{
	if (stack >= STACKS)
		return;
	if (r->stack[stack].n == DEPTH)
		r->stack[stack].deep = true;
	else
		r->stack[stack].function[r->stack[stack].n++] = function;
}

/* function 0: any. */
static uint32_t close_function(struct reader *r, uint32_t stack, uint32_t function)
{
	if (stack >= STACKS || r->stack[stack].deep)
		return function;
	must(r->stack[stack].n);
	uint32_t top = r->stack[stack].function[--r->stack[stack].n];
	must(!function || top == function);
	return top;
}

static void on_stack(struct reader *r, struct vcpu *v, uint32_t number)
{
	uint32_t stack = number & US_EVENT_STACK_MASK;
	if (number & US_EVENT_MOVED) {
		bool unknown = stack >= STACKS || r->stack[stack].deep;
		uint32_t top = close_function(r, stack, 0);
		if (v->on < STACKS && unknown)
			r->stack[v->on].deep = true;
		open_function(r, v->on, top);
		return;
	}
	v->on = stack;
	if (number & US_EVENT_FORGET && stack < STACKS)
		r->stack[stack].n = r->stack[stack].deep = 0;
}

static void read_record(struct reader *r, struct vcpu *v, uint64_t record)
{
	uint32_t number = record >> US_EVENT_NUMBER_SHIFT & US_EVENT_NUMBER_MASK;
	switch ((enum us_event_kind)(record >> US_EVENT_KIND_SHIFT)) {
	case US_EVENT_ENTER:
	case US_EVENT_INTERRUPT:
	case US_EVENT_OPEN:
		open_function(r, v->on, number);
		break;
	case US_EVENT_EXIT:
		close_function(r, v->on, number);
		break;
	case US_EVENT_JUMP:
		close_function(r, v->on, 0);
		open_function(r, v->on, number);
		break;
	case US_EVENT_STACK:
		on_stack(r, v, number);
		break;
	default:
		abort();
	}
}

/* All that is traced on the vCPU's stack, and nothing else, is open. */
static void compare_open(const struct reader *r, const struct vcpu *v)
{
	const struct us_track_stack *s = v->t.stack;
	uint32_t n = 0;
	if (!s->epoch || s->number >= STACKS || r->stack[s->number].deep ||
	    s->epoch != v->events.head->epoch)
		return;
	for (uint32_t i = 0; i < us_track_n(s); i++) {
		if (!s->frame[i].traced)
			continue;
		must(n < r->stack[s->number].n);
		must(r->stack[s->number].function[n++] == s->frame[i].function->number);
	}
	must(n == r->stack[s->number].n);
}

static void read_events(struct reader *r, struct vcpu *v)
{
	must(v->shared.written - v->read <= RECORDS);
	for (; v->read < v->shared.written; v->read++)
		read_record(r, v, v->record[v->read & (RECORDS - 1)]);
	compare_open(r, v);
}

/* False: it is the same as where calls touch the stack. */
static bool link_step(struct vcpu *v, const struct us_track_site *s, unsigned what,
		      uint64_t sp)
{
	switch (what) {
	case 0:
	case 1:
		us_track_link_call(&v->t, s);
		return true;
	case 2:
		us_track_link_saved(&v->t, s, sp);
		return true;
	case 3:
		us_track_link_return(&v->t, s);
		return true;
	case 13:
		us_track_link_loaded(&v->t, s, sp);
		return true;
	case 14:
		us_track_link_set(&v->t, s);
		return true;
	default:
		return false;
	}
}

static void step(struct vcpu *v, struct us_track_function *f, const uint8_t op[4])
{
	struct us_track_function *other = op[2] & 8 ? NULL : &f[op[2] % FUNCTIONS];
	struct us_track_site s = { .in = op[1] & 8 ? &us_track_unnamed
						   : &f[op[1] % FUNCTIONS],
				   .target = other,
				   .alternate = op[1] >> 4 == 1,
				   .local = op[1] >> 4 == 2,
				   .by_stack = op[1] >> 4 != 3 };
	us_track_site_prepare(&s);
	struct us_track_entry e = { &f[op[1] % FUNCTIONS], 1 + op[2] % 4, 0 };
	uint64_t sp = 0x10000 + 8ULL * op[3] + 0x1000ULL * (op[2] >> 4);
	if (v->t.link && link_step(v, &s, op[0] >> 1 & 15, sp))
		return;
	switch (op[0] >> 1 & 15) {
	case 0:
	case 1:
		us_track_call(&v->t, &s, sp);
		break;
	case 2:
	case 3:
		us_track_return(&v->t, &s, sp, 8);
		break;
	case 4:
		e.n_before = op[3] % e.n_insn;
		/* fall through */
	case 5:
	case 6:
		v->insns += e.n_insn;
		us_track_enter(&v->t, &e);
		break;
	case 7:
		if (op[0] & 0x20 && !v->t.link)
			us_track_pop_jump(&v->t, &s, sp, 8);
		else
			us_track_jump(&v->t, &s);
		break;
	case 8:
		us_track_switch(&v->t, &s, 0);
		break;
	case 9:
		us_track_trap(&v->t, &s);
		break;
	case 10:
		us_track_iret(&v->t, &s, op[3] & 1 ? sp : 0);
		break;
	case 11:
		us_track_interrupted(&v->t);
		if (op[3] % 16 == 1)
			us_track_halt(&v->t);
		if (op[3] % 16 == 2)
			us_events_switch(v->events.head, !v->events.head->epoch);
		break;
	case 12:
		if (op[3] == 77)
			us_track_reset(&v->t, 0);
		if (op[3] == 78)
			us_track_was_reset(&v->t);
		break;
	default:
		v->insns += op[3] % 8;
	}
}

static void check(struct vcpu *v)
{
	uint64_t sum = 0;
	us_track_settle(&v->t);
	if (v->counts.n_node > NODES || v->counts.node >= v->counts.n_node)
		abort();
	for (unsigned i = 0; i < v->counts.n_node; i++) {
		if (i && v->node[i].parent >= i)
			abort();
		sum += v->node[i].self;
	}
	if (sum != v->insns)
		abort();
}

/* The processor's answer: any. */
static enum us_track_how say(const struct us_tracker *t,
			     const struct us_track_entering *e)
{
	return (enum us_track_how)((*t->insns + e->sp / 8 + e->function->number) % 3);
}

static void begin(struct vcpu *v, struct us_track_stacks *stacks, uint16_t number,
		  struct us_events_head *head, uint8_t how)
{
	v->insns = v->read = v->on = 0;
	memset(&v->counts, 0, sizeof(v->counts));
	memset(v->node, 0, sizeof(v->node));
	v->shared = (struct us_events_vcpu){ 0 };
	v->events = (struct us_events){ .head = head,
					.vcpu = &v->shared,
					.record = v->record,
					.mask = RECORDS - 1,
					.max_depth = how & 0x80 ? UINT16_MAX
								: 1 + how % 8 };
	must(!us_tracker_init(&v->t, stacks, number, &v->counts, v->node, NODES,
			      &v->insns));
	v->t.events = &v->events;
	v->t.link = how & 0x40;
	v->t.how = how & 0x20 ? say : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct us_track_stacks stacks;
	static struct us_track_function f[FUNCTIONS];
	static struct vcpu v[2];
	static struct reader reader;
	struct us_events_head head = { 0 };
	uint8_t traced = size > 1 ? data[1] : 0;
	if (us_track_stacks_init(&stacks))
		abort();
	for (unsigned i = 0; i < FUNCTIONS; i++)
		f[i] = (struct us_track_function){ .address = 0x1000 * (i + 1),
						   .number = 16 + i,
						   .has_entry = i & 1,
						   .choice = traced >> i & 1 };
	f[2].within = &f[1]; /* a label behind a call */
	memset(&reader, 0, sizeof(reader));
	us_events_switch(&head, true);
	for (uint16_t i = 0; i < 2; i++)
		begin(&v[i], &stacks, i, &head, size ? data[0] : 0);
	for (size_t at = 0; at + 4 <= size; at += 4) {
		step(&v[data[at] & 1], f, data + at);
		read_events(&reader, &v[data[at] & 1]);
	}
	for (unsigned i = 0; i < 2; i++) {
		check(&v[i]);
		us_tracker_fini(&v[i].t);
	}
	us_track_stacks_fini(&stacks);
	return 0;
}
