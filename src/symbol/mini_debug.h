/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mini_debug.h: the small symbol table that some distributions leave in stripped
 * programs: an ELF file, compressed with xz, in .gnu_debugdata (GDB's manual,
 * "Debugging information in a special section").  It has the symbols that .dynsym
 * lacks.
 */
#ifndef US_SYMBOL_MINI_DEBUG_H
#define US_SYMBOL_MINI_DEBUG_H

#include "symbol/elf_file.h"

#define US_MINI_DEBUG_MOST (64U << 20) /* bytes, unpacked */

/* 0; -ENOENT: f has none; -ENOTSUP: built without liblzma; -EBADMSG: damaged, or larger
 * than US_MINI_DEBUG_MOST. */
US_MUST_CHECK int us_mini_debug_open(const struct us_elf_file *f,
				     struct us_elf_file *ret, struct us_err *e);

#endif
