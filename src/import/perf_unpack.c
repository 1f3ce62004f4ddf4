/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/perf_unpack.c: see perf_unpack.h. */
#include "import/perf_unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef US_HAVE_ZSTD
#include <zstd.h>
#endif

#define FIRST_ROOM (256U << 10)
#define MOST	   (64U << 20) /* from a record of 64 KiB; more is a zip bomb */

struct us_perf_piece {
	struct us_perf_piece *before;
	size_t n;
	uint8_t v[];
};

bool us_perf_unpack_is_cut(const struct us_perf_unpack *u)
{
	return u->kept != 0;
}

void us_perf_unpack_keep(struct us_perf_unpack *u, const uint8_t *at)
{
	if (u->last)
		u->kept = (size_t)(u->last->v + u->last->n - at);
}

#ifdef US_HAVE_ZSTD

static int no_memory(struct us_err *e)
{
	us_fail(e, -ENOMEM, "import: out of memory");
	return -ENOMEM;
}

static int too_large(struct us_err *e)
{
	us_fail(e, -EFBIG,
		"import: it decompresses to more than %u MiB in a record or %llu GiB "
		"in all",
		MOST >> 20, US_PERF_MAX_UNPACKED >> 30);
	us_hint(e, "perf inject -i perf.data -o unpacked.data");
	return -EFBIG;
}

/* A piece with this much room; it begins with what was kept of the one before. */
static struct us_perf_piece *begin(const struct us_perf_unpack *u, size_t room)
{
	struct us_perf_piece *p = malloc(sizeof(*p) + u->kept + room);
	if (!p)
		return NULL;
	p->before = u->last;
	p->n = u->kept;
	if (u->kept)
		memcpy(p->v, u->last->v + u->last->n - u->kept, u->kept);
	return p;
}

/* Decompress all the bytes; a full piece grows. */
static int fill(struct us_perf_unpack *u, struct us_perf_piece **p, size_t room,
		ZSTD_inBuffer *in, struct us_err *e)
{
	ZSTD_outBuffer out = { (*p)->v, (*p)->n + room, (*p)->n };
	for (;;) {
		size_t before = in->pos, had = out.pos;
		if (ZSTD_isError(ZSTD_decompressStream(u->zstd, &out, in)))
			return -EBADMSG;
		(*p)->n = out.pos;
		if (out.pos < out.size && in->pos == in->size)
			return 0;
		if (out.pos < out.size && in->pos == before && out.pos == had)
			return -EBADMSG;
		if (out.pos < out.size)
			continue; /* the next frame */
		if (out.size > MOST || u->bytes + out.size > US_PERF_MAX_UNPACKED)
			return too_large(e);
		struct us_perf_piece *more = realloc(*p, sizeof(*more) + 2 * out.size);
		if (!more)
			return no_memory(e);
		*p = more;
		out.dst = more->v;
		out.size *= 2;
	}
}

int us_perf_unpack(struct us_perf_unpack *u, const uint8_t *bytes, size_t n,
		   const uint8_t **ret, const uint8_t **ret_end, struct us_err *e)
{
	ZSTD_inBuffer in = { bytes, n, 0 };
	if (!u->zstd)
		u->zstd = ZSTD_createDCtx();
	struct us_perf_piece *p = u->zstd ? begin(u, FIRST_ROOM) : NULL;
	if (!p)
		return no_memory(e);
	int rc = fill(u, &p, FIRST_ROOM, &in, e);
	if (rc) {
		free(p);
		return rc;
	}
	struct us_perf_piece *fit = realloc(p, sizeof(*fit) + p->n);
	u->last = fit ? fit : p;
	u->bytes += u->last->n;
	u->kept = 0;
	*ret = u->last->v;
	*ret_end = u->last->v + u->last->n;
	return 0;
}

void us_perf_unpack_fini(struct us_perf_unpack *u)
{
	ZSTD_freeDCtx(u->zstd);
	while (u->last) {
		struct us_perf_piece *p = u->last;
		u->last = p->before;
		free(p);
	}
}

#else

int us_perf_unpack(struct us_perf_unpack *u, const uint8_t *bytes, size_t n,
		   const uint8_t **ret, const uint8_t **ret_end, struct us_err *e)
{
	(void)u;
	(void)bytes;
	(void)n;
	*ret = *ret_end = NULL;
	us_fail(e, -ENOTSUP,
		"import: the records are compressed (perf record -z), and uniscope was "
		"built without zstd");
	us_hint(e, "perf inject -i perf.data -o unpacked.data");
	return -ENOTSUP;
}

void us_perf_unpack_fini(struct us_perf_unpack *u)
{
	(void)u;
}

#endif
