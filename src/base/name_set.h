/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_set.h: a set of names, numbered from 0 in the order in which they came. */
#ifndef US_BASE_NAME_SET_H
#define US_BASE_NAME_SET_H

#include "base/pair_map.h"

struct us_name_set {
	char **v;
	size_t n, cap;
	struct us_pair_map of; /* (hash, k) to number + 1 */
};

#define US_NAME_NONE UINT32_MAX /* out of memory */

/* The number of a name.  A new name is copied. */
uint32_t us_name_set_at(struct us_name_set *s, const char *name);
void us_name_set_fini(struct us_name_set *s); /* accepts a zeroed one */

#endif
