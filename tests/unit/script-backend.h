/* SPDX-License-Identifier: GPL-2.0-or-later */
/* script-backend.h: a backend that does exactly what a test tells it to. */
#ifndef US_TEST_SCRIPT_BACKEND_H
#define US_TEST_SCRIPT_BACKEND_H

#include "backend/backend.h"
#include "base/clock.h"
#include "unit.h"

#include <errno.h>
#include <time.h>

struct script {
	struct us_backend base;
	/* Fill *c and return as next() does; looks counts the calls from 1 on. */
	int (*next)(struct script *s, uint64_t deadline_ns, struct us_capture *c);
	uint64_t samples;
	int start_code;
	const char *words; /* of explain(); NULL: it has none */
	void (*on_explain)(void *ctx);
	void *ctx;
	uint64_t held_ns;
	unsigned held; /* captures that were not released yet */
	bool stands;   /* next() has stopped the guest, for more than one capture */
	struct us_backend_counts counts;
};

static inline int script_start(struct us_backend *b, const struct us_schedule *s,
			       struct us_err *e)
{
	struct script *script = (struct script *)b;
	(void)s;
	return script->start_code ? us_fail(e, script->start_code, "start: refused")
				  : 0;
}

static inline int script_next(struct us_backend *b, uint64_t deadline_ns,
			      struct us_capture *c)
{
	struct script *s = (struct script *)b;
	assert_int_equal(s->held, 0);
	s->samples++;
	int r = s->next(s, deadline_ns, c);
	s->held = r > 0;
	if (r > 0)
		s->counts.due += c->weight;
	return r;
}

static inline void script_release(struct us_backend *b, struct us_capture *c)
{
	struct script *s = (struct script *)b;
	assert_int_equal(s->held, 1);
	s->held = 0;
	c->held_ns = s->held_ns;
	s->counts.stolen_ns += s->held_ns;
}

static inline void script_let_go(struct us_backend *b)
{
	struct script *s = (struct script *)b;
	assert_int_equal(s->held, 0);
	s->stands = false;
}

static inline void script_counts(const struct us_backend *b,
				 struct us_backend_counts *ret)
{
	*ret = ((const struct script *)b)->counts;
}

static inline void script_explain(const struct us_backend *b, int code,
				  struct us_err *e)
{
	const struct script *s = (const struct script *)b;
	if (s->words)
		us_fail(e, code, "%s", s->words);
	if (s->on_explain)
		s->on_explain(s->ctx);
}

static const struct us_backend_ops script_ops = {
	.name = "script",
	.start = script_start,
	.next = script_next,
	.release = script_release,
	.let_go = script_let_go,
	.counts = script_counts,
	.explain = script_explain,
};

#define SCRIPT(f)                                                                      \
	{                                                                              \
		.base = { .ops = &script_ops, .n_vcpu = 2 }, .next = (f)               \
	}

/* A capture that brings its stack; which one follows from key. */
static inline void script_capture(struct us_capture *c, uint64_t key)
{
	c->t_ns = us_now_ns();
	c->vcpu = key & 1;
	c->weight = key % 10 ? 1 : 3;
	c->state = (uint8_t)(key % US_N_VCPU_STATE);
	c->form = c->state == US_VCPU_HALTED || c->state == US_VCPU_OFF
			  ? US_CAPTURE_NONE
			  : US_CAPTURE_STACK;
	c->stack.n = (uint16_t)(1 + key % 12);
	c->stack.end = key % 7 ? US_END_ROOT : US_END_FAULT;
	for (unsigned i = 0; i < c->stack.n; i++)
		c->stack.pc[i] = 0xffffffff80000000 + (key % 50) * 64 + i * 4096;
}

static inline void sleep_until(uint64_t t_ns)
{
	struct timespec t = { .tv_sec = (time_t)(t_ns / US_NS_PER_SEC),
			      .tv_nsec = (long)(t_ns % US_NS_PER_SEC) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

#endif
