/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * huffman.h: compresses bytes to a block of deflate (RFC 1951) with Huffman codes
 * alone: frequent bytes get short codes, and repetitions are not searched for.
 *
 * It is for long lists of numbers, in which bytes repeat by chance only.  The result is
 * as small as zlib's, in a fifth of the time, because two bytes are packed in one step.
 * zlib can leave out the search, too (Z_HUFFMAN_ONLY), but an export of many samples
 * then still takes more than twice as long as a report as text.
 */
#ifndef US_BASE_HUFFMAN_H
#define US_BASE_HUFFMAN_H

#include <stddef.h>

#define US_HUFFMAN_MOST 65536			     /* bytes of a block */
#define US_HUFFMAN_ROOM (2 * US_HUFFMAN_MOST + 1024) /* most bytes of a result */

struct us_huffman;

struct us_huffman *us_huffman_open(void); /* NULL: out of memory */
void us_huffman_close(struct us_huffman *h);

/* Compress n bytes, at most US_HUFFMAN_MOST, and return the size of the block.  It is
 * whole bytes long, so that other blocks can come before and after it, and is never
 * marked as the last of a stream.  The same input gives the same bytes. */
size_t us_huffman_pack(struct us_huffman *h, const void *bytes, size_t n,
		       unsigned char to[US_HUFFMAN_ROOM]);

#endif
