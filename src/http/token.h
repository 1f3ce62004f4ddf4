/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.h: a secret in a server's URLs: without it, a request gets nothing. */
#ifndef US_HTTP_TOKEN_H
#define US_HTTP_TOKEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define US_HTTP_TOKEN_SIZE 33 /* 128 bits in hexadecimal, with the NUL */

/* From the kernel's random numbers. */
US_MUST_CHECK int us_http_token_make(char ret[static US_HTTP_TOKEN_SIZE],
				     struct us_err *e);
/* Is it the token?  The time that this takes does not reveal how much is right.  given
 * may be NULL. */
bool us_http_token_is(const char *token, const char *given);

/* Only such values are taken: UTF-8 without control characters. */
bool us_http_is_text(const char *s);
/* Decode a value of a URL's query (%2F for '/') into dst, of size bytes with the NUL.
 * False: it is too long, not text (has control characters, or is not UTF-8), or has an
 * invalid '%'. */
bool us_http_unescape(const char *raw, char *dst, size_t size);

#endif
