/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events_read.c: see events_read.h. */
#include "trace/events_read.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "trace/syscall_message.h"
#include "vmm/plugin_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 65536U /* records */

static bool is_others(const struct us_events_head *h)
{
	return !memcmp(h->magic, US_EVENTS_MAGIC, sizeof(h->magic)) &&
	       h->version != US_EVENTS_VERSION;
}

static bool is_possible(const struct us_events_head *h, uint64_t size)
{
	return !memcmp(h->magic, US_EVENTS_MAGIC, sizeof(h->magic)) &&
	       h->version == US_EVENTS_VERSION && h->n_vcpu &&
	       h->n_vcpu <= US_COUNTS_MAX_VCPU && h->n_record >= US_EVENTS_MIN_RECORD &&
	       h->n_record <= US_EVENTS_MAX_RECORD &&
	       !(h->n_record & (h->n_record - 1)) && h->size <= size &&
	       h->function_offset >= sizeof(*h) &&
	       h->function_offset <= US_EVENTS_PAGE &&
	       h->vcpu_offset >= h->function_offset + US_EVENTS_FUNCTIONS * 8ULL &&
	       h->vcpu_offset <= h->size &&
	       h->record_offset >= sizeof(struct us_events_vcpu) &&
	       h->record_offset <= US_EVENTS_PAGE &&
	       h->vcpu_stride >= h->record_offset + h->n_record * 8 &&
	       h->vcpu_stride <= (h->size - h->vcpu_offset) / h->n_vcpu &&
	       !((h->function_offset | h->vcpu_offset | h->vcpu_stride |
		  h->record_offset) %
		 8);
}

int us_events_open(const char *path, struct us_events_file *ret, struct us_err *e)
{
	struct stat st;
	*ret = (struct us_events_file){ 0 };
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return us_fail(e, -errno, "read the trace in %s: %s", path,
			       strerror(errno));
	if ((uint64_t)st.st_size < sizeof(ret->head) || !S_ISREG(st.st_mode))
		return us_fail(e, -EBADMSG, "read %s: this is not a trace from QEMU",
			       path);
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       0);
	if (p == MAP_FAILED)
		return us_fail(e, -errno, "map %s: %s", path, strerror(errno));
	ret->map = p;
	ret->size = (size_t)st.st_size;
	ret->copy = malloc(BATCH * sizeof(*ret->copy));
	memcpy(&ret->head, p, sizeof(ret->head));
	bool possible = is_possible(&ret->head, ret->size);
	if (possible && ret->copy)
		return 0;
	bool others = is_others(&ret->head);
	us_events_close(ret);
	if (possible)
		return us_fail(e, -ENOMEM, "out of memory");
	return us_fail(e, -EBADMSG,
		       others ? "read %s: the plugin that wrote it is of another "
				"version of uniscope"
			      : "read %s: this is not a trace from QEMU",
		       path);
}

void us_events_close(struct us_events_file *f)
{
	if (f->map)
		munmap(f->map, f->size);
	free(f->copy);
	for (unsigned i = 0; i < US_MAX_VCPUS; i++)
		free(f->data[i]);
	*f = (struct us_events_file){ 0 };
}

static struct us_events_vcpu *vcpu_of(const struct us_events_file *f, unsigned i)
{
	return (void *)((char *)f->map + f->head.vcpu_offset + i * f->head.vcpu_stride);
}

static unsigned started(const struct us_events_file *f)
{
	uint32_t n = __atomic_load_n(&f->map->n_seen, __ATOMIC_ACQUIRE);
	return n < f->head.n_vcpu ? n : f->head.n_vcpu;
}

unsigned us_events_n_vcpu(const struct us_events_file *f)
{
	unsigned n = started(f);
	return n < US_MAX_VCPUS ? n : US_MAX_VCPUS;
}

const uint64_t *us_events_ring(const struct us_events_file *f, unsigned vcpu,
			       uint64_t *ret_written)
{
	const struct us_events_vcpu *v = vcpu_of(f, vcpu);
	*ret_written = __atomic_load_n(&v->written, __ATOMIC_ACQUIRE);
	return (const void *)((const char *)v + f->head.record_offset);
}

static const uint64_t *function_table(const struct us_events_file *f)
{
	return (const void *)((const char *)f->map + f->head.function_offset);
}

const uint64_t *us_events_functions(const struct us_events_file *f, size_t *ret_n)
{
	*ret_n = f->n_function;
	return function_table(f);
}

/* Writes the new functions.  Called after records are copied and before they are
 * written, so that each function precedes the records that refer to it. */
static int take_functions(struct us_events_file *f, const struct us_events_sink *sink,
			  struct us_err *e)
{
	const uint64_t *table = function_table(f);
	uint32_t n = __atomic_load_n(&f->map->n_function, __ATOMIC_ACQUIRE);
	if (n > US_EVENTS_FUNCTIONS)
		n = US_EVENTS_FUNCTIONS;
	if (f->n_function >= n)
		return 0;
	int r = sink->functions(sink->ctx, f->n_function, table + f->n_function,
				n - f->n_function, e);
	f->n_function = n;
	return r;
}

/* Copy some of the records.  Those that were, or may have been, overwritten while they
 * were copied are left out.  *ret_first: index of the first valid one. */
static size_t copy_records(struct us_events_file *f, unsigned i, uint64_t until,
			   size_t *ret_first)
{
	const struct us_events_vcpu *v = vcpu_of(f, i);
	const uint64_t *ring = (const void *)((const char *)v + f->head.record_offset);
	uint64_t size = f->head.n_record, at = f->at[i];
	uint64_t n = until - at < BATCH ? until - at : BATCH;
	for (uint64_t k = 0; k < n;) {
		uint64_t from = (at + k) & (size - 1);
		uint64_t some = size - from < n - k ? size - from : n - k;
		memcpy(f->copy + k, ring + from, some * sizeof(*ring));
		k += some;
	}
	uint64_t now = __atomic_load_n(&v->written, __ATOMIC_ACQUIRE);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	bool waits = f->head.stream && !f->beside &&
		     !__atomic_load_n(&f->map->abandoned, __ATOMIC_RELAXED);
	/* The record that is being written now is not counted yet; a stream waits when
	 * its ring is full. */
	uint64_t oldest = now >= size ? now - size + !waits : 0;
	uint64_t gone = oldest > at ? oldest - at : 0;
	*ret_first = gone < n ? gone : n;
	return n;
}

static int count_message(struct us_events_file *f, unsigned i, uint64_t record)
{
	uint64_t insns;
	size_t n;
	if (!f->data[i])
		f->data[i] = calloc(1, sizeof(*f->data[i]));
	if (!f->data[i])
		return -ENOMEM;
	const uint8_t *p = us_event_data_add(f->data[i], record, &insns, &n);
	f->n_syscall += p && n && p[0] == US_SYSCALL_ENTERED;
	return 0;
}

bool us_event_is_call(unsigned kind)
{
	return kind == US_EVENT_ENTER || kind == US_EVENT_INTERRUPT ||
	       kind == US_EVENT_JUMP;
}

static int count(struct us_events_file *f, unsigned i, const uint64_t *record, size_t n,
		 struct us_err *e)
{
	int r = 0;
	for (size_t k = 0; k < n && r == 0; k++) {
		unsigned kind = (unsigned)(record[k] >> US_EVENT_KIND_SHIFT);
		f->n_call += us_event_is_call(kind);
		if (kind == US_EVENT_DATA)
			r = count_message(f, i, record[k]);
	}
	return r < 0 ? us_fail(e, r, "out of memory") : 0;
}

static int take_vcpu(struct us_events_file *f, unsigned i,
		     const struct us_events_sink *sink, struct us_err *e)
{
	struct us_events_vcpu *v = vcpu_of(f, i);
	uint64_t until = __atomic_load_n(&v->written, __ATOMIC_ACQUIRE);
	uint64_t size = f->head.n_record;
	bool first = f->at[i] == 0;
	int r = 0;
	if (until < f->at[i])
		return us_fail(e, -EBADMSG,
			       "read the trace: its position went backwards");
	if (until - f->at[i] > size) {
		f->n_lost += first ? 0 : until - f->at[i] - size;
		f->at[i] = until - size;
	}
	while (f->at[i] < until && !r) {
		size_t skip, n = copy_records(f, i, until, &skip);
		r = take_functions(f, sink, e);
		if (!r)
			r = sink->events(sink->ctx, i, f->copy + skip, n - skip, e);
		if (!r)
			r = count(f, i, f->copy + skip, n - skip, e);
		f->at[i] += n;
		f->n_lost += first ? 0 : skip;
		if (!f->beside)
			__atomic_store_n(&v->read, f->at[i], __ATOMIC_RELEASE);
	}
	return r;
}

/* A recording has no room for these vCPUs; they must not wait for a reader. */
static void pass_over_rest(struct us_events_file *f)
{
	for (unsigned i = US_MAX_VCPUS; !f->beside && i < started(f); i++) {
		struct us_events_vcpu *v = vcpu_of(f, i);
		uint64_t written = __atomic_load_n(&v->written, __ATOMIC_ACQUIRE);
		__atomic_store_n(&v->read, written, __ATOMIC_RELEASE);
	}
}

/* The open calls are no longer known: the plugin reports them again. */
static void begin_anew(struct us_events_file *f)
{
	us_events_renew(f->map);
	if (!f->beside)
		__atomic_store_n(&f->map->abandoned, 0, __ATOMIC_RELEASE);
}

int us_events_take(struct us_events_file *f, const struct us_events_sink *sink,
		   struct us_err *e)
{
	/* What happened before now was written before we read it. */
	uint64_t now = us_now_ns(), start = f->head.start_ns;
	uint64_t lost = f->n_lost;
	if (!f->beside)
		us_events_beat(f);
	int r = 0;
	for (unsigned i = 0; i < us_events_n_vcpu(f) && !r; i++)
		r = take_vcpu(f, i, sink, e);
	pass_over_rest(f);
	if (f->n_lost != lost)
		begin_anew(f);
	return r ? r : sink->until(sink->ctx, now > start ? now - start : 0, e);
}

static int write_functions(void *ctx, uint32_t first, const uint64_t *address, size_t n,
			   struct us_err *e)
{
	return us_writer_event_functions(ctx, first, address, n, e);
}

static int write_events(void *ctx, unsigned vcpu, const uint64_t *record, size_t n,
			struct us_err *e)
{
	return us_writer_events(ctx, vcpu, record, n, e);
}

static int write_until(void *ctx, uint64_t t_ns, struct us_err *e)
{
	return us_writer_events_until(ctx, t_ns, e);
}

int us_events_record(struct us_events_file *f, struct us_writer *w, struct us_err *e)
{
	const struct us_events_sink sink = { .functions = write_functions,
					     .events = write_events,
					     .until = write_until,
					     .ctx = w };
	return us_events_take(f, &sink, e);
}

void us_events_beside(struct us_events_file *f, bool skip)
{
	f->beside = true;
	for (unsigned i = 0; skip && i < us_events_n_vcpu(f); i++)
		f->at[i] = __atomic_load_n(&vcpu_of(f, i)->written, __ATOMIC_ACQUIRE);
	if (skip)
		us_events_renew(f->map);
}

double us_events_fill(const struct us_events_file *f)
{
	uint64_t most = 0;
	for (unsigned i = 0; i < us_events_n_vcpu(f); i++) {
		uint64_t n = __atomic_load_n(&vcpu_of(f, i)->written,
					     __ATOMIC_ACQUIRE) -
			     f->at[i];
		most = n > most ? n : most;
	}
	return (double)most / (double)f->head.n_record;
}

void us_events_beat(struct us_events_file *f)
{
	__atomic_store_n(&f->map->reader_ns, us_now_ns(), __ATOMIC_RELAXED);
}
