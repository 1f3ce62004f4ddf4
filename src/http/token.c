/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.c: see token.h. */
#include "http/token.h"

#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int us_http_token_make(char ret[static US_HTTP_TOKEN_SIZE], struct us_err *e)
{
	uint8_t bytes[(US_HTTP_TOKEN_SIZE - 1) / 2];
	ssize_t n;
	do
		n = getrandom(bytes, sizeof(bytes), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(bytes))
		return us_fail(e, n < 0 ? -errno : -EIO,
			       "make a token: the kernel provides no random numbers");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool us_http_token_is(const char *token, const char *given)
{
	size_t n = strlen(token);
	unsigned char differs = 0;
	if (!given || strlen(given) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(token[i] ^ given[i]);
	return !differs;
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) % 16 : -1;
}

bool us_http_is_text(const char *s)
{
	for (size_t n; *s; s += n) {
		n = us_utf8_len(s);
		if (!n || (unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	}
	return true;
}

bool us_http_unescape(const char *raw, char *dst, size_t size)
{
	size_t n = 0;
	for (; *raw; raw++) {
		int c = *raw;
		if (c == '%') {
			int high = digit(raw[1]), low = high < 0 ? -1 : digit(raw[2]);
			if (low < 0)
				return false;
			c = high << 4 | low;
			raw += 2;
		}
		if (!c || n + 1 >= size)
			return false;
		dst[n++] = (char)c;
	}
	if (n >= size)
		return false;
	dst[n] = '\0';
	return us_http_is_text(dst);
}
