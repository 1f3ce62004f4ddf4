/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c: see text.h. */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t us_utf8_len(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (u[0] < 0x80)
		return 1;
	size_t len = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	if (u[0] < 0xc2 || u[0] > 0xf4)
		return 0;
	uint32_t code = u[0] & (0xffU >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (u[i] & 0x3fU);
	}
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return len;
}

/* U+0080..9f controls, U+200e/f marks, U+202a..e and U+2066..9 overrides. */
static bool shows_as_itself(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	if (len == 1)
		return u[0] >= 0x20 && u[0] != 0x7f;
	if (len == 2)
		return !(u[0] == 0xc2 && u[1] < 0xa0);
	if (len == 3 && u[0] == 0xe2 && u[1] == 0x80)
		return u[2] != 0x8e && u[2] != 0x8f && !(u[2] >= 0xaa && u[2] <= 0xae);
	if (len == 3 && u[0] == 0xe2 && u[1] == 0x81)
		return !(u[2] >= 0xa6 && u[2] <= 0xa9);
	return true;
}

char *us_printable(char *dst, size_t size, const char *src)
{
	size_t at = 0;
	if (!size)
		return dst;
	while (*src) {
		size_t len = us_utf8_len(src);
		bool ok = len && shows_as_itself(src, len);
		size_t out = ok ? len : 1;
		if (at + out >= size)
			break;
		if (ok)
			memmove(dst + at, src, len);
		else
			dst[at] = '?';
		at += out;
		src += len ? len : 1;
	}
	dst[at] = '\0';
	return dst;
}

char *us_printable_inplace(char *s)
{
	return us_printable(s, strlen(s) + 1, s);
}
