/* SPDX-License-Identifier: GPL-2.0-or-later */
/* regs.c: see regs.h. */
#include "guest/regs.h"

#define CR0_PG	 (1ULL << 31)
#define CR4_PAE	 (1ULL << 5)
#define CR4_LA57 (1ULL << 12)
#define EFER_LMA (1ULL << 10)

#define SCTLR_M	     1
#define TTBR_CNP     1
#define TTBR_ADDRESS 0x0000ffffffffffffULL
#define IPS_52	     6
#define SATP_PPN     ((1ULL << 44) - 1)

const char *us_arch_name(enum us_arch arch)
{
	static const char *const names[US_N_ARCH] = {
		[US_ARCH_X86_64] = "x86_64",
		[US_ARCH_AARCH64] = "aarch64",
		[US_ARCH_RISCV64] = "riscv64",
	};
	return arch < US_N_ARCH ? names[arch] : "unknown";
}

enum us_paging_mode us_x86_paging_mode(uint64_t cr0, uint64_t cr4, uint64_t efer)
{
	if (!(cr0 & CR0_PG))
		return US_PAGING_OFF;
	if (efer & EFER_LMA)
		return cr4 & CR4_LA57 ? US_PAGING_X86_5 : US_PAGING_X86_4;
	return cr4 & CR4_PAE ? US_PAGING_X86_PAE : US_PAGING_X86_32;
}

unsigned us_aarch64_va_bits(const struct us_space *s, bool upper)
{
	return 64 - (s->control >> (upper ? 16 : 0) & 63);
}

us_gva us_aarch64_strip(const struct us_space *s, us_gva va)
{
	bool upper = va >> 55 & 1;
	unsigned bits = us_aarch64_va_bits(s, upper);
	if (s->mode != US_PAGING_AARCH64 || bits > 52)
		bits = 48;
	us_gva above = ~0ULL << bits;
	return upper ? va | above : va & ~above;
}

/* With addresses of 52 bits, the upper four are where the table's alignment leaves
 * room. */
static us_gpa table_of(uint64_t ttbr, uint64_t tcr, bool is_64k)
{
	bool wide = (tcr >> 32 & 7) == IPS_52 && (is_64k || tcr >> 59 & 1);
	us_gpa at = ttbr & TTBR_ADDRESS & ~(us_gpa)(wide ? 63 : TTBR_CNP);
	return wide ? at | (ttbr >> 2 & 15) << 48 : at;
}

struct us_space us_aarch64_space(uint64_t ttbr0, uint64_t ttbr1, uint64_t tcr,
				 uint64_t sctlr)
{
	return (struct us_space){
		.root = table_of(ttbr0, tcr, (tcr >> 14 & 3) == 1),
		.root_upper = table_of(ttbr1, tcr, (tcr >> 30 & 3) == 3),
		.control = tcr,
		.mode = sctlr & SCTLR_M ? US_PAGING_AARCH64 : US_PAGING_OFF,
	};
}

struct us_space us_riscv_space(uint64_t satp, bool bare)
{
	static const uint8_t modes[16] = {
		[0] = US_PAGING_OFF,	   [1 ... 7] = US_PAGING_UNKNOWN,
		[8] = US_PAGING_RISCV_39,  [9] = US_PAGING_RISCV_48,
		[10] = US_PAGING_RISCV_57, [11 ... 15] = US_PAGING_UNKNOWN
	};
	return (struct us_space){ .root = (satp & SATP_PPN) << 12,
				  .mode = bare ? US_PAGING_OFF : modes[satp >> 60] };
}
