/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lz4.c: see lz4.h. */
#include "symbol/lz4.h"

#include <stdbool.h>
#include <string.h>

#define LEAST_MATCH 4U
#define MORE	    15U /* the length goes on in bytes that follow */

struct reader {
	const uint8_t *at, *end;
};

static bool read_length(struct reader *r, size_t *n)
{
	if (*n != MORE)
		return true;
	while (r->at < r->end) {
		uint8_t more = *r->at++;
		*n += more;
		if (more != 255)
			return true;
	}
	return false;
}

/* Bytes may repeat those that the same match has just made. */
static void repeat(uint8_t *to, size_t distance, size_t n)
{
	const uint8_t *from = to - distance;
	if (distance >= n) {
		memcpy(to, from, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

size_t us_lz4_block(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	struct reader r = { from, from + n };
	size_t made = 0;
	while (r.at < r.end) {
		size_t literals = *r.at >> 4, match = *r.at & MORE;
		r.at++;
		if (!read_length(&r, &literals) || literals > (size_t)(r.end - r.at) ||
		    literals > room - made)
			return SIZE_MAX;
		memcpy(to + made, r.at, literals);
		made += literals;
		r.at += literals;
		if (r.at == r.end) /* the last sequence has no match */
			return made;
		if (r.end - r.at < 2)
			return SIZE_MAX;
		size_t distance = r.at[0] | (size_t)r.at[1] << 8;
		r.at += 2;
		if (!read_length(&r, &match))
			return SIZE_MAX;
		match += LEAST_MATCH;
		if (!distance || distance > made || match > room - made)
			return SIZE_MAX;
		repeat(to + made, distance, match);
		made += match;
	}
	return SIZE_MAX;
}
