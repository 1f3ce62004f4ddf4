/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kallsyms_find.h: finds the parts of a kallsyms table by their form. */
#ifndef US_LINUX_KALLSYMS_FIND_H
#define US_LINUX_KALLSYMS_FIND_H

#include "linux/image.h"

#include <string.h>

struct us_kallsyms_parts {
	us_gva index_at, table_at, num_at;
	const char *token[256]; /* each ends with a NUL */
	uint8_t token_len[256];
	const uint8_t *markers; /* n_marker numbers of marker_size bytes */
	size_t n_marker;
	unsigned marker_size; /* 4; 8 before 4.20 */
	const uint8_t *names;
	size_t names_size; /* bytes up to the markers, padding included */
	size_t n;
	uint64_t work; /* what the search may still cost: a hostile guest could make it
			  read the same bytes again and again */
};

/* 0, or -ENOENT. Points into the image. */
int us_kallsyms_find_parts(struct us_linux_image *i, struct us_kallsyms_parts *ret);

static inline uint32_t us_kallsyms_marker(const struct us_kallsyms_parts *p, size_t i)
{
	uint32_t v; /* the upper half of a larger one is 0 */
	memcpy(&v, p->markers + p->marker_size * i, sizeof(v));
	return v;
}

/* *ret: the length of the name at `at`.  Returns the size of the length field, 1 or 2
 * bytes (big symbols); 0: the name would not end within size. */
static inline size_t us_kallsyms_length(const uint8_t *names, size_t size, size_t at,
					size_t *ret)
{
	size_t head = 1;
	if (at >= size)
		return 0;
	*ret = names[at];
	if (*ret & 0x80) {
		if (size - at < 2)
			return 0;
		*ret = (*ret & 0x7f) | (size_t)names[at + 1] << 7;
		head = 2;
	}
	return *ret && *ret <= size - at - head ? head : 0;
}

#endif
