/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events_last.c: see events_last.h. */
#include "trace/events_last.h"

#include "trace/syscall_message.h"
#include "trace/timeline.h"

/* The time of the last record that has one; 0: none has. */
static uint64_t end_of(const struct us_events_file *f, unsigned vcpu, uint64_t insn_ns)
{
	uint64_t written, size = f->head.n_record;
	const uint64_t *ring = us_events_ring(f, vcpu, &written);
	for (uint64_t k = 1; k <= written && k <= size; k++) {
		uint64_t r = ring[(written - k) & (size - 1)];
		unsigned kind = (unsigned)(r >> US_EVENT_KIND_SHIFT);
		if (kind == US_EVENT_TIME && !insn_ns)
			return r & US_EVENT_TIME_MASK;
		if (kind != US_EVENT_TIME && kind != US_EVENT_DATA && insn_ns)
			return (r & US_EVENT_INSNS_MASK) * insn_ns;
	}
	return 0;
}

uint64_t us_events_last_from(const struct us_events_file *f, uint64_t insn_ns,
			     uint64_t last_ns)
{
	uint64_t end = 0;
	for (unsigned i = 0; i < us_events_n_vcpu(f); i++) {
		uint64_t t = end_of(f, i, insn_ns);
		end = t > end ? t : end;
	}
	return end > last_ns ? end - last_ns : 0;
}

/* ---- Writing it ---- */

struct writing {
	struct us_writer *writer;
	struct us_timeline *timeline;
};

static int count(void *ctx, const struct us_timeline_event *event)
{
	struct us_events_last *l = ctx;
	if (event->t_ns < l->from_ns)
		return 0;
	l->n_call += us_event_is_call(event->kind);
	l->n_syscall += event->kind == US_EVENT_DATA && event->size &&
			event->data[0] == US_SYSCALL_ENTERED;
	return 0;
}

static int write_functions(void *ctx, uint32_t first, const uint64_t *address, size_t n,
			   struct us_err *e)
{
	const struct writing *w = ctx;
	return us_writer_event_functions(w->writer, first, address, n, e);
}

static int write_events(void *ctx, unsigned vcpu, const uint64_t *record, size_t n,
			struct us_err *e)
{
	const struct writing *w = ctx;
	int r = us_timeline_add(w->timeline, vcpu, record, n);
	if (r == 0)
		r = us_timeline_settled(w->timeline, vcpu);
	if (r < 0)
		return us_fail(e, r, "out of memory");
	return us_writer_events(w->writer, vcpu, record, n, e);
}

static int write_until(void *ctx, uint64_t t_ns, struct us_err *e)
{
	const struct writing *w = ctx;
	int r = us_timeline_until(w->timeline, t_ns);
	return r < 0 ? us_fail(e, r, "out of memory")
		     : us_writer_events_until(w->writer, t_ns, e);
}

int us_events_last_record(struct us_events_file *f, struct us_writer *w,
			  struct us_events_last *l, struct us_err *e)
{
	struct writing writing = { .writer = w };
	const struct us_events_sink sink = { .functions = write_functions,
					     .events = write_events,
					     .until = write_until,
					     .ctx = &writing };
	l->n_call = l->n_syscall = 0;
	int r = us_timeline_new(l->insn_ns, count, l, &writing.timeline);
	if (r < 0)
		return us_fail(e, r, "out of memory");
	r = us_events_take(f, &sink, e);
	us_timeline_free(writing.timeline);
	return r;
}
