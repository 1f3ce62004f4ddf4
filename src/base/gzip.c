/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip.c: see gzip.h. */
#include "base/gzip.h"

#include "base/huffman.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <zlib.h>

#define PIECE	  US_HUFFMAN_MOST
#define BUFFER	  US_HUFFMAN_ROOM
#define FAST	  1 /* half as much again in size, a fourth of the time */
#define MEM_LEVEL 8 /* zlib's default */

/* Magic, deflate, no flags, no time, packed fast, Unix. */
static const unsigned char header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3 };

static void free_all(struct us_gzip *g)
{
	us_huffman_close(g->h);
	free(g->z);
	free(g->buffer);
	*g = (struct us_gzip){ 0 };
}

int us_gzip_begin(struct us_gzip *g, FILE *out)
{
	*g = (struct us_gzip){
		.out = out,
		.z = calloc(1, sizeof(*g->z)),
		.h = us_huffman_open(),
		.buffer = malloc(BUFFER),
	};
	if (!g->z || !g->h || !g->buffer ||
	    deflateInit2(g->z, FAST, Z_DEFLATED, -MAX_WBITS, MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free_all(g);
		return -ENOMEM;
	}
	fwrite(header, 1, sizeof(header), out);
	return 0;
}

static void deflate_all(struct us_gzip *g, int flush)
{
	do {
		g->z->next_out = g->buffer;
		g->z->avail_out = BUFFER;
		deflate(g->z, flush);
		fwrite(g->buffer, 1, BUFFER - g->z->avail_out, g->out);
	} while (!g->z->avail_out);
}

void us_gzip_write(struct us_gzip *g, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	for (size_t part; n; at += part, n -= part) {
		part = n < PIECE ? n : PIECE;
		g->crc = (uint32_t)crc32(g->crc, at, (unsigned)part);
		g->n += (uint32_t)part;
		if (g->numbers) {
			fwrite(g->buffer, 1, us_huffman_pack(g->h, at, part, g->buffer),
			       g->out);
			continue;
		}
		g->z->next_in = (unsigned char *)at; /* zlib only reads it */
		g->z->avail_in = (unsigned)part;
		deflate_all(g, Z_NO_FLUSH);
	}
}

void us_gzip_numbers(struct us_gzip *g, bool are)
{
	if (are == g->numbers)
		return;
	g->numbers = are;
	if (are) /* flush to a whole byte, where other blocks may begin */
		deflate_all(g, Z_SYNC_FLUSH);
	else /* zlib must not refer back to its last bytes: others came after them */
		deflateReset(g->z);
}

void us_gzip_end(struct us_gzip *g)
{
	us_gzip_numbers(g, false);
	deflate_all(g, Z_FINISH);
	deflateEnd(g->z);
	uint32_t end[] = { htole32(g->crc), htole32(g->n) };
	fwrite(end, 1, sizeof(end), g->out);
	free_all(g);
}

static ssize_t pack(void *cookie, const char *bytes, size_t n)
{
	us_gzip_write(cookie, bytes, n);
	return (ssize_t)n;
}

static int end(void *cookie)
{
	us_gzip_end(cookie);
	free(cookie);
	return 0;
}

FILE *us_gzip_stream(FILE *out, struct us_gzip **ret)
{
	struct us_gzip *g = calloc(1, sizeof(*g));
	if (!g || us_gzip_begin(g, out)) {
		free(g);
		return NULL;
	}
	FILE *f = fopencookie(g, "w",
			      (cookie_io_functions_t){ .write = pack, .close = end });
	if (!f) {
		end(g);
		return NULL;
	}
	setvbuf(f, NULL, _IOFBF, PIECE);
	*ret = g;
	return f;
}
