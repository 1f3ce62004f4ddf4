/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * first.h: finds a kernel's first function, if none has a usual name: the first one
 * that the entry calls.
 *
 * Only targets of calls and jumps at the very start of a function of the image count.
 * The best is the first one that a line table maps to a source file other than
 * assembly.  Next is the first function that is called, and then a label.  A call that
 * a branch may skip, or that 32-bit code of a 64-bit image makes, ranks lower than a
 * certain one.
 */
#ifndef US_BOOT_FIRST_H
#define US_BOOT_FIRST_H

#include "boot/entry_path.h"
#include "boot/plan.h"

enum us_boot_rank {
	US_RANK_NONE,
	US_RANK_LABEL,	  /* in assembly, or without a type */
	US_RANK_FUNCTION, /* perhaps not called */
	US_RANK_CALLED,	  /* from here on, the search ends */
	US_RANK_SOURCE,
};

struct us_boot_first {
	struct us_symbols *symbols;
	const struct us_elf_image *kernel;
	uint64_t bias; /* added to its addresses */
	/* Result: */
	enum us_boot_rank rank;
	char name[US_BOOT_NAME];
	uint64_t address[2]; /* as linked, plus the bias; as loaded */
	size_t n_address;
};

void us_boot_first_init(struct us_boot_first *f, struct us_symbols *s,
			const struct us_elf_image *kernel, uint64_t bias);
/* Does the kernel have a symbol of a function? */
bool us_boot_first_can(const struct us_boot_first *f);
/* Offer a call; in order of execution.  True: no need to look further. */
bool us_boot_first_offer(struct us_boot_first *f, const struct us_boot_call *c);
/* Find it from the image's code alone. */
void us_boot_first_follow(struct us_boot_first *f);

#endif
