/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that no guest has written: what is made of them is in order and nested, and
 * every format takes it. */
#include "report/trace_format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUNCTIONS 16
#define VCPUS	  3
#define DEPTH	  512

struct seen {
	struct {
		struct us_replay_span v[DEPTH];
		uint32_t n;
		bool deep;
	} stack[US_REPLAY_STACKS];
	uint32_t used[64];
	unsigned n_used;
	uint64_t last_ns[VCPUS];
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	struct seen *x = ctx;
	must(s->stack < US_REPLAY_STACKS && s->vcpu < VCPUS && !s->end_ns);
	if (!x->stack[s->stack].n && x->n_used < 64)
		x->used[x->n_used++] = s->stack;
	if (x->stack[s->stack].deep)
		return 0;
	must(s->depth == x->stack[s->stack].n);
	if (x->stack[s->stack].n == DEPTH)
		x->stack[s->stack].deep = true;
	else
		x->stack[s->stack].v[x->stack[s->stack].n++] = *s;
	return 0;
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	struct seen *x = ctx;
	must(s->end_ns >= s->begin_ns && s->self_ns <= s->end_ns - s->begin_ns);
	if (x->stack[s->stack].deep)
		return 0;
	must(x->stack[s->stack].n);
	const struct us_replay_span *was =
		&x->stack[s->stack].v[--x->stack[s->stack].n];
	must(was->function == s->function && was->begin_ns == s->begin_ns &&
	     was->depth == s->depth);
	return 0;
}

static int move(void *ctx, unsigned vcpu, uint16_t from, uint16_t to, uint64_t t_ns)
{
	struct seen *x = ctx;
	must(vcpu < VCPUS && from != to && to < US_REPLAY_STACKS);
	must(t_ns >= x->last_ns[vcpu]);
	x->last_ns[vcpu] = t_ns;
	return 0;
}

static const struct us_replay_ops checks = { .enter = enter,
					     .leave = leave,
					     .move = move };

/* Ten bytes a record: the vCPU and what else is to be done, the kind, the rest. */
static void feed(struct us_replay *r, const uint8_t *data, size_t size)
{
	struct us_timeline *t = us_replay_timeline(r);
	uint64_t until = 0;
	for (size_t at = 0; at + 10 <= size; at += 10) {
		uint64_t record;
		memcpy(&record, data + at + 2, sizeof(record));
		uint32_t number = record >> US_EVENT_NUMBER_SHIFT &
				  US_EVENT_NUMBER_MASK;
		unsigned kind = data[at + 1] & 7;
		if (kind >= US_EVENT_ENTER && kind <= US_EVENT_OPEN)
			number %= FUNCTIONS;
		record &= data[at + 1] & 8 ? US_EVENT_INSNS_MASK : 0xffff;
		record |= (uint64_t)kind << US_EVENT_KIND_SHIFT |
			  (uint64_t)number << US_EVENT_NUMBER_SHIFT;
		must(!us_timeline_add(t, data[at] % VCPUS, &record, 1));
		if (data[at] & 0x80)
			must(!us_timeline_until(t, until += record & 0xffff));
	}
	must(!us_timeline_until(t, UINT64_MAX));
	must(!us_replay_end(r));
}

static void check(const uint8_t *data, size_t size, uint64_t insn_ns,
		  const struct us_replay_opts *o)
{
	static struct seen seen;
	struct us_replay *r;
	must(!us_replay_new(insn_ns, &checks, &seen, o, &r));
	feed(r, data, size);
	us_replay_free(r);
	for (unsigned i = 0; i < seen.n_used; i++)
		seen.stack[seen.used[i]].n = seen.stack[seen.used[i]].deep = 0;
	if (seen.n_used == 64)
		memset(&seen, 0, sizeof(seen));
	seen.n_used = 0;
	memset(seen.last_ns, 0, sizeof(seen.last_ns));
}

static void print(const uint8_t *data, size_t size, const struct us_trace_format *f,
		  uint64_t insn_ns, const struct us_replay_opts *o)
{
	static const char *const name[FUNCTIONS] = { "main", "f",    "a,b", "\"",
						     "\x01", "\xff", "",    "g",
						     "h",    "i",    "j",   "k",
						     "l",    "m",    "n",   "o" };
	static FILE *null;
	if (!null)
		null = fopen("/dev/null", "w");
	struct us_trace_out out = {
		.out = null, .name = name, .n_name = FUNCTIONS, .opts = o
	};
	struct us_replay *r = NULL;
	must(null && !us_replay_new(insn_ns, &f->ops, &out, o, &r));
	out.replay = r;
	must(!f->begin || !f->begin(&out));
	feed(r, data, size);
	must(!f->end || !f->end(&out));
	us_replay_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const bool shown[FUNCTIONS] = { true, true, false, true };
	struct us_replay_opts o = { 0 };
	if (!size)
		return 0;
	if (data[0] & 1)
		o = (struct us_replay_opts){ .shown = shown,
					     .n_shown = FUNCTIONS,
					     .max_depth = 1 + data[0] / 64,
					     .from_ns = data[0] & 8 ? 1000 : 0 };
	uint64_t insn_ns = data[0] & 2 ? 8 : 0;
	if (!o.vcpu_mask && data[0] & 4)
		o.vcpu_mask = 5;
	check(data + 1, size - 1, insn_ns, &o);
	/* Those that are files. */
	print(data + 1, size - 1, us_trace_formats[data[0] / 16 % 5], insn_ns, &o);
	return 0;
}
