/* SPDX-License-Identifier: GPL-2.0-or-later */
/* build_id.h: the ID that a linker gives to its output (ld(1), --build-id). */
#ifndef US_SYMBOL_BUILD_ID_H
#define US_SYMBOL_BUILD_ID_H

#include "symbol/elf_file.h"

#define US_BUILD_ID_MOST 64 /* bytes; SHA-1 has 20 */

struct us_build_id {
	const uint8_t *bytes; /* the file's */
	size_t len;	      /* 0: it has none */
	uint64_t addr;	      /* address in the file, once loaded; 0: not loaded */
};

void us_build_id_read(const struct us_elf_file *f, struct us_build_id *ret);

#endif
