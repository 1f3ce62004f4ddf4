/* SPDX-License-Identifier: GPL-2.0-or-later */
/* huffman.c: see huffman.h.  Names in capitals are those of RFC 1951, 3.2. */
#include "base/huffman.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define END	    256 /* the symbol that ends a block */
#define SYMBOLS	    (END + 1)
#define NODES	    (2 * SYMBOLS)
#define LONGEST	    13 /* bits of a symbol: two have less than 27; 15 are allowed */
#define LENGTHS	    19 /* symbols that encode lengths */
#define LENGTH_MOST 7
#define DISTANCES   2  /* as many as zlib writes if there are none */
#define TREES	    2  /* type of a block that has its own codes */
#define PAIR_LENGTH 27 /* a pair's bits are below this, their number above */
#define ZEROS_FEW   17 /* 3 to 10 zeros */
#define ZEROS_MANY  18 /* 11 to 138 */

struct code {
	uint16_t bits; /* the first to be written is the lowest */
	uint8_t n;
};

struct us_huffman {
	struct code code[SYMBOLS];
	uint32_t pair[65536]; /* the pairs that occur; the first byte is the lower */
};

struct bits {
	unsigned char *at;
	uint64_t held;
	unsigned n; /* less than 8 between steps */
};

struct us_huffman *us_huffman_open(void)
{
	return malloc(sizeof(struct us_huffman));
}

void us_huffman_close(struct us_huffman *h)
{
	free(h);
}

/* At most 56 at a time. */
static inline void put(struct bits *b, uint64_t bits, unsigned n)
{
	b->held |= bits << b->n;
	b->n += n;
	uint64_t out = htole64(b->held);
	memcpy(b->at, &out, sizeof(out));
	b->at += b->n / 8;
	b->held >>= b->n & ~7U;
	b->n %= 8;
}

/* ---- Codes ---- */

/* Nodes of the tree: first the symbols that occur; the last entry is no node. */
struct tree {
	uint32_t count[NODES + 1];
	uint16_t above[NODES + 1]; /* 0: none yet */
	unsigned n;
};

/* The node that occurs least among those without a parent; the first of several. */
static unsigned least(const struct tree *t)
{
	unsigned found = NODES;
	for (unsigned i = 0; i < t->n; i++)
		if (!t->above[i] && t->count[i] < t->count[found])
			found = i;
	return found;
}

/* Set the lengths with Huffman's algorithm.  Returns the longest. */
static unsigned set_lengths(const uint32_t *count, unsigned n, struct code *code)
{
	struct tree t = { .count[NODES] = UINT32_MAX };
	unsigned longest = 0;
	for (unsigned i = 0; i < n; i++)
		if (count[i])
			t.count[t.n++] = count[i];
	for (unsigned joined = t.n; joined > 1; joined--) {
		unsigned one = least(&t);
		t.above[one] = (uint16_t)t.n;
		unsigned two = least(&t);
		t.above[two] = (uint16_t)t.n;
		t.count[t.n++] = t.count[one] + t.count[two];
	}
	for (unsigned i = 0, k = 0; i < n; i++) {
		code[i].n = 0;
		if (!count[i])
			continue;
		for (unsigned at = k++; t.above[at]; at = t.above[at])
			code[i].n++;
		longest = code[i].n > longest ? code[i].n : longest;
	}
	return longest;
}

static uint16_t reversed(unsigned bits, unsigned n)
{
	unsigned out = 0;
	for (; n--; bits >>= 1)
		out = out << 1 | (bits & 1);
	return (uint16_t)out;
}

/* Make codes from counts, at least two of which are not 0.  Counts are flattened until
 * no code is longer than most. */
static void make_codes(uint32_t *count, unsigned n, unsigned most, struct code *code)
{
	unsigned next = 0;
	while (set_lengths(count, n, code) > most)
		for (unsigned i = 0; i < n; i++)
			count[i] = count[i] / 2 + (count[i] & 1);
	for (unsigned len = 1; len <= most; len++, next <<= 1)
		for (unsigned i = 0; i < n; i++)
			if (code[i].n == len)
				code[i].bits = reversed(next++, len);
}

/* ---- The codes, ahead of the bytes ---- */

struct said {
	struct {
		uint8_t symbol, more; /* more: beyond the fewest zeros */
	} v[SYMBOLS + DISTANCES];
	unsigned n;
	uint32_t count[LENGTHS];
};

static void say(struct said *s, unsigned symbol, unsigned more)
{
	s->v[s->n].symbol = (uint8_t)symbol;
	s->v[s->n++].more = (uint8_t)more;
	s->count[symbol]++;
}

static void say_lengths(struct said *s, const struct code *code)
{
	for (unsigned i = 0, zeros; i < SYMBOLS; i += zeros ? zeros : 1) {
		for (zeros = 0; i + zeros < SYMBOLS && !code[i + zeros].n; zeros++)
			if (zeros == 138)
				break;
		if (zeros > 10)
			say(s, ZEROS_MANY, zeros - 11);
		else if (zeros > 2)
			say(s, ZEROS_FEW, zeros - 3);
		else
			zeros = 0;
		if (!zeros)
			say(s, code[i].n, 0);
	}
	for (unsigned i = 0; i < DISTANCES; i++)
		say(s, 1, 0);
}

static void put_trees(struct bits *b, const struct code *code)
{
	static const uint8_t order[LENGTHS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
						11, 4,	12, 3, 13, 2, 14, 1, 15 };
	struct said s = { 0 };
	struct code by[LENGTHS];
	say_lengths(&s, code);
	make_codes(s.count, LENGTHS, LENGTH_MOST, by);
	put(b, TREES << 1, 3); /* not the last */
	put(b, SYMBOLS - 257, 5);
	put(b, DISTANCES - 1, 5);
	put(b, LENGTHS - 4, 4);
	for (unsigned i = 0; i < LENGTHS; i++)
		put(b, by[order[i]].n, 3);
	for (unsigned i = 0; i < s.n; i++) {
		unsigned symbol = s.v[i].symbol;
		put(b, by[symbol].bits, by[symbol].n);
		if (symbol >= ZEROS_FEW)
			put(b, s.v[i].more, symbol == ZEROS_FEW ? 3 : 7);
	}
}

/* ---- The bytes ---- */

/* Four counts in turn: a count that was just written is slow to read. */
static void count_bytes(const unsigned char *bytes, size_t n, uint32_t count[SYMBOLS])
{
	uint32_t part[4][END] = { 0 };
	size_t i = 0;
	for (; i + 4 <= n; i += 4)
		for (unsigned k = 0; k < 4; k++)
			part[k][bytes[i + k]]++;
	for (; i < n; i++)
		part[0][bytes[i]]++;
	for (unsigned k = 0; k < END; k++)
		count[k] = part[0][k] + part[1][k] + part[2][k] + part[3][k];
	count[END] = 1;
}

static void make_pairs(struct us_huffman *h)
{
	unsigned char byte[END];
	unsigned n = 0;
	for (unsigned i = 0; i < END; i++)
		if (h->code[i].n)
			byte[n++] = (unsigned char)i;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++) {
			struct code a = h->code[byte[i]], b = h->code[byte[k]];
			h->pair[byte[i] | byte[k] << 8] = a.bits |
							  (uint32_t)b.bits << a.n |
							  (uint32_t)(a.n + b.n)
								  << PAIR_LENGTH;
		}
}

static uint32_t pair_of(const struct us_huffman *h, const unsigned char *bytes)
{
	return h->pair[bytes[0] | bytes[1] << 8];
}

static void put_bytes(const struct us_huffman *h, struct bits *ret,
		      const unsigned char *p, size_t n)
{
	const uint32_t below = (1U << PAIR_LENGTH) - 1;
	struct bits b = *ret;
	size_t i = 0;
	for (; i + 4 <= n; i += 4) {
		uint32_t one = pair_of(h, p + i), two = pair_of(h, p + i + 2);
		unsigned n_one = one >> PAIR_LENGTH, n_two = two >> PAIR_LENGTH;
		put(&b, (one & below) | (uint64_t)(two & below) << n_one,
		    n_one + n_two);
	}
	for (; i < n; i++)
		put(&b, h->code[p[i]].bits, h->code[p[i]].n);
	put(&b, h->code[END].bits, h->code[END].n);
	*ret = b;
}

/* An empty stored block: what follows begins at a whole byte. */
static void put_even(struct bits *b)
{
	static const unsigned char nothing[] = { 0, 0, 0xff, 0xff };
	put(b, 0, 3);
	put(b, 0, (8 - b->n) % 8);
	memcpy(b->at, nothing, sizeof(nothing));
	b->at += sizeof(nothing);
}

size_t us_huffman_pack(struct us_huffman *h, const void *bytes, size_t n,
		       unsigned char to[US_HUFFMAN_ROOM])
{
	uint32_t count[SYMBOLS];
	struct bits b = { .at = to };
	if (!n)
		return 0;
	count_bytes(bytes, n, count);
	make_codes(count, SYMBOLS, LONGEST, h->code);
	make_pairs(h);
	put_trees(&b, h->code);
	put_bytes(h, &b, bytes, n);
	put_even(&b);
	return (size_t)(b.at - to);
}
