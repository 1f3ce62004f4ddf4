/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_functions.c: a table of the functions with their calls and durations. */
#include "report/trace_durations.h"
#include "report/trace_format.h"

#include "base/text.h"
#include "base/vec.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct row {
	struct us_trace_durations d;
	uint32_t function;
};

struct table {
	struct row *v; /* by number of the function */
	size_t n, cap;
};

static int begin(struct us_trace_out *o)
{
	o->state = calloc(1, sizeof(struct table));
	return o->state ? 0 : -ENOMEM;
}

static struct row *row_of(struct table *t, uint32_t function)
{
	while (t->n <= function) {
		struct row *r = us_vec_push(t);
		if (!r)
			return NULL;
		r->function = (uint32_t)t->n - 1;
	}
	return &t->v[function];
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	const struct us_trace_out *o = ctx;
	struct row *r = row_of(o->state, s->function);
	return r ? us_trace_durations_enter(&r->d, s) : -ENOMEM;
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	const struct us_trace_out *o = ctx;
	struct row *r = row_of(o->state, s->function);
	if (!r)
		return -ENOMEM;
	us_trace_durations_leave(&r->d, s);
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->d.self_ns != y->d.self_ns)
		return x->d.self_ns > y->d.self_ns ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void print_row(const struct us_trace_out *o, const struct row *r,
		      uint64_t all_ns)
{
	char safe[US_DEMANGLED_MAX];
	const struct us_trace_durations *d = &r->d;
	fprintf(o->out, "%6.2f %13.3f %13.3f %13.3f %13.3f %11" PRIu64 "   %s\n",
		all_ns ? 100.0 * (double)d->self_ns / (double)all_ns : 0,
		(double)d->self_ns / 1e3, (double)d->total_ns / 1e3,
		(double)d->sum_ns / (double)d->calls / 1e3, (double)d->max_ns / 1e3,
		d->calls, us_printable(safe, sizeof(safe), o->name[r->function]));
}

static void print(const struct us_trace_out *o, struct table *t)
{
	uint64_t all_ns = 0;
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_self);
	for (size_t i = 0; i < t->n; i++)
		all_ns += t->v[i].d.self_ns;
	fprintf(o->out, "%6s %13s %13s %13s %13s %11s   function\n", "self %",
		"self us", "total us", "mean us", "longest us", "calls");
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].d.calls)
			print_row(o, &t->v[i], all_ns);
}

static int end(struct us_trace_out *o)
{
	struct table *t = o->state;
	if (!t)
		return -ENOMEM;
	print(o, t);
	for (size_t i = 0; i < t->n; i++)
		us_trace_durations_fini(&t->v[i].d);
	free(t->v);
	free(t);
	o->state = NULL;
	return 0;
}

const struct us_trace_format us_trace_format_functions = {
	.name = "functions",
	.suffix = ".functions",
	.summary = "a table of the functions: calls, self, total, mean, longest",
	.begin = begin,
	.ops = { .enter = enter, .leave = leave },
	.end = end,
};
