/* SPDX-License-Identifier: GPL-2.0-or-later */
/* regs.c: see regs.h. */
#include "guest/regs.h"

#include "guest/page_table_aarch64.h"

#define CR0_PG	 (1ULL << 31)
#define CR4_PAE	 (1ULL << 5)
#define CR4_LA57 (1ULL << 12)
#define EFER_LMA (1ULL << 10)

#define SCTLR_M	 1
#define SATP_PPN ((1ULL << 44) - 1)

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
	return us_aarch64_tcr_bits(s->control, upper);
}

us_gva us_aarch64_strip(const struct us_space *s, us_gva va)
{
	bool upper = us_aarch64_is_upper(va);
	unsigned bits = us_aarch64_va_bits(s, upper);
	if (s->mode != US_PAGING_AARCH64 || bits > 52)
		bits = 48;
	us_gva above = ~0ULL << bits;
	return upper ? va | above : va & ~above;
}

struct us_space us_aarch64_space(uint64_t ttbr0, uint64_t ttbr1, uint64_t tcr,
				 uint64_t sctlr)
{
	return (struct us_space){
		.root = us_aarch64_root(ttbr0, tcr, false),
		.root_upper = us_aarch64_root(ttbr1, tcr, true),
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
				  .control = bare ? modes[satp >> 60] : US_PAGING_OFF,
				  .mode = bare ? US_PAGING_OFF : modes[satp >> 60] };
}

bool us_riscv_space_below(const struct us_space *s, struct us_space *ret)
{
	*ret = (struct us_space){ .root = s->root, .mode = (uint8_t)s->control };
	return s->mode == US_PAGING_OFF && s->control >= US_PAGING_RISCV_39 &&
	       s->control <= US_PAGING_RISCV_57;
}

bool us_space_load(struct us_space *s, bool upper, uint64_t value)
{
	if (s->mode == US_PAGING_AARCH64) {
		us_gpa root = us_aarch64_root(value, s->control, upper);
		*(upper ? &s->root_upper : &s->root) = root;
		return true;
	}
	if (upper || s->mode < US_PAGING_RISCV_39 || s->mode > US_PAGING_RISCV_57)
		return false;
	*s = us_riscv_space(value, false);
	return s->mode >= US_PAGING_RISCV_39 && s->mode <= US_PAGING_RISCV_57;
}
