/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * first.h: which function is a kernel's first, where none has a usual name: what its
 * entry calls first.
 *
 * Of what is called, or jumped to, that counts which is the very start of a function of
 * the image.  The best is the first that a line table has in a source that is no
 * assembly; then the first function that is called; then a label.  What a branch may
 * skip, or 32-bit code calls in an image of 64-bit code, is worse than what is sure.
 */
#ifndef US_BOOT_FIRST_H
#define US_BOOT_FIRST_H

#include "boot/entry_path.h"
#include "boot/plan.h"

enum us_boot_rank {
	US_RANK_NONE,
	US_RANK_LABEL,	  /* in assembly, or without a type */
	US_RANK_FUNCTION, /* but perhaps it is not called */
	US_RANK_CALLED,	  /* no better one is looked for from here on */
	US_RANK_SOURCE,
};

struct us_boot_first {
	struct us_symbols *symbols;
	const struct us_elf_image *kernel;
	uint64_t bias; /* of its addresses */
	/* What was found. */
	enum us_boot_rank rank;
	char name[US_BOOT_NAME];
	uint64_t address[2]; /* as linked, with the bias; as loaded */
	size_t n_address;
};

void us_boot_first_init(struct us_boot_first *f, struct us_symbols *s,
			const struct us_elf_image *kernel, uint64_t bias);
/* Has the kernel any symbol of a function? */
bool us_boot_first_can(const struct us_boot_first *f);
/* This is called; later calls are offered later.  True: look no further. */
bool us_boot_first_offer(struct us_boot_first *f, const struct us_boot_call *c);
/* By the image's code alone. */
void us_boot_first_follow(struct us_boot_first *f);

#endif
