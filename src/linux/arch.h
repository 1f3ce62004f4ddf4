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
	us_gva linked_at; /* _text without KASLR; 0: it depends on how it was built */
	uint64_t slide_most;		   /* bytes; a larger one is not trusted */
	us_gva modules_start, modules_end; /* what lies outside is no module */
	const char *top_table; /* the symbol of the kernel's own page tables */
	bool upper;	       /* these are for the upper half alone (TTBR1_EL1) */
};

/* NULL: not known. */
const struct us_linux_arch *us_linux_arch(enum us_arch arch);

#endif
