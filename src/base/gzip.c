/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip.c: see gzip.h. */
#include "base/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/types.h>
#include <zlib.h>

#define BUFFER	  (64 * 1024)
#define GZIP	  16 /* added to the window's bits: with a header and a checksum */
#define FAST	  1  /* half as much again in size, a fourth of the time */
#define MEM_LEVEL 8  /* zlib's default */

int us_gzip_begin(struct us_gzip *g, FILE *out)
{
	*g = (struct us_gzip){
		.out = out,
		.z = calloc(1, sizeof(*g->z)),
		.buffer = malloc(BUFFER),
	};
	if (g->z && g->buffer &&
	    deflateInit2(g->z, FAST, Z_DEFLATED, MAX_WBITS + GZIP, MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) == Z_OK)
		return 0;
	free(g->z);
	free(g->buffer);
	*g = (struct us_gzip){ 0 };
	return -ENOMEM;
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
	while (n) {
		size_t part = n < INT_MAX ? n : INT_MAX;
		g->z->next_in = (unsigned char *)at; /* zlib only reads it */
		g->z->avail_in = (unsigned)part;
		deflate_all(g, Z_NO_FLUSH);
		at += part;
		n -= part;
	}
}

void us_gzip_numbers(struct us_gzip *g, bool are)
{
	/* What was written is packed as it was to be; there must be room for it. */
	deflate_all(g, Z_BLOCK);
	g->z->next_out = g->buffer;
	g->z->avail_out = BUFFER;
	deflateParams(g->z, FAST, are ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY);
	fwrite(g->buffer, 1, BUFFER - g->z->avail_out, g->out);
}

void us_gzip_end(struct us_gzip *g)
{
	deflate_all(g, Z_FINISH);
	deflateEnd(g->z);
	free(g->z);
	free(g->buffer);
	*g = (struct us_gzip){ 0 };
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
	setvbuf(f, NULL, _IOFBF, BUFFER);
	*ret = g;
	return f;
}
