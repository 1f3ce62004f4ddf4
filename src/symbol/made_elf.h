/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_elf.h: makes an image, like those from files, of functions that are known only
 * by name and address.
 */
#ifndef US_SYMBOL_MADE_ELF_H
#define US_SYMBOL_MADE_ELF_H

#include "symbol/elf_image.h"

struct us_made_symbol {
	uint64_t address, size; /* size not 0 */
	const char *name;
	bool local, weak; /* as of an ELF symbol; neither: global */
};

/* Sort them by address, and keep one for each.  Returns how many are left. */
size_t us_made_symbols_sort(struct us_made_symbol *v, size_t n);

/* Make an image of these functions with this path; its code is all of start to end.
 * The names may be freed afterwards.  0, -ENOMEM, -E2BIG, or an error of
 * memfd_create(2) or write(2). */
US_MUST_CHECK int us_made_elf_open(const char *path, const struct us_made_symbol *v,
				   size_t n, uint64_t start, uint64_t end,
				   struct us_elf_image **ret, struct us_err *e);

#endif
