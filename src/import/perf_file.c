/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/perf_file.c: see perf_file.h. */
#include "import/perf_file.h"

#include "base/vec.h"
#include "store/varint.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Of tools/perf, not of the kernel. */
enum {
	HEADER_ATTR = 64,
	HEADER_TRACING_DATA = 66,
	HEADER_FEATURE = 80,
	AUXTRACE = 71,
	COMPRESSED = 81,
};
#define FEATURE_ARCH  6
#define RECORD_HEAD   8U
#define PIPE_HEAD     16U
#define FILE_HEAD     104U
#define ATTR_LEAST    64U /* bytes of the first version */
#define MMAP_BUILD_ID (1U << 14)
#define FREQUENCY     (1ULL << 10) /* a flag of an event */
#define READ_LOST     (1U << 4)	   /* newer than some headers */

static int bad(struct us_perf_file *f, uint64_t at, const char *what)
{
	us_fail(f->e, -EBADMSG, "import: perf.data at byte %llu: %s",
		(unsigned long long)at, what);
	return -EBADMSG;
}

/* What is left of a record. */
struct rest {
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t take_u64(struct rest *r)
{
	if (r->end - r->at < 8) {
		r->failed = true;
		return 0;
	}
	r->at += 8;
	return us_get_le64(r->at - 8);
}

static uint32_t take_u32(struct rest *r)
{
	if (r->end - r->at < 4) {
		r->failed = true;
		return 0;
	}
	r->at += 4;
	return us_get_le32(r->at - 4);
}

static void skip(struct rest *r, uint64_t n)
{
	if ((uint64_t)(r->end - r->at) < n)
		r->failed = true;
	else
		r->at += n;
}

static const char *take_text(struct rest *r)
{
	const char *text = (const char *)r->at;
	if (r->at == r->end || !memchr(r->at, '\0', (size_t)(r->end - r->at))) {
		r->failed = true;
		return "";
	}
	return text;
}

/* ---- Events ---- */

/* An event's description, of which so many bytes are there; *ret_size: it says it has.
 */
static int add_event(struct us_perf_file *f, const uint8_t *p, size_t n,
		     uint32_t *ret_size)
{
	uint64_t at = (uint64_t)(p - f->bytes);
	if (n < ATTR_LEAST)
		return bad(f, at, "an event that is too short");
	*ret_size = us_get_le32(p + 4);
	*ret_size = *ret_size ? *ret_size : ATTR_LEAST;
	if (*ret_size < ATTR_LEAST || *ret_size > n)
		return bad(f, at, "an event with an impossible size");
	if (f->n_event == US_PERF_MAX_EVENTS)
		return bad(f, at, "too many events");
	f->event[f->n_event++] = (struct us_perf_event){
		.period = us_get_le64(p + 16),
		.sample_type = us_get_le64(p + 24),
		.read_format = us_get_le64(p + 32),
		.freq = us_get_le64(p + 40) & FREQUENCY,
	};
	return 0;
}

static int add_id(struct us_perf_file *f, uint64_t id)
{
	struct {
		struct us_perf_id *v;
		size_t n, cap;
	} ids = { f->ids, f->n_id, f->cap_id };
	struct us_perf_id *slot = us_vec_push(&ids);
	f->ids = ids.v;
	f->n_id = ids.n;
	f->cap_id = ids.cap;
	if (!slot) {
		us_fail(f->e, -ENOMEM, "import: out of memory");
		return -ENOMEM;
	}
	*slot = (struct us_perf_id){ id, (uint32_t)f->n_event - 1 };
	f->sorted = false;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct us_perf_id *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* All samples have the same fields, or begin with a number that says whose they are. */
static const struct us_perf_event *event_of(struct us_perf_file *f, uint64_t id)
{
	if (f->n_event < 2)
		return f->n_event ? &f->event[0] : NULL;
	if (!(f->event[0].sample_type & PERF_SAMPLE_IDENTIFIER)) {
		for (size_t i = 1; i < f->n_event; i++)
			if (f->event[i].sample_type != f->event[0].sample_type)
				return NULL;
		return &f->event[0];
	}
	if (!f->sorted && f->n_id)
		qsort(f->ids, f->n_id, sizeof(*f->ids), by_id);
	f->sorted = true;
	const struct us_perf_id key = { id, 0 };
	const struct us_perf_id *found =
		f->n_id ? bsearch(&key, f->ids, f->n_id, sizeof(key), by_id) : NULL;
	return found ? &f->event[found->event] : NULL;
}

/* ---- Records ---- */

static void skip_read(struct rest *r, uint64_t format)
{
	uint64_t n = 1, each = 8 + (format & PERF_FORMAT_ID ? 8 : 0) +
			       (format & READ_LOST ? 8 : 0);
	if (format & PERF_FORMAT_GROUP)
		n = take_u64(r);
	uint64_t times = (format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0) +
			 (format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0);
	skip(r, n > 65536 ? UINT64_MAX : times + n * each);
}

/* Fields in the order in which the kernel writes them. */
static void take_sample(struct rest *r, const struct us_perf_event *event,
			struct us_perf_sample *s)
{
	uint64_t type = event->sample_type;
	s->event = event;
	if (type & PERF_SAMPLE_IDENTIFIER)
		take_u64(r);
	if (type & PERF_SAMPLE_IP)
		s->ip = take_u64(r);
	if (type & PERF_SAMPLE_TID) {
		s->pid = take_u32(r);
		s->tid = take_u32(r);
	}
	if (type & PERF_SAMPLE_TIME)
		s->time_ns = take_u64(r);
	if (type & PERF_SAMPLE_ADDR)
		take_u64(r);
	if (type & PERF_SAMPLE_ID)
		take_u64(r);
	if (type & PERF_SAMPLE_STREAM_ID)
		take_u64(r);
	if (type & PERF_SAMPLE_CPU)
		take_u64(r);
	s->period = type & PERF_SAMPLE_PERIOD ? take_u64(r) : event->period;
	if (type & PERF_SAMPLE_READ)
		skip_read(r, event->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->n_chain = take_u64(r);
		s->chain = r->at;
		skip(r, s->n_chain > 65536 ? UINT64_MAX : 8 * s->n_chain);
	}
}

static int sample_of(struct us_perf_file *f, const uint8_t *record, size_t size,
		     struct us_perf_sample *ret)
{
	struct rest r = { record + RECORD_HEAD, record + size, false };
	uint64_t at = (uint64_t)(record - f->bytes);
	const struct us_perf_event *event = event_of(
		f, size >= RECORD_HEAD + 8 ? us_get_le64(r.at) : 0);
	*ret = (struct us_perf_sample){ .mode = us_get_le32(record + 4) &
						PERF_RECORD_MISC_CPUMODE_MASK };
	if (!event)
		return bad(f, at, "a sample of an event that was not described");
	take_sample(&r, event, ret);
	return r.failed ? bad(f, at, "a sample that is too short for its fields") : 0;
}

int us_perf_again(struct us_perf_file *f, const uint8_t *record,
		  struct us_perf_sample *ret)
{
	return sample_of(f, record, us_get_le32(record + 4) >> 16, ret);
}

static int mapping(struct us_perf_file *f, uint32_t type, uint16_t misc, struct rest *r,
		   const struct us_perf_ops *ops, void *ctx)
{
	struct us_perf_mapping m = { .mode = misc & PERF_RECORD_MISC_CPUMODE_MASK,
				     .executable = true };
	take_u64(r); /* process and thread */
	m.start = take_u64(r);
	m.len = take_u64(r);
	m.offset = take_u64(r);
	if (type == PERF_RECORD_MMAP2) {
		const uint8_t *id = r->at;
		skip(r, 24);
		if (!r->failed && misc & MMAP_BUILD_ID) {
			m.build_id_len = id[0] <= 20 ? id[0] : 0;
			m.build_id = id + 4;
		}
		m.executable = take_u32(r) & 4;
		take_u32(r);
	}
	m.path = take_text(r);
	if (r->failed)
		return bad(f, (uint64_t)(r->at - f->bytes),
			   "a mapping that is too short");
	return ops->mapping ? ops->mapping(ctx, &m) : 0;
}

static int one_record(struct us_perf_file *f, uint32_t type, uint16_t misc,
		      const uint8_t *record, size_t size, const struct us_perf_ops *ops,
		      void *ctx)
{
	struct us_perf_sample s;
	struct rest r = { record + RECORD_HEAD, record + size, false };
	uint32_t pid, tid, attr_size;
	int rc = 0;
	switch (type) {
	case PERF_RECORD_SAMPLE:
		rc = sample_of(f, record, size, &s);
		return rc ? rc : ops->sample(ctx, &s, record);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return mapping(f, type, misc, &r, ops, ctx);
	case PERF_RECORD_COMM:
		pid = take_u32(&r);
		tid = take_u32(&r);
		const char *name = take_text(&r);
		return r.failed ? bad(f, (uint64_t)(record - f->bytes), "a short name")
				: ops->comm(ctx, pid, tid, name);
	case PERF_RECORD_LOST:
		take_u64(&r);
		return ops->lost(ctx, take_u64(&r));
	case PERF_RECORD_LOST_SAMPLES:
		return ops->lost(ctx, take_u64(&r));
	case HEADER_ATTR:
		rc = add_event(f, r.at, (size_t)(r.end - r.at), &attr_size);
		for (skip(&r, rc ? 0 : attr_size); !rc && r.end - r.at >= 8;)
			rc = add_id(f, take_u64(&r));
		return rc;
	case COMPRESSED:
		us_fail(f->e, -ENOTSUP,
			"import: the records are packed (perf record -z)");
		us_hint(f->e, "perf inject -i perf.data -o unpacked.data");
		return -ENOTSUP;
	default:
		return 0;
	}
}

/* Bytes that follow a record and are not of its size. */
static uint64_t after(uint32_t type, const uint8_t *record, size_t size)
{
	if (type == HEADER_TRACING_DATA && size >= 12)
		return (us_get_le32(record + 8) + 7ULL) / 8 * 8;
	return type == AUXTRACE && size >= 16 ? us_get_le64(record + 8) : 0;
}

static int arch_of_record(struct us_perf_file *f, const uint8_t *record, size_t size,
			  const struct us_perf_ops *ops, void *ctx)
{
	struct rest r = { record + RECORD_HEAD, record + size, false };
	if (take_u64(&r) != FEATURE_ARCH)
		return 0;
	take_u32(&r);
	const char *name = take_text(&r);
	(void)f;
	return r.failed ? 0 : ops->arch(ctx, name);
}

static int records(struct us_perf_file *f, uint64_t at, uint64_t end,
		   const struct us_perf_ops *ops, void *ctx)
{
	while (at < end) {
		const uint8_t *record = f->bytes + at;
		if (end - at < RECORD_HEAD)
			break;
		uint32_t type = us_get_le32(record), rest = us_get_le32(record + 4);
		size_t size = rest >> 16;
		if (size < RECORD_HEAD)
			return bad(f, at, "a record with an impossible size");
		uint64_t more = after(type, record, size <= end - at ? size : 0);
		if (size > end - at || more > end - at - size)
			break;
		int rc = type == HEADER_FEATURE
				 ? arch_of_record(f, record, size, ops, ctx)
				 : one_record(f, type, (uint16_t)rest, record, size,
					      ops, ctx);
		if (rc)
			return rc;
		at += size + more;
	}
	f->cut |= at < end;
	return 0;
}

/* ---- The file ---- */

static bool lies_in(const struct us_perf_file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->n && size <= f->n - offset;
}

static int events_of_file(struct us_perf_file *f)
{
	const uint8_t *p = f->bytes;
	uint64_t each = us_get_le64(p + 16), at = us_get_le64(p + 24);
	uint64_t size = us_get_le64(p + 32);
	if (each < ATTR_LEAST + 16 || each > 4096 || !lies_in(f, at, size))
		return bad(f, 16, "events that are not in the file");
	for (uint64_t end = at + size; end - at >= each; at += each) {
		uint32_t attr_size;
		const uint8_t *ids = p + at + each - 16;
		uint64_t id = us_get_le64(ids), bytes = us_get_le64(ids + 8);
		int rc = add_event(f, p + at, each - 16, &attr_size);
		if (!rc && !lies_in(f, id, bytes))
			rc = bad(f, at, "an event's numbers are not in the file");
		for (; !rc && bytes >= 8; bytes -= 8, id += 8)
			rc = add_id(f, us_get_le64(p + id));
		if (rc)
			return rc;
	}
	return 0;
}

/* Of the sections behind the data, by the bits of the header. */
static int arch_of_file(struct us_perf_file *f, uint64_t sections,
			const struct us_perf_ops *ops, void *ctx)
{
	uint64_t bits = us_get_le64(f->bytes + 72);
	unsigned before = (unsigned)__builtin_popcountll(bits &
							 ((1U << FEATURE_ARCH) - 1));
	if (!(bits >> FEATURE_ARCH & 1) || !lies_in(f, sections, (before + 1) * 16ULL))
		return 0;
	const uint8_t *p = f->bytes + sections + before * 16ULL;
	uint64_t at = us_get_le64(p), size = us_get_le64(p + 8);
	if (!lies_in(f, at, size))
		return 0;
	struct rest r = { f->bytes + at, f->bytes + at + size, false };
	take_u32(&r);
	const char *name = take_text(&r);
	return r.failed ? 0 : ops->arch(ctx, name);
}

static int read_file(struct us_perf_file *f, const struct us_perf_ops *ops, void *ctx)
{
	uint64_t at = us_get_le64(f->bytes + 40), size = us_get_le64(f->bytes + 48);
	int rc = events_of_file(f);
	if (rc)
		return rc;
	if (at > f->n)
		return bad(f, 40, "the data are not in the file");
	/* 0: perf was killed before it knew. */
	f->cut = !size || size > f->n - at;
	uint64_t end = f->cut ? f->n : at + size;
	rc = f->cut ? 0 : arch_of_file(f, end, ops, ctx);
	return rc ? rc : records(f, at, end, ops, ctx);
}

int us_perf_read(struct us_perf_file *f, const struct us_perf_ops *ops, void *ctx,
		 struct us_err *e)
{
	f->e = e;
	if (f->n >= 8 && !memcmp(f->bytes, "2ELIFREP", 8)) {
		us_fail(e, -ENOTSUP,
			"import: the perf.data is of a machine with another "
			"byte order");
		return -ENOTSUP;
	}
	if (f->n < PIPE_HEAD || memcmp(f->bytes, "PERFILE2", 8) != 0) {
		us_fail(e, -ENOEXEC, "import: this is no perf.data");
		return -ENOEXEC;
	}
	if (us_get_le64(f->bytes + 8) == PIPE_HEAD)
		return records(f, PIPE_HEAD, f->n, ops, ctx);
	if (f->n < FILE_HEAD)
		return bad(f, 0, "it is cut in its header");
	return read_file(f, ops, ctx);
}

void us_perf_fini(struct us_perf_file *f)
{
	free(f->ids);
	f->ids = NULL;
}
