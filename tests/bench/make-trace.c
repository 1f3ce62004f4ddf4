/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make-trace.c: a recording with as many events of a trace as wanted, for what reads
 *it:
 *
 *	make-trace FILE EVENTS	two vCPUs, four threads each, calls in calls
 *	make-trace FILE		reads it as a recording, and does nothing with it
 *
 * As of a guest: a function calls a few others, mostly the same; a call takes some or
 * some thousand instructions; threads are switched now and then.
 */
#include "store/store.h"
#include "trace/events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VCPUS	  2
#define THREADS	  4 /* of a vCPU */
#define FUNCTIONS 500
#define DEPTH	  24
#define BATCH	  65536

struct thread {
	uint32_t open[DEPTH];
	unsigned n;
	bool told;
};

struct vcpu {
	struct thread thread[THREADS];
	unsigned on;
	uint64_t insns, t_ns;
	unsigned since_time;
	uint64_t record[BATCH + 8];
	size_t n;
};

static uint32_t some(uint32_t below)
{
	static uint64_t state = 1;
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % below);
}

static void put(struct vcpu *v, enum us_event_kind kind, uint32_t number)
{
	if (++v->since_time >= US_EVENTS_PER_TIME || kind == US_EVENT_STACK) {
		v->since_time = 0;
		v->record[v->n++] = (uint64_t)US_EVENT_TIME << US_EVENT_KIND_SHIFT |
				    v->t_ns;
	}
	v->record[v->n++] = (uint64_t)kind << US_EVENT_KIND_SHIFT |
			    (uint64_t)number << US_EVENT_NUMBER_SHIFT |
			    (v->insns & US_EVENT_INSNS_MASK);
}

/* The next call, return or switch. */
static void step(struct vcpu *v, unsigned number)
{
	struct thread *t = &v->thread[v->on];
	uint32_t insns = some(16) ? 3 + some(40) : some(3000);
	v->insns += insns;
	v->t_ns += insns / 2 + some(8);
	if (!some(2000) || !t->told) {
		v->on = t->told ? some(THREADS) : v->on;
		t = &v->thread[v->on];
		put(v, US_EVENT_STACK,
		    (number * THREADS + v->on) | (t->told ? 0 : US_EVENT_FORGET));
		t->told = true;
	} else if (t->n < DEPTH && (t->n < 3 || some(2))) {
		uint32_t caller = t->n ? t->open[t->n - 1] : 0;
		uint32_t callee = some(8) ? caller * 7 + some(3) : some(FUNCTIONS);
		t->open[t->n++] = callee % FUNCTIONS;
		put(v, US_EVENT_ENTER, callee % FUNCTIONS);
	} else {
		put(v, US_EVENT_EXIT, t->open[--t->n]);
	}
}

static void must(int rc, const struct us_err *e)
{
	if (!rc)
		return;
	fprintf(stderr, "make-trace: %s\n", e->msg);
	exit(1);
}

static int make(int fd, uint64_t n)
{
	static struct vcpu vcpu[VCPUS];
	us_gva address[FUNCTIONS];
	struct us_writer *w;
	struct us_err e = { 0 };
	struct us_record_stats stats = { 0 };
	must(us_writer_open(fd, &w, &e), &e);
	must(us_writer_fact(w, "backend", "trace", &e), &e);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		address[i] = 0x100000 + 64 * i;
	must(us_writer_event_functions(w, 0, address, FUNCTIONS, &e), &e);
	for (uint64_t done = 0; done < n;) {
		uint64_t until = vcpu[0].t_ns + 20000000;
		for (unsigned i = 0; i < VCPUS; i++)
			while (vcpu[i].t_ns < until) {
				struct vcpu *v = &vcpu[i];
				for (v->n = 0; v->n < BATCH && v->t_ns < until; done++)
					step(v, i);
				must(us_writer_events(w, i, v->record, v->n, &e), &e);
			}
		must(us_writer_events_until(w, until, &e), &e);
	}
	must(us_writer_end(w, &stats, US_RECORD_DONE, "", &e), &e);
	us_writer_close(w);
	return 0;
}

static int count(void *ctx, unsigned vcpu, const uint64_t *record, size_t n)
{
	(void)vcpu;
	for (size_t i = 0; i < n; i++)
		*(uint64_t *)ctx += record[i] >> US_EVENT_KIND_SHIFT != US_EVENT_TIME;
	return 0;
}

static int look(int fd)
{
	const struct us_reader_ops ops = { .events = count };
	struct us_reader_result result;
	struct us_err e = { 0 };
	uint64_t n = 0;
	must(us_read(fd, &ops, &n, &result, &e), &e);
	printf("%" PRIu64 " events\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc < 2
			 ? -1
			 : open(argv[1],
				argc > 2 ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0600);
	if (fd < 0) {
		fprintf(stderr, "usage: make-trace FILE [EVENTS]\n");
		return 2;
	}
	return argc > 2 ? make(fd, strtoull(argv[2], NULL, 10)) : look(fd);
}
