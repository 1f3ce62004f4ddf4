/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * huffman.h: bytes as a block of deflate (RFC 1951) that says each by a code of its
 * own, short for those that occur often, and looks for no repetitions.
 *
 * For long lists of numbers, in which bytes repeat by chance only: as small as zlib
 * makes them, in a fifth of the time, for two bytes are packed in one step.  zlib can
 * leave out the search, too (Z_HUFFMAN_ONLY): an export of many samples then still
 * takes more than twice as long as a report as text.
 */
#ifndef US_BASE_HUFFMAN_H
#define US_BASE_HUFFMAN_H

#include <stddef.h>

#define US_HUFFMAN_MOST 65536			     /* bytes of a block */
#define US_HUFFMAN_ROOM (2 * US_HUFFMAN_MOST + 1024) /* what a block may take */

struct us_huffman;

struct us_huffman *us_huffman_open(void); /* NULL: out of memory */
void us_huffman_close(struct us_huffman *h);

/* n: at most US_HUFFMAN_MOST.  How many bytes it is: whole ones, so that other blocks
 * may be before it and behind; it is never the last of a stream.  The same each time.
 */
size_t us_huffman_pack(struct us_huffman *h, const void *bytes, size_t n,
		       unsigned char to[US_HUFFMAN_ROOM]);

#endif
