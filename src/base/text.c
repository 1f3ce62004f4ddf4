/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c: see text.h. */
#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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
bool us_utf8_shows(const char *s, size_t len)
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
		bool ok = len && us_utf8_shows(src, len);
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

static bool is_plain(const char *s)
{
	static const char safe[] = "_@%+=:,./-";
	size_t len;
	for (; *s; s += len) {
		len = us_utf8_len(s);
		if (!len || !us_utf8_shows(s, len))
			return false;
		if (len == 1 && !isalnum((unsigned char)*s) && !strchr(safe, *s))
			return false;
	}
	return true;
}

/* Put s at dst[at] if that fits before the closing quote. */
static bool put(char *dst, size_t size, size_t *at, const char *s, size_t len)
{
	if (*at + len + 2 > size)
		return false;
	memcpy(dst + *at, s, len);
	*at += len;
	return true;
}

char *us_shell_word(char *dst, size_t size, const char *src)
{
	static const char quote[] = "'\\''";
	size_t at = 0, len;
	bool plain = *src && is_plain(src), ok = size >= 3;
	if (!plain)
		ok = ok && put(dst, size, &at, "'", 1);
	if (*src == '-')
		ok = ok && put(dst, size, &at, "./", 2);
	for (; ok && *src; src += len) {
		char shown[5];
		len = us_utf8_len(src) ? us_utf8_len(src) : 1;
		snprintf(shown, sizeof(shown), "%.*s", (int)len, src);
		us_printable_inplace(shown);
		ok = *src == '\'' ? put(dst, size, &at, quote, sizeof(quote) - 1)
				  : put(dst, size, &at, shown, strlen(shown));
	}
	if (!plain && at)
		dst[at++] = '\'';
	if (size)
		dst[at] = '\0';
	return dst;
}

char *us_printable_inplace(char *s)
{
	return us_printable(s, strlen(s) + 1, s);
}

uint32_t us_utf8_code(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	uint32_t code = len > 1 ? u[0] & (0xffU >> (len + 1)) : u[0];
	for (size_t i = 1; i < len; i++)
		code = code << 6 | (u[i] & 0x3fU);
	return code;
}

/* Unicode 15: EastAsianWidth.txt (W, F) and marks, joined where all between are. */
static const struct {
	uint32_t from, to;
	unsigned columns;
} widths[] = {
	{ 0x0300, 0x036f, 0 },	 { 0x0483, 0x0489, 0 },	  { 0x0591, 0x05bd, 0 },
	{ 0x064b, 0x065f, 0 },	 { 0x1100, 0x115f, 2 },	  { 0x1ab0, 0x1aff, 0 },
	{ 0x1dc0, 0x1dff, 0 },	 { 0x200b, 0x200d, 0 },	  { 0x20d0, 0x20ff, 0 },
	{ 0x231a, 0x231b, 2 },	 { 0x23e9, 0x23ec, 2 },	  { 0x25fd, 0x25fe, 2 },
	{ 0x2614, 0x2615, 2 },	 { 0x2648, 0x2653, 2 },	  { 0x26aa, 0x26ab, 2 },
	{ 0x26bd, 0x26be, 2 },	 { 0x26c4, 0x26c5, 2 },	  { 0x2705, 0x2705, 2 },
	{ 0x270a, 0x270b, 2 },	 { 0x2728, 0x2728, 2 },	  { 0x274c, 0x274c, 2 },
	{ 0x2753, 0x2755, 2 },	 { 0x2795, 0x2797, 2 },	  { 0x2b1b, 0x2b1c, 2 },
	{ 0x2e80, 0x303e, 2 },	 { 0x3041, 0x4dbf, 2 },	  { 0x4e00, 0xa4cf, 2 },
	{ 0xa960, 0xa97f, 2 },	 { 0xac00, 0xd7a3, 2 },	  { 0xf900, 0xfaff, 2 },
	{ 0xfe00, 0xfe0f, 0 },	 { 0xfe20, 0xfe2f, 0 },	  { 0xfe30, 0xfe6f, 2 },
	{ 0xff01, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },	  { 0x16fe0, 0x18aff, 2 },
	{ 0x1b000, 0x1b2ff, 2 }, { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
	{ 0x1f900, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 }, { 0xe0100, 0xe01ef, 0 },
};

static size_t step(const char *s)
{
	size_t len = us_utf8_len(s);
	return len ? len : 1;
}

static size_t columns_of(const char *s)
{
	if ((unsigned char)*s < 0x80)
		return 1;
	uint32_t code = us_utf8_code(s, step(s));
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (code <= widths[i].to)
			return code >= widths[i].from ? widths[i].columns : 1;
	return 1;
}

size_t us_columns(const char *s)
{
	size_t n = 0;
	for (; *s; s += step(s))
		n += columns_of(s);
	return n;
}

/* How many bytes at the beginning of s fit in width columns and size bytes. */
static size_t head(const char *s, size_t size, size_t width)
{
	size_t at = 0, used = 0;
	while (s[at]) {
		size_t len = step(s + at), wide = columns_of(s + at);
		if (used + wide > width || at + len > size)
			break;
		used += wide;
		at += len;
	}
	return at;
}

/* Where the longest end of s begins that fits in width columns and size bytes. */
static const char *tail(const char *s, size_t size, size_t width)
{
	size_t left = us_columns(s), bytes = strlen(s);
	while (*s && (left > width || bytes > size)) {
		left -= columns_of(s);
		bytes -= step(s);
		s += step(s);
	}
	while (*s && !columns_of(s)) /* marks of what was left out */
		s += step(s);
	return s;
}

#define ELLIPSIS "\xe2\x80\xa6"

/* s becomes its first bytes, an ellipsis, and end. */
static char *join(char *s, size_t size, size_t width, size_t first, const char *end)
{
	if (!width || first + strlen(ELLIPSIS) + strlen(end) >= size) {
		s[0] = '\0';
		return s;
	}
	memmove(s + first + strlen(ELLIPSIS), end, strlen(end) + 1);
	memcpy(s + first, ELLIPSIS, strlen(ELLIPSIS));
	return s;
}

char *us_shorten_middle(char *s, size_t size, size_t width)
{
	size_t room = size > strlen(ELLIPSIS) ? size - strlen(ELLIPSIS) - 1 : 0;
	if (us_columns(s) <= width)
		return s;
	size_t first = head(s, room / 2, width / 2);
	size_t left = width ? width - 1 - width / 2 : 0;
	return join(s, size, width, first, tail(s, room - first, left));
}

char *us_shorten_left(char *s, size_t size, size_t width)
{
	size_t room = size > strlen(ELLIPSIS) ? size - strlen(ELLIPSIS) - 1 : 0;
	if (us_columns(s) <= width)
		return s;
	const char *end = tail(s, room, width ? width - 1 : 0);
	const char *slash = strchr(end, '/');
	return join(s, size, width, 0, slash && slash[1] ? slash : end);
}

/* A figure and its "%" stay together. */
static bool may_break(const char *at)
{
	return at[0] == ' ' && at[1] != '%';
}

size_t us_wrap_length(const char *s, size_t width)
{
	size_t most = head(s, strlen(s), width), at = most;
	if (!most)
		return *s ? step(s) : 0;
	while (s[most] && at && !may_break(s + at))
		at--;
	return s[most] && at ? at : most;
}

char *us_put_u64(char *p, uint64_t n, unsigned least)
{
	char digits[20];
	unsigned k = 0;
	for (; n || k < least; n /= 10)
		digits[k++] = (char)('0' + n % 10);
	while (k)
		*p++ = digits[--k];
	return p;
}

void us_append(char *dst, size_t size, const char *fmt, ...)
{
	size_t at = strlen(dst);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(dst + at, size - at, fmt, ap);
	va_end(ap);
}

char *us_regex_of(char *dst, size_t size, const char *text)
{
	size_t n = 0;
	for (; *text; text++) {
		bool special = strchr("\\^$.[]|()*+?{}", *text) != NULL;
		if (n + special + 1 >= size)
			break;
		if (special)
			dst[n++] = '\\';
		dst[n++] = *text;
	}
	dst[n] = '\0';
	return dst;
}
