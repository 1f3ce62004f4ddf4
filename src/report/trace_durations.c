/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_durations.c: see trace_durations.h. */
#include "report/trace_durations.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* The open calls on a stack; NULL: none. */
static struct us_trace_open *open_on(struct us_trace_durations *d, uint32_t stack)
{
	for (size_t i = 0; i < d->open.n; i++)
		if (d->open.v[i].stack == stack)
			return &d->open.v[i];
	return NULL;
}

int us_trace_durations_enter(struct us_trace_durations *d,
			     const struct us_replay_span *s)
{
	struct us_trace_open *o = open_on(d, s->stack);
	if (!o && !(o = us_vec_push(&d->open)))
		return -ENOMEM;
	o->stack = s->stack;
	o->n++;
	return 0;
}

/* End a call: was it the outermost one?  One whose entry was not reported is. */
static bool close_one(struct us_trace_durations *d, uint32_t stack)
{
	struct us_trace_open *o = open_on(d, stack);
	if (!o)
		return true;
	if (--o->n)
		return false;
	*o = d->open.v[--d->open.n];
	return true;
}

void us_trace_durations_leave(struct us_trace_durations *d,
			      const struct us_replay_span *s)
{
	uint64_t whole = s->end_ns - s->begin_ns;
	bool outermost = close_one(d, s->stack);
	if (!s->known || !s->ended)
		return;
	d->calls++;
	d->sum_ns += whole;
	d->self_ns += s->self_ns;
	d->total_ns += outermost ? whole : 0;
	d->max_ns = whole > d->max_ns ? whole : d->max_ns;
}

void us_trace_durations_fini(struct us_trace_durations *d)
{
	free(d->open.v);
	*d = (struct us_trace_durations){ 0 };
}
