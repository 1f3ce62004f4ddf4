/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.c: see events.h. */
#include "trace/events.h"

#include "store/varint.h"

#include <string.h>
#include <time.h>

#define NAP_NS	   50000
#define GONE_NS	   1000000000ULL /* a reader that is silent for this long is gone */
#define NS_PER_SEC 1000000000ULL

#define MIN_RUN	   US_EVENTS_PER_TIME /* events */
#define MAX_RUN	   1024U
#define DENSE_RUN  64U			   /* records of the time */
#define USUAL_SPAN (US_EVENTS_SPAN_NS / 2) /* ns; leaves room for noise */

/* The plugin uses only the C library, so base/clock.h is not available. */
static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

void us_events_switch(struct us_events_head *h, bool on)
{
	uint32_t was = __atomic_load_n(&h->epoch, __ATOMIC_RELAXED);
	if (!on)
		__atomic_store_n(&h->epoch, 0, __ATOMIC_RELAXED);
	else if (!was)
		__atomic_store_n(
			&h->epoch,
			__atomic_add_fetch(&h->last_epoch, 1, __ATOMIC_RELAXED),
			__ATOMIC_RELAXED);
}

void us_events_renew(struct us_events_head *h)
{
	uint32_t was = __atomic_load_n(&h->epoch, __ATOMIC_RELAXED);
	if (!was)
		return;
	/* If somebody switched it off or on meanwhile, that stands. */
	uint32_t next = __atomic_add_fetch(&h->last_epoch, 1, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&h->epoch, &was, next, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

static uint64_t n_free(const struct us_events *e)
{
	uint64_t unread = e->n - __atomic_load_n(&e->vcpu->read, __ATOMIC_ACQUIRE);
	return unread > e->mask ? 0 : e->mask + 1 - unread;
}

static bool is_reader_there(const struct us_events *e, uint64_t now)
{
	uint64_t seen = __atomic_load_n(&e->head->reader_ns, __ATOMIC_RELAXED);
	return seen > now || now - seen < GONE_NS;
}

/*
 * A stream loses nothing: the guest waits for its reader.  If the reader is gone, the
 * oldest records are overwritten until a reader announces itself again.
 */
void us_events_wait_for_room(struct us_events *e)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t n = e->mask + 1, begun = now_ns();
	bool stream = e->head->stream;
	while (stream && !__atomic_load_n(&e->head->abandoned, __ATOMIC_ACQUIRE) &&
	       !(n = n_free(e))) {
		if (!is_reader_there(e, now_ns()))
			__atomic_store_n(&e->head->abandoned, 1, __ATOMIC_RELEASE);
		else
			nanosleep(&nap, NULL);
		e->vcpu->waited_ns += now_ns() - begun;
		begun = now_ns();
	}
	e->room_until = e->n + (n ? n : e->mask + 1);
}

/* The number that makes a span of USUAL_SPAN, if the next run is like this one. */
static uint32_t per_time_of(const struct us_events_pace *p, uint64_t now)
{
	uint64_t n = p->run_n * USUAL_SPAN / (now - p->run_ns + 1);
	return n < 1 ? 1 : n < US_EVENTS_PER_TIME ? (uint32_t)n : US_EVENTS_PER_TIME;
}

static void begin_run(struct us_events_pace *p, uint64_t now)
{
	p->run_ns = now;
	p->run_n = 0;
}

/*
 * An event is late.  It stalled if it is late by few instructions: in a device, or
 * because the host took the CPU.  Where between the two times is not known.  After many
 * instructions it is code that is not traced, and the row so far was without a stall:
 * bursts of events may all be shorter than a row that shows that otherwise.
 */
static void be_exact(struct us_events_pace *p, uint64_t now, uint64_t insns)
{
	bool stalled = p->per_time > 1 &&
		       insns - p->last_insns < US_EVENTS_INSNS_PER_TIME;
	if (!p->per_time)
		p->need = MIN_RUN;
	else if (stalled && p->need < MAX_RUN)
		p->need *= 2;
	else if (!stalled && p->per_time > 1 && p->need > MIN_RUN)
		p->need /= 2;
	p->per_time = 1;
	begin_run(p, now);
}

/*
 * To read the clock and to write it costs as much as an event.  So each event has its
 * time until many in a row have come quickly; from then on some do, until one is late.
 * Where events stall often, a longer row is asked for.
 */
static void set_pace(struct us_events *e, uint64_t now, uint64_t insns)
{
	struct us_events_pace *p = &e->pace;
	bool dense = p->per_time > 1;
	if (p->per_time && e->halted) {
		begin_run(p, now);
		return;
	}
	if (!p->per_time || now - p->last_ns > US_EVENTS_SPAN_NS) {
		be_exact(p, now, insns);
		return;
	}
	p->run_n += e->n - p->last_n;
	if (p->run_n < (dense ? (uint64_t)DENSE_RUN * p->per_time : p->need))
		return;
	if (dense && p->need > MIN_RUN)
		p->need /= 2;
	p->per_time = per_time_of(p, now);
	begin_run(p, now);
}

static void write_clock(struct us_events *e, uint64_t insns)
{
	struct us_events_pace *p = &e->pace;
	uint64_t now = now_ns() - e->head->start_ns;
	set_pace(e, now, insns);
	us_events_write(e, (uint64_t)US_EVENT_TIME << US_EVENT_KIND_SHIFT |
				   (now & US_EVENT_TIME_MASK));
	p->last_ns = now;
	p->last_insns = insns;
	p->last_n = e->n;
	e->insns_at = insns + US_EVENTS_INSNS_PER_TIME;
	e->time_at = e->n + p->per_time;
}

void us_events_write_time(struct us_events *e, uint64_t insns)
{
	if (e->head->has_time) {
		write_clock(e, insns);
	} else {
		e->insns_at = UINT64_MAX;
		e->time_at = e->n + US_EVENTS_PER_TIME;
	}
	e->halted = false;
}

static void write_data(struct us_events *e, const uint8_t *p, size_t n)
{
	uint64_t first = US_EVENT_DATA_FIRST;
	for (size_t some; n; n -= some, p += some, first = 0) {
		uint64_t bytes = 0;
		some = n < US_EVENT_DATA_BYTES ? n : US_EVENT_DATA_BYTES;
		memcpy(&bytes, p, some);
		us_events_write(e,
				first | (uint64_t)some << US_EVENT_DATA_SHIFT | bytes);
	}
}

void us_events_put_data(struct us_events *e, uint64_t insns, const uint8_t *p, size_t n)
{
	uint8_t bytes[US_EVENT_DATA_MAX], number[US_VARINT_MAX];
	size_t size = (size_t)(us_varint_put(number, insns) - number);
	uint8_t *at = us_varint_put(bytes, size + n);
	if (n > US_EVENT_DATA_MAX - 2 * US_VARINT_MAX)
		return;
	memcpy(at, number, size);
	memcpy(at + size, p, n);
	us_events_write_time(e, insns);
	write_data(e, bytes, (size_t)(at - bytes) + size + n);
}

/* NULL: it is not complete yet, or not valid. */
static const uint8_t *whole(struct us_event_data *d, uint64_t *ret_insns, size_t *ret_n)
{
	uint64_t size;
	const uint8_t *end = d->bytes + d->n;
	const uint8_t *p = us_varint_get(d->bytes, end, &size);
	if (!p || size > (uint64_t)(end - p))
		return NULL;
	end = p + size;
	p = us_varint_get(p, end, ret_insns);
	d->n = 0;
	*ret_n = p ? (size_t)(end - p) : 0;
	return p;
}

const uint8_t *us_event_data_add(struct us_event_data *d, uint64_t record,
				 uint64_t *ret_insns, size_t *ret_n)
{
	unsigned n = record >> US_EVENT_DATA_SHIFT & 0xf;
	bool first = record & US_EVENT_DATA_FIRST;
	bool good = record >> US_EVENT_KIND_SHIFT == US_EVENT_DATA && n &&
		    n <= US_EVENT_DATA_BYTES && (first || d->n);
	if (first || !good)
		d->n = 0;
	if (!good || d->n + n > sizeof(d->bytes)) {
		d->n = 0;
		return NULL;
	}
	uint64_t bytes = htole64(record);
	memcpy(d->bytes + d->n, &bytes, n);
	d->n += n;
	return whole(d, ret_insns, ret_n);
}
