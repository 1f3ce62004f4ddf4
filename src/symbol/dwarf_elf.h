/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwarf_elf.h: the ELF header that libelf is given in place of the file's own. */
#ifndef US_SYMBOL_DWARF_ELF_H
#define US_SYMBOL_DWARF_ELF_H

#include "symbol/elf_file.h"

#include <libelf.h>

/* Write the header to f's spare page, and open it with the file that follows as an Elf;
 * NULL: no DWARF, or the file was changed.  f must outlive it; elf_end() it. */
Elf *us_dwarf_elf(const struct us_elf_file *f);

/* Is some DWARF compressed, but not with zlib (usually zstd)?  libelf of Debian 12
 * cannot unpack that: us_dwarf_elf() leaves it out. */
bool us_dwarf_elf_unreadable(const struct us_elf_file *f);

#endif
