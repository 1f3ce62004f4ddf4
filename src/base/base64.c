/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base64.c: see base64.h. */
#include "base/base64.h"

#include <stdint.h>

void us_base64_write(FILE *out, const void *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
				     "wxyz0123456789+/";
	const unsigned char *at = bytes;
	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t v = (uint32_t)at[i] << 16;
		v |= left > 1 ? (uint32_t)at[i + 1] << 8 : 0;
		v |= left > 2 ? at[i + 2] : 0;
		fputc(digits[v >> 18], out);
		fputc(digits[v >> 12 & 63], out);
		fputc(left > 1 ? digits[v >> 6 & 63] : '=', out);
		fputc(left > 2 ? digits[v & 63] : '=', out);
	}
}
