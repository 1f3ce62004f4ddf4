/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link-code.h: code of aarch64 and RISC-V in link-guest.h's memory, and what a
 * processor says of the exception that it has entered. */
#ifndef US_TEST_LINK_CODE_H
#define US_TEST_LINK_CODE_H

#include "link-guest.h"

static inline void words(us_gva at, const uint32_t *code, size_t n)
{
	memcpy(ram + at, code, n * 4);
}
#define CODE(at, ...)                                                                  \
	words(at, (const uint32_t[]){ __VA_ARGS__ },                                   \
	      sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

static inline void halves(us_gva at, const uint16_t *code, size_t n)
{
	memcpy(ram + at, code, n * 2);
}
#define HALVES(at, ...)                                                                \
	halves(at, (const uint16_t[]){ __VA_ARGS__ },                                  \
	       sizeof((const uint16_t[]){ __VA_ARGS__ }) / 2)

static inline uint32_t jal(us_gva from, us_gva to)
{
	uint32_t d = (uint32_t)(to - from);
	return (d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
	       (d >> 12 & 0xff) << 12 | 1 << 7 | 0x6f;
}
#define JAL(from, to) jal(from, to) & 0xffff, jal(from, to) >> 16

static inline void symbol(us_gva at)
{
	start[map.n++] = at;
	us_unwinder_set_code(unwinder, &map, &cfi);
}

/* A function of the map.  Ascending. */
#define WORDS(at, ...)                                                                 \
	function(at, (const char *)(const uint32_t[]){ __VA_ARGS__ },                  \
		 sizeof((const uint32_t[]){ __VA_ARGS__ }))

/* What the guest's processor has where it keeps the return from an exception. */
static struct us_entered entered;

static inline bool read_entered(void *ctx, struct us_entered *ret)
{
	(void)ctx;
	*ret = entered;
	return entered.valid;
}

#endif
