/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * regs.h: the guest as every layer above the backends sees it.
 *
 * An address's type name says its address space: a gva is translated by the guest's
 * page tables, a gpa indexes guest-physical memory, a hva is an address in the VMM's
 * process.
 */
#ifndef US_GUEST_REGS_H
#define US_GUEST_REGS_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t us_gva;
typedef uint64_t us_gpa;
typedef uint64_t us_hva;

enum us_arch {
	US_ARCH_X86_64,
	US_ARCH_AARCH64, /* 64-bit state only */
	US_ARCH_RISCV64,
	US_N_ARCH,
};

/* As printed by uname -m. */
const char *us_arch_name(enum us_arch arch);

/* How the vCPU translates addresses at this moment. */
enum us_paging_mode {
	US_PAGING_OFF,	   /* gva is gpa: real mode, protected mode without paging */
	US_PAGING_X86_32,  /* two levels, 4 bytes an entry */
	US_PAGING_X86_PAE, /* three levels */
	US_PAGING_X86_4,   /* four levels: long mode */
	US_PAGING_X86_5,   /* five levels: long mode with CR4.LA57 */
	US_PAGING_AARCH64, /* EL0 and EL1: all else is in TCR_EL1 */
	US_PAGING_RISCV_39,
	US_PAGING_RISCV_48,
	US_PAGING_RISCV_57,
	US_PAGING_UNKNOWN, /* root not known: only us_mem.read_gva can read */
};

/* Mask of a root without flag bits and PCID; what remains identifies the address space.
 */
#define US_ROOT_MASK 0x000ffffffffff000ULL
/* x86, page-table isolation (arch/x86/mm/pti.c): the root of user mode is the page
 * after the kernel's, which is even. */
#define US_ROOT_OF_USER 0x1000U

/* An address space: everything that a page walk needs from a vCPU. */
struct us_space {
	us_gpa root; /* CR3 as read, flag bits and PCID included; or the address of
			the table that TTBR0_EL1 or satp names */
	us_gpa root_upper; /* aarch64: likewise, of TTBR1_EL1 */
	uint64_t control;  /* aarch64: TCR_EL1; RISC-V in M-mode: the mode (enum
			      us_paging_mode) that satp sets for the other modes */
	uint8_t mode;	   /* enum us_paging_mode */
};

/* Register numbers in us_regs.gpr: those of DWARF for x86-64 (System V psABI,
 * figure 3.36), so that CFI rules index it directly. */
enum us_x86_reg {
	US_X86_RAX,
	US_X86_RDX,
	US_X86_RCX,
	US_X86_RBX,
	US_X86_RSI,
	US_X86_RDI,
	US_X86_RBP,
	US_X86_RSP,
	US_X86_R8,
	US_X86_R9,
	US_X86_R10,
	US_X86_R11,
	US_X86_R12,
	US_X86_R13,
	US_X86_R14,
	US_X86_R15,
};

/* x0 to x30 have their own numbers (DWARF for the Arm 64-bit architecture, 4.1). */
enum us_aarch64_reg {
	US_AARCH64_FP = 29,
	US_AARCH64_LR = 30,
	US_AARCH64_SP = 31,
};

/* Likewise x0 to x31 (RISC-V DWARF specification); x0 is 0 and always valid. */
enum us_riscv_reg {
	US_RISCV_RA = 1,
	US_RISCV_SP = 2,
	US_RISCV_T0 = 5,
	US_RISCV_FP = 8,
};

#define US_MAX_GPR 32

/* What an unwinder needs from one vCPU. */
struct us_regs {
	us_gva pc, sp, fp; /* linear addresses: the segment base is added to pc */
	bool sp_unknown; /* the stack pointer could not be read: sp is something else */
	/* aarch64, in EL1: SP_EL0, where Linux keeps its current task; 0: not known. */
	us_gva sp_el0;
	/* space may be outdated, and belong to another program. */
	bool space_old;
	struct us_space space;
	uint64_t gpr[US_MAX_GPR]; /* enum us_x86_reg, ...; sp and fp are there too */
	uint32_t valid;		  /* bit n set: gpr[n] was read */
	uint8_t arch;		  /* enum us_arch */
	uint8_t bits;  /* width of the running code: 16, 32 or 64; 0: cannot be unwound
			  (aarch32, EL2) */
	bool user;     /* CPL 3, EL0, U-mode */
	bool machine;  /* RISC-V's M-mode, which has its own exception entries */
	uint8_t level; /* aarch64's EL2 and EL3, which have theirs: 2 or 3; else 0 */
	/* The page tables hold machine addresses (a PV domain of Xen): memory that is
	 * contiguous for the guest may be scattered. */
	bool scattered;

	/* The vCPU is at the first instruction of an exception's entry, on a machine
	 * that keeps the interrupted pc in registers.  All other registers still have
	 * the interrupted code's values. */
	struct us_entered {
		us_gva pc, sp;
		bool valid, user;
		/* sp is another stack pointer than the one in use: SP_EL0 on aarch64,
		 * with which code of the kernel may run, too (EL1t). */
		bool other_sp;
		/* M-mode has interrupted code of another mode: us_riscv_space_below().
		 */
		bool below;
		/* Everything fits, but the address of the vectors is not known: the
		 * caller must check the code. */
		bool guessed;
		us_gva vector; /* where the next exception enters; 0: not known */
	} entered;
};

/* Paging mode from control registers (Intel SDM volume 3, 4.1.1). */
enum us_paging_mode us_x86_paging_mode(uint64_t cr0, uint64_t cr4, uint64_t efer);

/* The address space of EL1 and EL0 from system registers as read (Arm ARM D17.2:
 * TTBR0_EL1, TTBR1_EL1, TCR_EL1, SCTLR_EL1); ASIDs are removed. */
struct us_space us_aarch64_space(uint64_t ttbr0, uint64_t ttbr1, uint64_t tcr,
				 uint64_t sctlr);

/* How many bits of an address in that half are translated (64 minus TnSZ). */
unsigned us_aarch64_va_bits(const struct us_space *s, bool upper);

/* A pointer without its signature in unused bits (FEAT_PAuth) and without its tag.  If
 * nothing is known of the space, 48 bits are assumed. */
us_gva us_aarch64_strip(const struct us_space *s, us_gva va);

/* The effect of an instruction that writes value to satp, or to TTBR0_EL1 or TTBR1_EL1
 * (upper): s then has the page tables that value names.  False: not in this mode. */
bool us_space_load(struct us_space *s, bool upper, uint64_t value);

/* The address space from satp (RISC-V privileged architecture, 4.1.11).  bare: the vCPU
 * is in M-mode, where satp does not count. */
struct us_space us_riscv_space(uint64_t satp, bool bare);
/* s is M-mode's space.  The code that M-mode interrupted runs in *ret, unless it was
 * M-mode itself.  False: there is no other space. */
bool us_riscv_space_below(const struct us_space *s, struct us_space *ret);

#endif
