/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernels.h: a guest whose kernel was replaced by another while it was recorded.
 *
 * The fact "linux_changed" has, for each time, between which two moments that was, in
 * seconds, and is told again each time.  Names behind it are the next kernel's. Between
 * the two moments either may have run, and addresses of a kernel have no names.
 */
#ifndef US_PROFILE_KERNELS_H
#define US_PROFILE_KERNELS_H

#include <stdint.h>

#define US_KERNELS_MAX	   16
#define US_KERNELS_UNKNOWN UINT32_MAX

struct us_kernels {
	unsigned n; /* changes: kernels less one */
	uint64_t from_ns[US_KERNELS_MAX], until_ns[US_KERNELS_MAX];
};

/* What is no list of growing numbers, as of older recordings, is none. */
void us_kernels_parse(const char *fact, struct us_kernels *ret);
/* Which of them ran, from 0 on, or US_KERNELS_UNKNOWN. */
uint32_t us_kernels_at(const struct us_kernels *k, uint64_t t_ns);

#endif
