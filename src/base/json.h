/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h: write JSON to a stream, commas and escaping taken care of.
 *
 *	struct us_json j = us_json_to(stdout);
 *	us_json_object(&j, NULL);
 *	us_json_u64(&j, "samples", n);
 *	us_json_end(&j);
 *
 * key is NULL inside an array and at the top.  Strings may be any bytes: control
 * characters, what turns the direction of writing, and what is not UTF-8 are escaped,
 * so that the output is always valid, and may be shown by a terminal.  "<" is written
 * as an escape too, so that the text can stand inside an HTML script element.  Errors
 * of the stream stay in the stream (ferror).
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
	bool pretty;		      /* a line for each member */
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
/* An array of n of these, for many millions: values() gives some of them, from the
 * from-th on. */
void us_json_column(struct us_json *j, const char *key, size_t n, int decimals,
		    void (*values)(void *ctx, size_t from, size_t n, uint64_t *ret),
		    void *ctx);
void us_json_bool(struct us_json *j, const char *key, bool value);
void us_json_hex(struct us_json *j, const char *key, uint64_t value); /* "0x..." */

#endif
