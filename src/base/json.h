/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h: write JSON to a stream; commas and escaping are taken care of.
 *
 *	struct us_json j = us_json_to(stdout);
 *	us_json_object(&j, NULL);
 *	us_json_u64(&j, "samples", n);
 *	us_json_end(&j);
 *
 * key is NULL inside an array and at the top.  Strings may be any bytes.  Control
 * characters, bidirectional controls and invalid UTF-8 are escaped: the output is
 * always valid, and safe to show on a terminal.  "<" is escaped too, so that the text
 * can stand inside an HTML script element.  Errors of the stream stay in the stream
 * (ferror).
 */
#ifndef US_BASE_JSON_H
#define US_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define US_JSON_DEPTH 32

struct us_json {
	FILE *out;
	unsigned depth;
	bool pretty;		      /* one line for each member */
	bool some[US_JSON_DEPTH + 1]; /* the container has a member already */
	char close[US_JSON_DEPTH + 1];
};

struct us_json us_json_to(FILE *out);
void us_json_object(struct us_json *j, const char *key);
void us_json_array(struct us_json *j, const char *key);
void us_json_end(struct us_json *j); /* closes the innermost container */
void us_json_str(struct us_json *j, const char *key,
		 const char *value); /* NULL: null */
void us_json_u64(struct us_json *j, const char *key, uint64_t value);
void us_json_double(struct us_json *j, const char *key, double value, int decimals);
/* value / 10^decimals, exactly. */
void us_json_fixed(struct us_json *j, const char *key, uint64_t value, int decimals);
/* An array of n numbers, as with us_json_fixed(), for many millions: values() writes n
 * of them to ret, beginning with number from. */
void us_json_column(struct us_json *j, const char *key, size_t n, int decimals,
		    void (*values)(void *ctx, size_t from, size_t n, uint64_t *ret),
		    void *ctx);
void us_json_bool(struct us_json *j, const char *key, bool value);
void us_json_hex(struct us_json *j, const char *key, uint64_t value); /* "0x..." */

#endif
