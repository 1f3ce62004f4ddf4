/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_bytes.h: the bytes of a section, unpacked if it is compressed. */
#ifndef US_SYMBOL_ELF_BYTES_H
#define US_SYMBOL_ELF_BYTES_H

#include "symbol/elf_file.h"

struct us_elf_bytes {
	const uint8_t *at; /* in the file, or in owned */
	size_t size;
	uint8_t *owned; /* free() it */
};

/*
 * The section `name` of f, or its old form (".zdebug_*" for ".debug_*").  Compressed
 * ones (gABI, Elf64_Chdr, or "ZLIB" and a size) are unpacked to at most max bytes.
 * -ENOENT: no such section, or it has no bytes here; -EFBIG: larger than max; -EBADMSG:
 * malformed; -ENOTSUP: compressed, but not with zlib; -ENOMEM; or an error of
 * us_elf_file_need().
 */
int us_elf_bytes(const struct us_elf_file *f, const char *name, size_t max,
		 struct us_elf_bytes *ret);

#endif
