/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/kernels.c: see kernels.h. */
#include "profile/kernels.h"

#include <stdbool.h>
#include <stdlib.h>

#define MOST_S 1e9

/* A number of seconds, not less than least_ns. */
static bool take(const char **at, uint64_t least_ns, uint64_t *ret)
{
	char *end;
	double s = strtod(*at, &end);
	if (end == *at || !(s >= 0 && s < MOST_S))
		return false;
	*at = end;
	*ret = (uint64_t)(s * 1e9 + 0.5);
	return *ret >= least_ns;
}

void us_kernels_parse(const char *fact, struct us_kernels *ret)
{
	uint64_t least_ns = 0;
	ret->n = 0;
	for (unsigned n = 0; fact && n < US_KERNELS_MAX; n++) {
		if (!take(&fact, least_ns, &ret->from_ns[n]) ||
		    !take(&fact, ret->from_ns[n], &ret->until_ns[n]))
			return;
		least_ns = ret->until_ns[n];
		ret->n = n + 1;
	}
}

uint32_t us_kernels_at(const struct us_kernels *k, uint64_t t_ns)
{
	uint32_t n = 0;
	while (n < k->n && k->until_ns[n] <= t_ns)
		n++;
	return n < k->n && k->from_ns[n] <= t_ns ? US_KERNELS_UNKNOWN : n;
}
