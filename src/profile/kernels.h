/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernels.h: a guest whose kernel was replaced while it was recorded.
 *
 * The fact "linux_changed" has, for each replacement, the two moments between which it
 * happened, in seconds.  The recording repeats the fact at each replacement.  Names
 * after it belong to the next kernel.  Between the two moments either kernel may have
 * run, so kernel addresses have no names.
 */
#ifndef US_PROFILE_KERNELS_H
#define US_PROFILE_KERNELS_H

#include <stdint.h>

#define US_KERNELS_MAX	   16
#define US_KERNELS_UNKNOWN UINT32_MAX

struct us_kernels {
	unsigned n; /* replacements: number of kernels - 1 */
	uint64_t from_ns[US_KERNELS_MAX], until_ns[US_KERNELS_MAX];
};

/* Anything but a list of growing numbers, as in older recordings, gives n = 0. */
void us_kernels_parse(const char *fact, struct us_kernels *ret);
/* Which kernel ran, from 0, or US_KERNELS_UNKNOWN. */
uint32_t us_kernels_at(const struct us_kernels *k, uint64_t t_ns);

#endif
