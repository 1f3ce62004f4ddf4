/* SPDX-License-Identifier: GPL-2.0-or-later */
/* payload.c: see payload.h. */
#include "symbol/payload.h"

#include "base/cleanup.h"
#include "symbol/lz4.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#ifdef US_HAVE_LZMA
#include <lzma.h>
#endif
#ifdef US_HAVE_ZSTD
#include <zstd.h>
#endif

#define PIECE	     65536U
#define MEMORY	     (256U << 20) /* of a decoder at most */
#define SECTOR	     512U
#define BZIMAGE_LAST 0x250U /* what is read of its header ends there */

/* Bytes in the file; those after the stream are ignored. */
struct packed {
	const uint8_t *bytes;
	size_t n;
};

static uint32_t number(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Unpacked bytes are written to fd; their number may differ from what the file says. */
struct unpacked {
	int fd;
	size_t n;
	uint8_t piece[PIECE];
};

static bool put(struct unpacked *u, size_t n)
{
	u->n += n;
	return u->n <= US_PAYLOAD_MOST && write(u->fd, u->piece, n) == (ssize_t)n;
}

static int from_gzip(struct packed p, struct unpacked *u)
{
	z_stream s = { .next_in = (Bytef *)(uintptr_t)p.bytes, .avail_in = (uInt)p.n };
	if (inflateInit2(&s, 16 + MAX_WBITS) != Z_OK)
		return -ENOMEM;
	int r = Z_OK;
	while (r == Z_OK) {
		s.next_out = u->piece;
		s.avail_out = PIECE;
		r = inflate(&s, Z_NO_FLUSH);
		if ((r == Z_OK || r == Z_STREAM_END) && !put(u, PIECE - s.avail_out))
			r = Z_DATA_ERROR;
	}
	inflateEnd(&s);
	return r == Z_STREAM_END ? 0 : -EBADMSG;
}

static int from_xz(struct packed p, struct unpacked *u)
{
#ifdef US_HAVE_LZMA
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&s, MEMORY, 0);
	s.next_in = p.bytes;
	s.avail_in = p.n;
	while (r == LZMA_OK) {
		s.next_out = u->piece;
		s.avail_out = PIECE;
		r = lzma_code(&s, LZMA_RUN);
		if ((r == LZMA_OK || r == LZMA_STREAM_END) &&
		    !put(u, PIECE - s.avail_out))
			r = LZMA_DATA_ERROR;
	}
	lzma_end(&s);
	return r == LZMA_STREAM_END ? 0 : -EBADMSG;
#else
	(void)p;
	(void)u;
	return -ENOTSUP;
#endif
}

static int from_zstd(struct packed p, struct unpacked *u)
{
#ifdef US_HAVE_ZSTD
	ZSTD_DStream *d = ZSTD_createDStream();
	ZSTD_inBuffer in = { p.bytes, p.n, 0 };
	size_t left = 1;
	if (!d)
		return -ENOMEM;
	while (left && !ZSTD_isError(left)) {
		ZSTD_outBuffer out = { u->piece, PIECE, 0 };
		size_t before = in.pos;
		left = ZSTD_decompressStream(d, &out, &in);
		bool moves = out.pos || in.pos != before;
		if (!ZSTD_isError(left) && (!moves || !put(u, out.pos)))
			break;
	}
	ZSTD_freeDStream(d);
	return left ? -EBADMSG : 0;
#else
	(void)p;
	(void)u;
	return -ENOTSUP;
#endif
}

/* The total number of bytes follows the last block. */
static int from_lz4(struct packed p, struct unpacked *u)
{
	_cleanup_free_ uint8_t *block = malloc(US_LZ4_BLOCK);
	if (!block)
		return -ENOMEM;
	for (size_t at = 4; p.n - at > 4;) {
		size_t size = number(p.bytes + at), n;
		at += 4;
		if (size > p.n - at)
			break;
		n = us_lz4_block(p.bytes + at, size, block, US_LZ4_BLOCK);
		if (n == SIZE_MAX)
			return -EBADMSG;
		u->n += n;
		if (u->n > US_PAYLOAD_MOST || write(u->fd, block, n) != (ssize_t)n)
			return -EBADMSG;
		at += size;
	}
	return u->n ? 0 : -EBADMSG;
}

static const struct form {
	const char *magic;
	size_t n;
	int (*unpack)(struct packed p, struct unpacked *u);
} forms[] = {
	{ "\x1f\x8b\x08", 3, from_gzip },
	{ "\xfd"
	  "7zXZ\0",
	  6, from_xz },
	{ "\x28\xb5\x2f\xfd", 4, from_zstd },
	{ "\x02\x21\x4c\x18", 4, from_lz4 },
};

static const struct form *form_of(struct packed p)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (p.bytes && p.n > forms[i].n &&
		    !memcmp(p.bytes, forms[i].magic, forms[i].n))
			return &forms[i];
	return NULL;
}

/* The bytes from `from` on, at most n, as far as p has them. */
static struct packed part(struct packed p, uint64_t from, uint64_t n)
{
	if (from >= p.n)
		return (struct packed){ 0 };
	return (struct packed){ p.bytes + from, n < p.n - from ? n : p.n - from };
}

static bool has(struct packed p, size_t at, const char *text)
{
	size_t n = strlen(text);
	return p.n > at + n && !memcmp(p.bytes + at, text, n);
}

static struct packed payload_of(struct packed p)
{
	if (p.n > BZIMAGE_LAST && has(p, 0x202, "HdrS")) {
		uint32_t sectors = p.bytes[0x1f1] ? p.bytes[0x1f1] : 4;
		return part(p,
			    (sectors + 1) * SECTOR + (uint64_t)number(p.bytes + 0x248),
			    number(p.bytes + 0x24c));
	}
	if (p.n > 16 && has(p, 0, "MZ") && has(p, 4, "zimg"))
		return part(p, number(p.bytes + 8), number(p.bytes + 12));
	return p;
}

int us_payload_unpack(const uint8_t *bytes, size_t n)
{
	struct packed all = { bytes, n }, p = payload_of(all);
	const struct form *form = form_of(p);
	if (!form || p.n > UINT32_MAX)
		return p.bytes == bytes ? -ENOENT : -ENOTSUP;
	_cleanup_free_ struct unpacked *u = malloc(sizeof(*u));
	_cleanup_close_ int fd = memfd_create("payload", MFD_CLOEXEC);
	if (!u || fd < 0)
		return -ENOMEM;
	u->fd = fd;
	u->n = 0;
	int r = form->unpack(p, u);
	return r < 0 ? r : us_take_fd(fd);
}
