/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entry.h: the addresses at which a kernel may be entered.
 *
 * These are the ELF header's entry, as linked and as loaded; the entry of a multiboot
 * header (Multiboot Specification 0.6.96, 3.1.3) and those of a multiboot2 header (2.0,
 * 3.1.5 and on: one for each firmware); and Xen's PVH entry (XEN_ELFNOTE_PHYS32_ENTRY,
 * include/xen/interface/elfnote.h of Linux).  The loader chooses one of them: it is the
 * one that is executed first.
 */
#ifndef US_BOOT_ENTRY_H
#define US_BOOT_ENTRY_H

#include "backend/bpf/boot_shared.h"
#include "symbol/elf_file.h"

#define US_BOOT_MAX_ENTRY 7

/* Returns their number.  Those that only EFI firmware enters come last. */
size_t us_boot_entries(const struct us_elf_file *f, uint64_t ret[US_BOOT_MAX_ENTRY]);
/* The same without EFI's: those whose code says what the kernel calls first. */
size_t us_boot_entries_plain(const struct us_elf_file *f,
			     uint64_t ret[US_BOOT_MAX_ENTRY]);
/* Does it run at any address (PIE)? */
bool us_boot_is_anywhere(const struct us_elf_file *f);
/* The address range of its code. */
struct us_boot_code us_boot_code_of(const struct us_elf_file *f);

#endif
