/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gzip.h: write a gzip member (RFC 1952) to a stream, piece by piece.
 *
 *	struct us_gzip z;
 *	if (us_gzip_begin(&z, out)) ... out of memory ...
 *	us_gzip_write(&z, bytes, n);
 *	us_gzip_end(&z);
 *
 * Errors of the stream stay in the stream (ferror).  The bytes are the same each time.
 */
#ifndef US_BASE_GZIP_H
#define US_BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct z_stream_s;
struct us_huffman;

struct us_gzip {
	FILE *out;
	struct z_stream_s *z;
	struct us_huffman *h;
	unsigned char *buffer;
	uint32_t crc, n; /* of all bytes written so far, for the trailer */
	bool numbers;
};

int us_gzip_begin(struct us_gzip *g, FILE *out); /* 0 or -ENOMEM */
void us_gzip_write(struct us_gzip *g, const void *bytes, size_t n);
/* Say that the bytes from here on are, or are no longer, large pieces in which bytes
 * repeat by chance only, such as lists of numbers.  They are compressed by the
 * frequency of each byte (huffman.h). */
void us_gzip_numbers(struct us_gzip *g, bool are);
void us_gzip_end(struct us_gzip *g); /* writes what is left, and frees */

/* A stream that compresses what is written to it and passes the result to out.  Its
 * fclose() writes the rest to out, which stays open.  *ret belongs to the stream: for
 * us_gzip_numbers(), after an fflush().  NULL: out of memory. */
FILE *us_gzip_stream(FILE *out, struct us_gzip **ret);

#endif
