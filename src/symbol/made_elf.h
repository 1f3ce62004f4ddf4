/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_elf.h: functions that are known by name and place alone, as an image like those
 * that are read from files.
 */
#ifndef US_SYMBOL_MADE_ELF_H
#define US_SYMBOL_MADE_ELF_H

#include "symbol/elf_image.h"

struct us_made_symbol {
	uint64_t address, size; /* size not 0 */
	const char *name;
};

/* An image of these functions, called path; its code is all of start to end.  The names
 * may go afterwards.  0, -ENOMEM, -E2BIG, or what memfd_create(2) and write(2) say. */
US_MUST_CHECK int us_made_elf_open(const char *path, const struct us_made_symbol *v,
				   size_t n, uint64_t start, uint64_t end,
				   struct us_elf_image **ret, struct us_err *e);

#endif
