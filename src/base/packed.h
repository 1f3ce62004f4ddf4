/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packed.h: is a file compressed as a whole, so that users must unpack it first? */
#ifndef US_BASE_PACKED_H
#define US_BASE_PACKED_H

#include <stddef.h>
#include <string.h>

/* The program that unpacks what begins so; NULL: it is not compressed. */
static inline const char *us_unpacker(const void *bytes, size_t n)
{
	static const struct {
		const char *magic, *program;
		size_t n;
	} kinds[] = {
		{ "\x1f\x8b", "gunzip", 2 },
		{ "\x28\xb5\x2f\xfd", "unzstd", 4 },
		{ "\xfd\x37zXZ", "unxz", 5 },
		{ "BZh", "bunzip2", 3 },
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (n >= kinds[i].n && !memcmp(bytes, kinds[i].magic, kinds[i].n))
			return kinds[i].program;
	return NULL;
}

#endif
