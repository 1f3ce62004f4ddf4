/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entry.h: where a kernel may be entered.
 *
 * The ELF header's entry, as it is linked and where it is loaded; that of a multiboot
 * header (Multiboot Specification 0.6.96, 3.1.3) and of Xen's PVH
 * (XEN_ELFNOTE_PHYS32_ENTRY, include/xen/interface/elfnote.h of Linux).  Which of them
 * is taken is the loader's choice: the first that is executed was it.
 */
#ifndef US_BOOT_ENTRY_H
#define US_BOOT_ENTRY_H

#include "backend/bpf/boot_shared.h"
#include "symbol/elf_file.h"

#define US_BOOT_MAX_ENTRY 4

/* How many there are. */
size_t us_boot_entries(const struct us_elf_file *f, uint64_t ret[US_BOOT_MAX_ENTRY]);
/* Does it run wherever it is loaded (PIE)? */
bool us_boot_is_anywhere(const struct us_elf_file *f);
/* Where its code lies. */
struct us_boot_code us_boot_code_of(const struct us_elf_file *f);

#endif
