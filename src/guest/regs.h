/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * regs.h: the guest as every layer above the backends sees it.
 *
 * Addresses carry their space in their type name: a gva is translated by the
 * guest's page tables, a gpa indexes guest-physical memory, a hva is an address in
 * the VMM's process.
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
};

/* How the vCPU translates addresses at this moment. */
enum us_paging_mode {
	US_PAGING_OFF,	   /* gva is gpa: real mode, protected mode without paging */
	US_PAGING_X86_32,  /* two levels, 4 bytes an entry */
	US_PAGING_X86_PAE, /* three levels */
	US_PAGING_X86_4,   /* four levels: long mode */
	US_PAGING_X86_5,   /* five levels: long mode with CR4.LA57 */
	US_PAGING_UNKNOWN, /* root not known: only us_mem.read_gva can help */
};

/* An address space: all that a page walk needs of a vCPU. */
struct us_space {
	us_gpa root;  /* CR3 as read, flag bits and PCID included */
	uint8_t mode; /* enum us_paging_mode */
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

/* What an unwinder needs of one vCPU. */
struct us_regs {
	us_gva pc, sp, fp; /* linear addresses: the segment base is added to pc */
	struct us_space space;
	uint64_t gpr[16]; /* enum us_x86_reg */
	uint16_t valid;	  /* bit n set: gpr[n] was read */
	uint8_t bits;	  /* width of the code being run: 16, 32 or 64 */
	bool user;	  /* CPL 3 */
};

/* Paging mode from control registers (Intel SDM volume 3, 4.1.1). */
enum us_paging_mode us_x86_paging_mode(uint64_t cr0, uint64_t cr4, uint64_t efer);

#endif
