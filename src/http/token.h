/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.h: a secret that stands in a server's URLs: who does not know it gets nothing.
 */
#ifndef US_HTTP_TOKEN_H
#define US_HTTP_TOKEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define US_HTTP_TOKEN_SIZE 33 /* 128 bits in hexadecimal, with the NUL */

/* By the kernel's random numbers. */
US_MUST_CHECK int us_http_token_make(char ret[static US_HTTP_TOKEN_SIZE],
				     struct us_err *e);
/* Is it the one?  How long that takes tells nothing of it.  given may be NULL. */
bool us_http_token_is(const char *token, const char *given);

/* A value of a URL's query, in which %2F stands for '/': dst gets what it means (size
 * bytes with the NUL).  False: it is too long, is not text (control characters; what is
 * no UTF-8), or a '%' stands for nothing. */
bool us_http_unescape(const char *raw, char *dst, size_t size);

#endif
