/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orc_elf.h: the ORC tables of a Linux kernel's ELF file, as rules for the unwinder. */
#ifndef US_LINUX_ORC_ELF_H
#define US_LINUX_ORC_ELF_H

#include "symbol/elf_file.h"
#include "symbol/elf_image.h"
#include "unwind/cfi.h"

/* At the file's addresses.  sym: its functions, sorted by address.  -ENOENT: it has
 * none (only vmlinux has); -ENOMEM. */
int us_orc_elf_read(const struct us_elf_file *f, const struct us_elf_symbol *sym,
		    size_t n_sym, struct us_cfi_table **ret);

#endif
