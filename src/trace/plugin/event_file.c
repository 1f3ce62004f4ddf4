/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_file.c: see event_file.h. */
#include "trace/plugin/event_file.h"

#include "trace/plugin/shared_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool set_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
	char *end;
	errno = 0;
	uint64_t n = strtoull(text, &end, 10);
	*ret = n;
	return !errno && end != text && !*end && n >= least && n <= most;
}

bool us_event_option(struct us_event_options *o, const char *text)
{
	uint64_t n;
	if (!strncmp(text, "trace=", 6)) {
		o->path = text + 6;
		return true;
	}
	if (!strncmp(text, "records=", 8))
		return set_number(text + 8, US_EVENTS_MIN_RECORD, US_EVENTS_MAX_RECORD,
				  &o->n_record) &&
		       !(o->n_record & (o->n_record - 1));
	if (!strncmp(text, "depth=", 6)) {
		bool ok = set_number(text + 6, 1, UINT16_MAX, &n);
		o->depth = (uint16_t)n;
		return ok;
	}
	o->stream |= !strcmp(text, "stream=on");
	o->insns_only |= !strcmp(text, "clock=insns");
	o->begin_off |= !strcmp(text, "begin=off");
	return !strcmp(text, "stream=on") || !strcmp(text, "clock=insns") ||
	       !strcmp(text, "begin=off");
}

static uint64_t to_page(uint64_t n)
{
	return (n + US_EVENTS_PAGE - 1) & ~(US_EVENTS_PAGE - 1ULL);
}

static struct us_events_head head_of(const struct us_event_options *o, uint32_t n_vcpu)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	struct us_events_head h = { .version = US_EVENTS_VERSION,
				    .n_vcpu = n_vcpu,
				    .n_record = o->n_record,
				    .record_offset = US_EVENTS_PAGE,
				    .function_offset = US_EVENTS_PAGE,
				    .has_time = !o->insns_only,
				    .stream = o->stream };
	memcpy(h.magic, US_EVENTS_MAGIC, sizeof(h.magic));
	h.start_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	h.reader_ns = h.start_ns;
	h.vcpu_offset = h.function_offset + US_EVENTS_FUNCTIONS * sizeof(uint64_t);
	h.vcpu_stride = to_page(h.record_offset + h.n_record * sizeof(uint64_t));
	h.size = h.vcpu_offset + n_vcpu * h.vcpu_stride;
	if (!o->begin_off)
		us_events_switch(&h, true);
	return h;
}

int us_event_file_make(const struct us_event_options *o, uint32_t n_vcpu,
		       struct us_events_head **ret, uint64_t *ret_size)
{
	struct us_events_head h = head_of(o, n_vcpu);
	void *p;
	int r = us_shared_file_make(o->path, h.size, &p);
	*ret_size = h.size;
	if (r < 0)
		return r;
	/* The magic comes last, because a reader may be waiting for it. */
	memcpy((char *)p + sizeof(h.magic), (const char *)&h + sizeof(h.magic),
	       sizeof(h) - sizeof(h.magic));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(p, h.magic, sizeof(h.magic));
	*ret = p;
	return 0;
}

uint64_t *us_event_file_table(struct us_events_head *h, uint32_t **ret_n)
{
	*ret_n = &h->n_function;
	return (void *)((char *)h + h->function_offset);
}

void us_event_file_vcpu(struct us_events_head *h, const struct us_event_options *o,
			uint32_t vcpu, struct us_events *ret)
{
	char *p = (char *)h + h->vcpu_offset + vcpu * h->vcpu_stride;
	*ret = (struct us_events){ .head = h,
				   .vcpu = (void *)p,
				   .record = (void *)(p + h->record_offset),
				   .mask = h->n_record - 1,
				   .max_depth = o->depth };
}

void us_event_file_started(struct us_events_head *h, uint32_t vcpu)
{
	if (h && vcpu >= h->n_seen)
		__atomic_store_n(&h->n_seen, vcpu + 1, __ATOMIC_RELEASE);
}
