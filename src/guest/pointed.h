/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pointed.h: what a pointer leads to that each CPU of a guest has, copied at a sample.
 *
 * Where captures do not hold the guest, its memory has moved on when they are read;
 * what is to be true of the sample has to be copied when that is taken.  Who copies
 * knows nothing of the guest's kernel: the plan says where from.
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
	uint32_t number; /* not 0: tells what was copied by this plan */
	uint32_t n;
	/* aarch64: of the kernel's own tables, by which all of this is read; 0: by
	 * those of the sample. */
	uint64_t root_upper;
	struct us_pointed_part {
		uint32_t offset;
		/* 0: from where the CPU's pointer leads; else from where the pointer
		 * leads that is the first word of part of - 1, which stands before;
		 * US_POINTED_NOT: this part is not wanted. */
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
