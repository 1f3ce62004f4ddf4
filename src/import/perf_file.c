/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/perf_file.c: see perf_file.h. */
#include "import/perf_file.h"

#include "base/vec.h"
#include "store/varint.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* From tools/perf, not from the kernel. */
enum {
	HEADER_ATTR = 64,
	HEADER_TRACING_DATA = 66,
	HEADER_FEATURE = 80,
	AUXTRACE = 71,
	COMPRESSED = 81,
	COMPRESSED_SIZED = 83, /* with the number of valid bytes */
};
#define FEATURE_HOST  3
#define FEATURE_ARCH  6
#define RECORD_HEAD   8U
#define PIPE_HEAD     16U
#define FILE_HEAD     104U
#define ATTR_LEAST    64U /* bytes of the first version */
#define MMAP_BUILD_ID (1U << 14)
/* Flags of an event. */
#define FREQUENCY     (1ULL << 10)
#define SAMPLE_ID_ALL (1ULL << 18)
#define READ_LOST     (1U << 4) /* newer than some headers */
/* The fields of a sample in front of PERF_SAMPLE_ID, of 8 bytes each. */
#define BEFORE_ID                                                                      \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)
/* The fields of 8 bytes at the end of other records, from the time on. */
#define FROM_TIME                                                                      \
	(PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_IDENTIFIER)
#define NO_ID UINT8_MAX /* at no place that is the same in all */

/* at: in the file, or in the data of the current compressed record. */
static int bad(struct us_perf_file *f, const uint8_t *at, const char *what)
{
	const uint8_t *from = f->packed ? f->packed : at;
	us_fail(f->e, -EBADMSG, "import: perf.data at byte %llu%s: %s",
		(unsigned long long)(from - f->bytes),
		f->packed ? ", decompressed" : "", what);
	return -EBADMSG;
}

static uint32_t get_u32(bool swapped, const uint8_t *p)
{
	uint32_t v = us_get_le32(p);
	return swapped ? __builtin_bswap32(v) : v;
}

static uint64_t get_u64(bool swapped, const uint8_t *p)
{
	uint64_t v = us_get_le64(p);
	return swapped ? __builtin_bswap64(v) : v;
}

uint64_t us_perf_frame(const struct us_perf_sample *s, uint64_t i)
{
	return get_u64(s->swapped, s->chain + 8 * i);
}

struct head {
	uint32_t type;
	uint16_t misc, size;
};

static struct head head_of(bool swapped, const uint8_t *record)
{
	uint32_t low = us_get_le32(record + 4);
	uint16_t misc = (uint16_t)low, size = (uint16_t)(low >> 16);
	return (struct head){ get_u32(swapped, record),
			      swapped ? __builtin_bswap16(misc) : misc,
			      swapped ? __builtin_bswap16(size) : size };
}

/* In the other byte order, bit fields begin at the other end of each byte. */
static uint64_t flags_of(bool swapped, const uint8_t *p)
{
	uint64_t v = us_get_le64(p), turned = 0;
	for (unsigned i = 0; i < 64 && swapped; i++)
		turned |= (v >> i & 1) << (i / 8 * 8 + 7 - i % 8);
	return swapped ? turned : v;
}

/* What is left of a record. */
struct rest {
	const uint8_t *at, *end;
	bool swapped, failed;
};

static struct rest rest_of(const struct us_perf_file *f, const uint8_t *record,
			   size_t size)
{
	return (struct rest){ record + RECORD_HEAD, record + size, f->swapped, false };
}

static uint64_t take_u64(struct rest *r)
{
	if (r->end - r->at < 8) {
		r->failed = true;
		return 0;
	}
	r->at += 8;
	return get_u64(r->swapped, r->at - 8);
}

static uint32_t take_u32(struct rest *r)
{
	if (r->end - r->at < 4) {
		r->failed = true;
		return 0;
	}
	r->at += 4;
	return get_u32(r->swapped, r->at - 4);
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

/* The upper half of a config says which kind of CPU of a hybrid processor counts. */
static uint64_t counted_by(uint32_t kind, uint64_t config)
{
	bool hybrid = kind == PERF_TYPE_HARDWARE || kind == PERF_TYPE_HW_CACHE;
	return hybrid ? (uint32_t)config : config;
}

static uint32_t event_number(const struct us_perf_file *f, uint32_t kind,
			     uint64_t config)
{
	uint32_t last = 0;
	for (size_t i = 0; i < f->n_event; i++) {
		if (f->event[i].kind == kind && f->event[i].config == config)
			return f->event[i].number;
		last = f->event[i].number > last ? f->event[i].number : last;
	}
	return last + 1;
}

static uint8_t time_from_end(uint64_t flags, uint64_t sample_type)
{
	if (!(flags & SAMPLE_ID_ALL) || !(sample_type & PERF_SAMPLE_TIME))
		return 0;
	return (uint8_t)(8 * __builtin_popcountll(sample_type & FROM_TIME));
}

/* An event's description, with n bytes left; *ret_size: the size that it claims. */
static int add_event(struct us_perf_file *f, const uint8_t *p, size_t n,
		     uint32_t *ret_size)
{
	if (n < ATTR_LEAST)
		return bad(f, p, "an event that is too short");
	*ret_size = get_u32(f->swapped, p + 4);
	*ret_size = *ret_size ? *ret_size : ATTR_LEAST;
	if (*ret_size < ATTR_LEAST || *ret_size > n)
		return bad(f, p, "an event with an impossible size");
	if (f->n_event == US_PERF_MAX_EVENTS)
		return bad(f, p, "too many events");
	uint32_t kind = get_u32(f->swapped, p);
	uint64_t config = counted_by(kind, get_u64(f->swapped, p + 8));
	uint32_t number = event_number(f, kind, config);
	uint64_t flags = flags_of(f->swapped, p + 40);
	uint64_t sample_type = get_u64(f->swapped, p + 24);
	f->event[f->n_event++] = (struct us_perf_event){
		.kind = kind,
		.number = number,
		.config = config,
		.period = get_u64(f->swapped, p + 16),
		.sample_type = sample_type,
		.read_format = get_u64(f->swapped, p + 32),
		.freq = flags & FREQUENCY,
		.time_from_end = time_from_end(flags, sample_type),
	};
	f->indexed = false;
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
	f->indexed = false;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct us_perf_id *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static uint8_t id_at(const struct us_perf_event *event)
{
	if (event->sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(event->sample_type & PERF_SAMPLE_ID))
		return NO_ID;
	return (uint8_t)(8 * __builtin_popcountll(event->sample_type & BEFORE_ID));
}

/* Their samples need no ID to be told apart: they are the same. */
static bool are_alike(const struct us_perf_event *a, const struct us_perf_event *b)
{
	return a->number == b->number && a->sample_type == b->sample_type &&
	       a->read_format == b->read_format;
}

/* What all samples of the file have in common, as long as no event is added. */
static void index_events(struct us_perf_file *f)
{
	bool same_place = true;
	f->alike = f->same_end = f->ends_with_id = true;
	f->id_at = id_at(&f->event[0]);
	for (size_t i = 0; i < f->n_event; i++) {
		const struct us_perf_event *event = &f->event[i];
		same_place &= id_at(event) == f->id_at;
		f->alike &= are_alike(event, &f->event[0]);
		f->same_end &= event->time_from_end == f->event[0].time_from_end;
		f->ends_with_id &= (event->sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
	}
	if (!same_place)
		f->id_at = NO_ID;
	if (f->n_id)
		qsort(f->ids, f->n_id, sizeof(*f->ids), by_id);
	f->indexed = true;
}

static const struct us_perf_event *event_with_id(const struct us_perf_file *f,
						 uint64_t id)
{
	const struct us_perf_id key = { id, 0 };
	const struct us_perf_id *found =
		f->n_id ? bsearch(&key, f->ids, f->n_id, sizeof(key), by_id) : NULL;
	return found ? &f->event[found->event] : NULL;
}

/* Which fields a sample has depends on its event; so its ID is at one place in all. */
static int event_of(struct us_perf_file *f, const uint8_t *record, struct rest r,
		    const struct us_perf_event **ret)
{
	if (!f->indexed && f->n_event > 1)
		index_events(f);
	*ret = f->n_event ? &f->event[0] : NULL;
	if (f->n_event > 1 && f->id_at != NO_ID) {
		skip(&r, f->id_at);
		*ret = event_with_id(f, take_u64(&r));
	} else if (f->n_event > 1 && !f->alike) {
		return bad(f, record,
			   "a sample that does not say which event it is of");
	}
	return *ret ? 0 : bad(f, record, "a sample of an event that was not described");
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

/* Fields in the kernel's order. */
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
	struct rest r = rest_of(f, record, size);
	const struct us_perf_event *event;
	int rc = event_of(f, record, r, &event);
	if (rc)
		return rc;
	*ret = (struct us_perf_sample){
		.mode = head_of(f->swapped, record).misc &
			PERF_RECORD_MISC_CPUMODE_MASK,
		.swapped = f->swapped,
	};
	take_sample(&r, event, ret);
	return r.failed ? bad(f, record, "a sample that is too short for its fields")
			: 0;
}

int us_perf_again(struct us_perf_file *f, const uint8_t *record,
		  struct us_perf_sample *ret)
{
	return sample_of(f, record, head_of(f->swapped, record).size, ret);
}

/* When a record was made that is no sample.  perf leaves the time of those 0 that it
 * makes up itself, of what was there before. */
static uint64_t time_of(struct us_perf_file *f, const uint8_t *record, size_t size)
{
	if (!f->n_event || size < RECORD_HEAD + 8)
		return 0;
	if (!f->indexed)
		index_events(f);
	const struct us_perf_event *event = &f->event[0];
	if (!f->same_end)
		event = f->ends_with_id ? event_with_id(f, get_u64(f->swapped,
								   record + size - 8))
					: NULL;
	if (!event || !event->time_from_end ||
	    size < RECORD_HEAD + (size_t)event->time_from_end)
		return 0;
	uint64_t time = get_u64(f->swapped, record + size - event->time_from_end);
	return time == UINT64_MAX ? 0 : time;
}

static int mapping(struct us_perf_file *f, const uint8_t *record, struct head h,
		   struct rest *r, const struct us_perf_ops *ops, void *ctx)
{
	uint32_t type = h.type;
	uint16_t misc = h.misc;
	struct us_perf_mapping m = {
		.time_ns = time_of(f, record, h.size),
		.mode = misc & PERF_RECORD_MISC_CPUMODE_MASK,
		.executable = type == PERF_RECORD_MMAP2 ||
			      !(misc & PERF_RECORD_MISC_MMAP_DATA),
	};
	m.pid = take_u32(r);
	take_u32(r);
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
		return bad(f, r->at, "a mapping that is too short");
	return ops->mapping(ctx, &m);
}

static int comm(struct us_perf_file *f, const uint8_t *record, struct head h,
		struct rest *r, const struct us_perf_ops *ops, void *ctx)
{
	struct us_perf_comm c = { .time_ns = time_of(f, record, h.size),
				  .exec = h.misc & PERF_RECORD_MISC_COMM_EXEC };
	c.pid = take_u32(r);
	c.tid = take_u32(r);
	c.name = take_text(r);
	return r->failed ? bad(f, record, "a thread name that is too short")
			 : ops->comm(ctx, &c);
}

static int forked(struct us_perf_file *f, const uint8_t *record, struct head h,
		  struct rest *r, const struct us_perf_ops *ops, void *ctx)
{
	struct us_perf_fork k = { .time_ns = time_of(f, record, h.size),
				  .empty = h.misc & PERF_RECORD_MISC_FORK_EXEC };
	k.pid = take_u32(r);
	k.parent = take_u32(r);
	return r->failed ? bad(f, record, "a fork that is too short")
			 : ops->fork(ctx, &k);
}

static int packed(struct us_perf_file *f, const uint8_t *record, struct rest *r,
		  bool sized, const struct us_perf_ops *ops, void *ctx);

static int one_record(struct us_perf_file *f, struct head h, const uint8_t *record,
		      const struct us_perf_ops *ops, void *ctx)
{
	struct us_perf_sample s;
	struct rest r = rest_of(f, record, h.size);
	uint32_t attr_size;
	int rc = 0;
	switch (h.type) {
	case PERF_RECORD_SAMPLE:
		rc = sample_of(f, record, h.size, &s);
		return rc ? rc : ops->sample(ctx, &s, record);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return mapping(f, record, h, &r, ops, ctx);
	case PERF_RECORD_COMM:
		return comm(f, record, h, &r, ops, ctx);
	case PERF_RECORD_FORK:
		return forked(f, record, h, &r, ops, ctx);
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
	case COMPRESSED_SIZED:
		return packed(f, record, &r, h.type == COMPRESSED_SIZED, ops, ctx);
	default:
		return 0;
	}
}

/* Bytes that follow a record and are not part of its size. */
static uint64_t after(const struct us_perf_file *f, struct head h,
		      const uint8_t *record)
{
	if (h.type == HEADER_TRACING_DATA && h.size >= 12)
		return (get_u32(f->swapped, record + 8) + 7ULL) / 8 * 8;
	return h.type == AUXTRACE && h.size >= 16 ? get_u64(f->swapped, record + 8) : 0;
}

static int arch_of_record(struct us_perf_file *f, const uint8_t *record, size_t size,
			  const struct us_perf_ops *ops, void *ctx)
{
	struct rest r = rest_of(f, record, size);
	if (take_u64(&r) != FEATURE_ARCH)
		return 0;
	take_u32(&r);
	const char *name = take_text(&r);
	return r.failed ? 0 : ops->arch(ctx, name);
}

/* *at: the first incomplete record, or the end. */
static int records(struct us_perf_file *f, const uint8_t **at, const uint8_t *end,
		   const struct us_perf_ops *ops, void *ctx)
{
	while (end - *at >= (ptrdiff_t)RECORD_HEAD) {
		const uint8_t *record = *at;
		struct head h = head_of(f->swapped, record);
		uint64_t left = (uint64_t)(end - record);
		if (h.size < RECORD_HEAD)
			return bad(f, record, "a record with an impossible size");
		uint64_t more = h.size <= left ? after(f, h, record) : 0;
		if (h.size > left || more > left - h.size)
			break;
		int rc = h.type == HEADER_FEATURE
				 ? arch_of_record(f, record, h.size, ops, ctx)
				 : one_record(f, h, record, ops, ctx);
		if (rc)
			return rc;
		*at += h.size + more;
	}
	return 0;
}

/* Compressed data continue in the next such record, perhaps in the middle of a record.
 */
static int packed(struct us_perf_file *f, const uint8_t *record, struct rest *r,
		  bool sized, const struct us_perf_ops *ops, void *ctx)
{
	const uint8_t *at, *end;
	uint64_t n = sized ? take_u64(r) : (uint64_t)(r->end - r->at);
	if (f->packed)
		return bad(f, record, "a packed record in a packed one");
	if (r->failed || n > (uint64_t)(r->end - r->at))
		return bad(f, record, "a compressed record that is too short");
	int rc = us_perf_unpack(&f->unpack, r->at, (size_t)n, &at, &end, f->e);
	if (rc)
		return rc == -EBADMSG ? bad(f, record, "compressed, but not by zstd")
				      : rc;
	f->packed = record;
	rc = records(f, &at, end, ops, ctx);
	us_perf_unpack_keep(&f->unpack, at);
	f->packed = NULL;
	return rc;
}

static int all_records(struct us_perf_file *f, uint64_t from, uint64_t to,
		       const struct us_perf_ops *ops, void *ctx)
{
	const uint8_t *at = f->bytes + from, *end = f->bytes + to;
	int rc = records(f, &at, end, ops, ctx);
	f->cut |= at != end || us_perf_unpack_is_cut(&f->unpack);
	return rc;
}

/* ---- The file ---- */

static bool lies_in(const struct us_perf_file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->n && size <= f->n - offset;
}

static int events_of_file(struct us_perf_file *f)
{
	const uint8_t *p = f->bytes;
	uint64_t each = get_u64(f->swapped, p + 16), at = get_u64(f->swapped, p + 24);
	uint64_t size = get_u64(f->swapped, p + 32);
	if (each < ATTR_LEAST + 16 || each > 4096 || !lies_in(f, at, size))
		return bad(f, p + 16, "its events are not in the file");
	for (uint64_t end = at + size; end - at >= each; at += each) {
		uint32_t attr_size;
		const uint8_t *ids = p + at + each - 16;
		uint64_t id = get_u64(f->swapped, ids);
		uint64_t bytes = get_u64(f->swapped, ids + 8);
		int rc = add_event(f, p + at, each - 16, &attr_size);
		if (!rc && !lies_in(f, id, bytes))
			rc = bad(f, p + at, "an event's IDs are not in the file");
		for (; !rc && bytes >= 8; bytes -= 8, id += 8)
			rc = add_id(f, get_u64(f->swapped, p + id));
		if (rc)
			return rc;
	}
	return 0;
}

/* Words of 64 or of 32 bits?  perf always writes the host's name, so its bit shows
 * which. */
static uint64_t features_of(const struct us_perf_file *f)
{
	uint64_t bits = get_u64(f->swapped, f->bytes + 72);
	if (f->swapped && !(bits >> FEATURE_HOST & 1))
		bits = bits << 32 | bits >> 32;
	return bits;
}

bool us_perf_is_by_perf(const struct us_perf_file *f)
{
	return f->cut || f->n < FILE_HEAD ||
	       get_u64(f->swapped, f->bytes + 8) == PIPE_HEAD ||
	       features_of(f) >> FEATURE_HOST & 1;
}

/* From the sections after the data, which the header's bits announce. */
static int arch_of_file(struct us_perf_file *f, uint64_t sections,
			const struct us_perf_ops *ops, void *ctx)
{
	uint64_t bits = features_of(f);
	unsigned before = (unsigned)__builtin_popcountll(bits &
							 ((1U << FEATURE_ARCH) - 1));
	if (!(bits >> FEATURE_ARCH & 1) || !lies_in(f, sections, (before + 1) * 16ULL))
		return 0;
	const uint8_t *p = f->bytes + sections + before * 16ULL;
	uint64_t at = get_u64(f->swapped, p), size = get_u64(f->swapped, p + 8);
	if (!lies_in(f, at, size))
		return 0;
	struct rest r = { f->bytes + at, f->bytes + at + size, f->swapped, false };
	take_u32(&r);
	const char *name = take_text(&r);
	return r.failed ? 0 : ops->arch(ctx, name);
}

static int read_file(struct us_perf_file *f, const struct us_perf_ops *ops, void *ctx)
{
	uint64_t at = get_u64(f->swapped, f->bytes + 40);
	uint64_t size = get_u64(f->swapped, f->bytes + 48);
	int rc = events_of_file(f);
	if (rc)
		return rc;
	if (at > f->n)
		return bad(f, f->bytes + 40, "its data are not in the file");
	/* 0: perf was killed before it wrote the size. */
	f->cut = !size || size > f->n - at;
	uint64_t end = f->cut ? f->n : at + size;
	rc = f->cut ? 0 : arch_of_file(f, end, ops, ctx);
	return rc ? rc : all_records(f, at, end, ops, ctx);
}

int us_perf_read(struct us_perf_file *f, const struct us_perf_ops *ops, void *ctx,
		 struct us_err *e)
{
	f->e = e;
	f->swapped = f->n >= 8 && !memcmp(f->bytes, "2ELIFREP", 8);
	if (f->n < PIPE_HEAD || (!f->swapped && memcmp(f->bytes, "PERFILE2", 8) != 0)) {
		us_fail(e, -ENOEXEC, "import: this is not a perf.data file");
		return -ENOEXEC;
	}
	if (get_u64(f->swapped, f->bytes + 8) == PIPE_HEAD)
		return all_records(f, PIPE_HEAD, f->n, ops, ctx);
	if (f->n < FILE_HEAD)
		return bad(f, f->bytes, "it is cut in its header");
	return read_file(f, ops, ctx);
}

void us_perf_fini(struct us_perf_file *f)
{
	us_perf_unpack_fini(&f->unpack);
	free(f->ids);
	f->ids = NULL;
}
