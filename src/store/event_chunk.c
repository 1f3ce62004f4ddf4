/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_chunk.c: see event_chunk.h. */
#include "store/event_chunk.h"

#include "store/varint.h"

#include <errno.h>
#include <stdlib.h>
#ifdef US_HAVE_ZSTD
#include <zstd.h>
#endif

#define LEVEL	   1 /* of zstd: it has to keep up with the guest */
#define KIND_SHIFT 61
#define CLOCK_BITS 41
#define CLOCK_MASK ((1ULL << CLOCK_BITS) - 1)
#define TIME_KIND  7
#define N_CLOCK	   3   /* of times, of pieces of messages, of the others */
#define RECORD_MAX 11U /* bytes: varints of 23 and of 42 bits */
#define HEAD_MAX   (US_VARINT_MAX + 1)
#define PLAIN_MAX  (US_CHUNK_WRITE_MAX - HEAD_MAX)
#define UNPACK_MAX (4U << 20) /* bytes of records, packed, that a reader takes */
#define FIRST_ROOM (64U << 10)

enum coding { CODING_PLAIN, CODING_ZSTD };

struct us_event_packer {
	uint8_t plain[PLAIN_MAX];
#ifdef US_HAVE_ZSTD
	ZSTD_CCtx *zstd;
#endif
};

struct us_event_unpacker {
	uint64_t *record;
	size_t room;
	uint8_t *plain; /* UNPACK_MAX, made when it is needed */
};

/* The tag has the kind in its lower bits: small numbers are short. */
static uint64_t tag_of(uint64_t record)
{
	return (record >> CLOCK_BITS << 3 | record >> KIND_SHIFT) & 0x7fffff;
}

static uint64_t record_of(uint64_t tag, uint64_t clock)
{
	return (tag & 7) << KIND_SHIFT | tag >> 3 << CLOCK_BITS | (clock & CLOCK_MASK);
}

static unsigned clock_of(uint64_t kind)
{
	return kind == TIME_KIND ? 1 : kind ? 0 : 2;
}

/* Clocks wrap around at CLOCK_BITS: take the shorter way. */
static uint64_t step_of(uint64_t from, uint64_t to)
{
	uint64_t up = (to - from) & CLOCK_MASK;
	return us_zigzag((int64_t)(up << (64 - CLOCK_BITS)) >> (64 - CLOCK_BITS));
}

int us_event_packer_new(struct us_event_packer **ret)
{
	struct us_event_packer *p = calloc(1, sizeof(*p));
	*ret = p;
	if (!p)
		return -ENOMEM;
#ifdef US_HAVE_ZSTD
	p->zstd = ZSTD_createCCtx();
#endif
	return 0;
}

void us_event_packer_free(struct us_event_packer *p)
{
#ifdef US_HAVE_ZSTD
	if (p)
		ZSTD_freeCCtx(p->zstd);
#endif
	free(p);
}

static size_t put_plain(struct us_event_packer *p, const uint64_t *record, size_t n,
			size_t *ret_taken)
{
	uint64_t clock[N_CLOCK] = { 0 };
	uint8_t *at = p->plain, *full = p->plain + PLAIN_MAX - RECORD_MAX;
	size_t i = 0;
	for (; i < n && at <= full; i++) {
		uint64_t *last = &clock[clock_of(record[i] >> KIND_SHIFT)];
		at = us_varint_put(at, tag_of(record[i]));
		at = us_varint_put(at, step_of(*last, record[i]));
		*last = record[i];
	}
	*ret_taken = i;
	return (size_t)(at - p->plain);
}

/* 0: compression failed, or does not save space. */
static size_t compress(struct us_event_packer *p, size_t n, uint8_t *dst, size_t room)
{
#ifdef US_HAVE_ZSTD
	size_t got = p->zstd ? ZSTD_compressCCtx(p->zstd, dst, room, p->plain, n, LEVEL)
			     : 0;
	return ZSTD_isError(got) || got >= n ? 0 : got;
#else
	(void)p, (void)n, (void)dst, (void)room;
	return 0;
#endif
}

size_t us_event_pack(struct us_event_packer *p, unsigned vcpu, const uint64_t *record,
		     size_t n, uint8_t payload[static US_CHUNK_WRITE_MAX],
		     size_t *ret_taken)
{
	uint8_t *at = us_varint_put(payload, vcpu);
	uint8_t *coding = at++;
	size_t plain = put_plain(p, record, n, ret_taken);
	size_t room = (size_t)(payload + US_CHUNK_WRITE_MAX - at);
	size_t packed = compress(p, plain, at, room);
	*coding = packed ? CODING_ZSTD : CODING_PLAIN;
	if (!packed)
		memcpy(at, p->plain, plain);
	return (size_t)(at - payload) + (packed ? packed : plain);
}

int us_event_unpacker_new(struct us_event_unpacker **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void us_event_unpacker_free(struct us_event_unpacker *u)
{
	if (!u)
		return;
	free(u->record);
	free(u->plain);
	free(u);
}

#ifdef US_HAVE_ZSTD
static int decompress(struct us_event_unpacker *u, const uint8_t **p, size_t *n)
{
	if (!u->plain)
		u->plain = malloc(UNPACK_MAX);
	if (!u->plain)
		return -ENOMEM;
	size_t got = ZSTD_decompress(u->plain, UNPACK_MAX, *p, *n);
	if (ZSTD_isError(got))
		return -EBADMSG;
	*p = u->plain;
	*n = got;
	return 0;
}
#else
static int decompress(struct us_event_unpacker *u, const uint8_t **p, size_t *n)
{
	(void)u, (void)p, (void)n;
	return -ENOTSUP;
}
#endif

static bool make_room(struct us_event_unpacker *u, size_t n)
{
	if (n < u->room)
		return true;
	size_t room = u->room ? 2 * u->room : FIRST_ROOM;
	uint64_t *v = realloc(u->record, room * sizeof(*v));
	if (!v)
		return false;
	u->record = v;
	u->room = room;
	return true;
}

static int get_plain(struct us_event_unpacker *u, const uint8_t *p, const uint8_t *end,
		     size_t *ret_n)
{
	uint64_t clock[N_CLOCK] = { 0 }, tag, step;
	size_t n = 0;
	for (; p < end; n++) {
		p = us_varint_get(p, end, &tag);
		p = us_varint_get(p, end, &step);
		if (!p || tag > 0x7fffff)
			return -EBADMSG;
		if (!make_room(u, n))
			return -ENOMEM;
		uint64_t *last = &clock[clock_of(tag & 7)];
		*last += (uint64_t)us_unzigzag(step);
		u->record[n] = record_of(tag, *last);
	}
	*ret_n = n;
	return 0;
}

int us_event_unpack(struct us_event_unpacker *u, const uint8_t *payload, size_t size,
		    unsigned *ret_vcpu, const uint64_t **ret, size_t *ret_n)
{
	const uint8_t *end = payload + size;
	uint64_t vcpu;
	const uint8_t *p = us_varint_get(payload, end, &vcpu);
	if (!p || p == end || vcpu >= US_MAX_VCPUS || *p > CODING_ZSTD ||
	    size > US_CHUNK_READ_MAX)
		return -EBADMSG;
	bool packed = *p++ == CODING_ZSTD;
	size_t n = (size_t)(end - p);
	int r = packed ? decompress(u, &p, &n) : n > UNPACK_MAX ? -EBADMSG : 0;
	if (r == 0)
		r = get_plain(u, p, p + n, ret_n);
	*ret_vcpu = (unsigned)vcpu;
	*ret = u->record;
	return r;
}
