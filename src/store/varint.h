/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * varint.h: integers as stored in the file.
 *
 * A varint is an unsigned number in groups of 7 bits, low group first, with the top bit
 * set in every byte but the last (LEB128, DWARF 5 section 7.6).  A signed number is
 * zigzag-encoded first, so that small ones of either sign are short: 0, -1, 1, -2, 2
 * become 0, 1, 2, 3, 4.  Fixed integers are little-endian.
 */
#ifndef US_STORE_VARINT_H
#define US_STORE_VARINT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define US_VARINT_MAX 10 /* bytes of a 64-bit number */

static inline uint64_t us_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t us_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

/* Write v at p, which has space for US_VARINT_MAX bytes; returns the byte after it. */
static inline uint8_t *us_varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Read a varint at p, before end; returns the byte after it, or NULL if it is truncated
 * or has more than 64 bits.  p may be NULL, so that reads can be chained and checked
 * once. */
static inline const uint8_t *us_varint_get(const uint8_t *p, const uint8_t *end,
					   uint64_t *ret)
{
	*ret = 0;
	if (!p)
		return NULL;
	for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
		uint64_t byte = *p++;
		if (shift == 63 && byte > 1)
			return NULL;
		*ret |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return p;
	}
	return NULL;
}

static inline void us_put_le32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void us_put_le64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t us_get_le32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t us_get_le64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

#endif
