/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * byte_cursor.h: read little-endian numbers from bytes that may end too soon.
 *
 * A read past the end gives 0, sets bad and leaves nothing to read.  It is enough to
 * check bad once, after several reads.
 */
#ifndef US_SYMBOL_BYTE_CURSOR_H
#define US_SYMBOL_BYTE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct us_cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline size_t us_cursor_left(const struct us_cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline void us_cursor_spoil(struct us_cursor *c)
{
	c->bad = true;
	c->at = c->end;
}

/* n bytes, zero-extended; n is at most 8. */
static inline uint64_t us_cursor_fixed(struct us_cursor *c, size_t n)
{
	uint64_t v = 0;
	if (us_cursor_left(c) < n) {
		us_cursor_spoil(c);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)c->at[i] << 8 * i;
	c->at += n;
	return v;
}

static inline uint8_t us_cursor_u8(struct us_cursor *c)
{
	return (uint8_t)us_cursor_fixed(c, 1);
}

/* n bytes, sign-extended; n is 1 to 8. */
static inline int64_t us_cursor_signed(struct us_cursor *c, size_t n)
{
	unsigned drop = 64 - 8 * (unsigned)n;
	return (int64_t)(us_cursor_fixed(c, n) << drop) >> drop;
}

/* LEB128 (DWARF 5, 7.6).  What does not fit in 64 bits is cut off. */
static inline uint64_t us_cursor_leb(struct us_cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	while (c->at < c->end) {
		uint8_t byte = *c->at++;
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (is_signed && (byte & 0x40) && shift < 64)
			v |= ~0ULL << shift;
		return v;
	}
	us_cursor_spoil(c);
	return 0;
}

static inline uint64_t us_cursor_uleb(struct us_cursor *c)
{
	return us_cursor_leb(c, false);
}

static inline int64_t us_cursor_sleb(struct us_cursor *c)
{
	return (int64_t)us_cursor_leb(c, true);
}

/* The next n bytes as a cursor of their own. */
static inline struct us_cursor us_cursor_take(struct us_cursor *c, uint64_t n)
{
	struct us_cursor part = { c->end, c->end, true };
	if (us_cursor_left(c) < n) {
		us_cursor_spoil(c);
		return part;
	}
	part = (struct us_cursor){ c->at, c->at + n, false };
	c->at += n;
	return part;
}

/* A NUL-terminated string; NULL if it does not end. */
static inline const char *us_cursor_string(struct us_cursor *c)
{
	const char *s = (const char *)c->at;
	const uint8_t *nul = us_cursor_left(c) ? memchr(c->at, 0, us_cursor_left(c))
					       : NULL;
	if (!nul) {
		us_cursor_spoil(c);
		return NULL;
	}
	c->at = nul + 1;
	return s;
}

#endif
