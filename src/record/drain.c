/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drain.c: see drain.h. */
#include "record/drain.h"
#include "base/clock.h"

#include <signal.h>
#include <string.h>

#define NAP_LEAST_NS (US_NS_PER_MS / 2)
#define NAP_MOST_NS  (20 * US_NS_PER_MS)
#define FLUSH_NS     (US_RECORD_FLUSH_MS * US_NS_PER_MS)
/* Sums come ten times a second: the tenth may be a hair early. */
#define STATS_NS (US_NS_PER_SEC - 50 * US_NS_PER_MS)

static int put_stats(struct us_drain *d, const struct us_record_stats *s)
{
	if (d->progress)
		d->progress(d->ctx, s);
	if (s->elapsed_ns - d->stats_ns < STATS_NS)
		return 0;
	d->stats_ns = s->elapsed_ns;
	return us_writer_stats(d->writer, s, &d->e);
}

static int put_end(struct us_drain *d)
{
	if (d->progress)
		d->progress(d->ctx, &d->last);
	if (d->finish_by)
		d->finish_by(d->ctx);
	return us_writer_end(d->writer, &d->last, d->end, d->words, &d->e);
}

static int empty_ring(struct us_drain *d)
{
	struct us_ring_item it;
	for (;;) {
		int r = 0;
		switch (us_ring_peek(d->ring, &it)) {
		case US_RING_EMPTY:
			return 0;
		case US_RING_SAMPLE:
			r = us_writer_sample(d->writer, it.sample, it.pc, it.flags,
					     it.n, &d->e);
			break;
		case US_RING_STATS:
			r = put_stats(d, it.stats);
			break;
		}
		if (r)
			return r;
		us_ring_pop(d->ring);
	}
}

/* A nap and a write may come between two readings of the clock. */
static int flush_in_time(struct us_drain *d)
{
	uint64_t now = us_now_ns(), between = 3 * d->nap_most_ns;
	if (between < FLUSH_NS && now - d->flushed_ns < FLUSH_NS - between)
		return 0;
	d->flushed_ns = now;
	return us_writer_flush(d->writer, &d->e);
}

/* Sleep so long that the ring is about a tenth full afterwards. */
static void nap(struct us_drain *d, size_t found)
{
	if (found > us_ring_size(d->ring) / 8)
		d->nap_ns /= 2;
	else if (found < us_ring_size(d->ring) / 32)
		d->nap_ns *= 2;
	if (d->nap_ns < NAP_LEAST_NS)
		d->nap_ns = NAP_LEAST_NS;
	if (d->nap_ns > d->nap_most_ns)
		d->nap_ns = d->nap_most_ns;
	struct timespec t = { .tv_nsec = (long)d->nap_ns };
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static int write_all(struct us_drain *d)
{
	for (;;) {
		/* Read first: then the ring shows everything that came before it. */
		bool last = atomic_load_explicit(&d->finish, memory_order_acquire);
		size_t found = us_ring_used(d->ring);
		int r = empty_ring(d);
		if (!r && last)
			return put_end(d);
		if (!r)
			r = flush_in_time(d);
		if (r)
			return r;
		if (!last)
			nap(d, found);
	}
}

static void *run(void *arg)
{
	struct us_drain *d = arg;
	if (write_all(d))
		atomic_store_explicit(&d->failed, true, memory_order_release);
	return NULL;
}

int us_drain_start(struct us_drain *d, struct us_err *e)
{
	sigset_t all, before;
	sigfillset(&all);
	d->nap_ns = NAP_LEAST_NS;
	d->nap_most_ns = d->pause_ns > NAP_MOST_NS ? d->pause_ns : NAP_MOST_NS;
	d->flushed_ns = us_now_ns();
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&d->thread, NULL, run, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r ? us_fail(e, -r, "start the writer thread: %s", strerror(r)) : 0;
}

int us_drain_finish(struct us_drain *d, const struct us_record_stats *s,
		    enum us_record_end end, const char *words, struct us_err *e)
{
	d->last = *s;
	d->end = end;
	d->words = words;
	atomic_store_explicit(&d->finish, true, memory_order_release);
	pthread_join(d->thread, NULL);
	if (!us_drain_failed(d))
		return 0;
	if (e)
		*e = d->e;
	return d->e.code;
}
