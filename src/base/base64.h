/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base64.h: bytes as text (RFC 4648). */
#ifndef US_BASE_BASE64_H
#define US_BASE_BASE64_H

#include <stddef.h>
#include <stdio.h>

/* Write all bytes, padded, in one line without a newline.  Errors stay in the stream.
 */
void us_base64_write(FILE *out, const void *bytes, size_t n);

#endif
