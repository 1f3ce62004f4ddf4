/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pointed.h: copies, at a sample, of what a per-CPU pointer of the guest leads to.
 *
 * If captures do not hold the guest, its memory has changed by the time it is read.
 * What has to be true of the sample must be copied when the sample is taken.  The
 * copying code knows nothing of the guest's kernel: the plan says from where to copy.
 *
 * Compiled for the host's kernel, too: fixed widths, no pointers.
 */
#ifndef US_GUEST_POINTED_H
#define US_GUEST_POINTED_H

#include <stdint.h>

#define US_POINTED_PARTS 10
#define US_POINTED_WORDS 2 /* of 8 bytes, in each part */
#define US_POINTED_NOT	 UINT16_MAX

struct us_pointed_plan {
	uint32_t number; /* not 0: identifies this plan's copies */
	uint32_t n;
	/* aarch64: root of the kernel's own page tables, used for all these reads; 0:
	 * use the sample's. */
	uint64_t root_upper;
	struct us_pointed_part {
		uint32_t offset;
		/* Where offset counts from.  0: the target of the CPU's pointer; else
		 * the target of the pointer in the first word of part of - 1, which
		 * comes earlier; US_POINTED_NOT: this part is not wanted. */
		uint16_t of, pad;
	} part[US_POINTED_PARTS];
};

struct us_pointed {
	uint32_t plan; /* its number; 0: nothing was copied */
	uint32_t has;  /* bit n: part n was read */
	uint64_t at;   /* the CPU's pointer, a us_gva */
	uint64_t part[US_POINTED_PARTS][US_POINTED_WORDS];
};

#endif
