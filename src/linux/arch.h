/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arch.h: where Linux puts its code in the address space, by architecture
 * (Documentation/arch/x86/x86_64/mm.rst, arch/arm64/memory.rst,
 * arch/riscv/vm-layout.rst).
 */
#ifndef US_LINUX_ARCH_H
#define US_LINUX_ARCH_H

#include "guest/regs.h"

struct us_linux_arch {
	enum us_arch arch;
	us_gva linked_at; /* address of _text without KASLR; 0: depends on the build */
	uint64_t slide_most;		   /* bytes; a larger slide is not trusted */
	us_gva modules_start, modules_end; /* code outside is not a module's */
	const char *top_table; /* the symbol of the kernel's own page tables */
	bool upper;	       /* they map only the upper half (TTBR1_EL1) */
};

/* NULL: unknown architecture. */
const struct us_linux_arch *us_linux_arch(enum us_arch arch);

/* Bytes of a page, the kernel's unit of memory and files.  s: its page tables, or a
 * program's. */
uint64_t us_linux_page_size(const struct us_space *s);

#endif
