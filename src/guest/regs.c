/* SPDX-License-Identifier: GPL-2.0-or-later */
/* regs.c: see regs.h. */
#include "guest/regs.h"

#define CR0_PG	 (1ULL << 31)
#define CR4_PAE	 (1ULL << 5)
#define CR4_LA57 (1ULL << 12)
#define EFER_LMA (1ULL << 10)

enum us_paging_mode us_x86_paging_mode(uint64_t cr0, uint64_t cr4, uint64_t efer)
{
	if (!(cr0 & CR0_PG))
		return US_PAGING_OFF;
	if (efer & EFER_LMA)
		return cr4 & CR4_LA57 ? US_PAGING_X86_5 : US_PAGING_X86_4;
	return cr4 & CR4_PAE ? US_PAGING_X86_PAE : US_PAGING_X86_32;
}
