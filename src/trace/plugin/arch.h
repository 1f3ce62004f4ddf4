/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arch.h: what the plugin has to know of an architecture: a row of the table in arch.c
 * for each of QEMU's targets, and a file with its decoder.
 */
#ifndef US_TRACE_ARCH_H
#define US_TRACE_ARCH_H

#include "trace/plugin/flow.h"

#define US_MAX_INSN	15 /* bytes of an instruction, of any architecture */
#define US_ARCH_VECTORS 2

/* A register that has an address, as far as the instructions of a block say; zeroed at
 * the start of one. */
struct us_arch_address {
	bool known;
	uint8_t reg;
	uint64_t value; /* gva */
};

struct us_plugin_arch {
	const char *target; /* QEMU's name of it, qemu_info_t.target_name */
	/* The instruction of n bytes (1 to US_MAX_INSN) at pc. */
	void (*flow)(const uint8_t *code, size_t n, uint64_t pc,
		     struct us_flow_insn *ret);
	uint64_t reset_vector; /* where every reset leads; 0: where the first did */
	uint16_t machine;      /* EM_*, of ELF files */
	/* May these n bytes at pc have a jump or branch to this address?  Perhaps by
	 * what is no instruction there.  NULL: instructions have 4 bytes. */
	bool (*may_jump_to)(const uint8_t *code, size_t n, uint64_t pc, uint64_t to);
	/* What is known of its target by the 4 bytes before it, too; NULL: nothing. */
	void (*far_flow)(const uint8_t before[static 4], const uint8_t *code, size_t n,
			 uint64_t pc, struct us_flow_insn *ret);
	bool link;  /* calls leave the return address in a register */
	bool ports; /* x86's in and out (port_insn.h) */
	/* Of a table of interrupts' entries that is one symbol (US_FUNCTION_VECTORS):
	 * bytes from one to the next; what its address is a multiple of; how many there
	 * are at least.  0: there are none such. */
	uint32_t vector_stride, vector_align, vector_min;
	/* QEMU's names of the registers that have the root of the page tables and the
	 * privileges; of their values, the gpa of a program's page tables; 0: it is the
	 * kernel.  NULL: not known. */
	const char *root, *mode;
	uint64_t (*program_root)(uint64_t root, uint64_t mode);
	/* And of those that have the address of interrupts' entries, of each privilege
	 * that has one; is an entry of theirs at pc?  NULL: not known. */
	const char *vectors[US_ARCH_VECTORS];
	bool (*is_vector)(uint64_t base, uint64_t pc);
	/* Does this instruction, the next of its block, have interrupts enter code at
	 * an address that the block itself says?  *ret is that (gva).  NULL: not known.
	 */
	bool (*sets_vector)(struct us_arch_address *a, const uint8_t *code, size_t n,
			    uint64_t pc, uint64_t *ret);
};

/* NULL: not known. */
const struct us_plugin_arch *us_plugin_arch_find(const char *target);
const struct us_plugin_arch *us_plugin_arch_of_machine(uint16_t machine);

/* Is the instruction of n bytes at pc a jump or branch to this address? */
bool us_plugin_jumps_to(const struct us_plugin_arch *a, const uint8_t *code, size_t n,
			uint64_t pc, uint64_t to);
/* Is the code of n bytes at pc such a table?  No entry goes on into the next. */
bool us_plugin_is_vectors(const struct us_plugin_arch *a, const uint8_t *code, size_t n,
			  uint64_t pc);
/* May there be one in this code? */
bool us_plugin_may_jump_to(const struct us_plugin_arch *a, const uint8_t *code,
			   size_t n, uint64_t pc, uint64_t to);

/*
 * x86.c.  What an instruction is in 64-bit, 32-bit and 16-bit code is told apart by its
 * length: QEMU does not say in which mode the guest is.
 */
void us_x86_flow(const uint8_t *code, size_t n, uint64_t pc, struct us_flow_insn *ret);
uint64_t us_x86_program_root(uint64_t cr3, uint64_t cs);
bool us_x86_may_jump_to(const uint8_t *code, size_t n, uint64_t pc, uint64_t to);
/* aarch64.c: A64 alone; AArch32 code is not understood. */
void us_aarch64_flow(const uint8_t *code, size_t n, uint64_t pc,
		     struct us_flow_insn *ret);
uint64_t us_aarch64_program_root(uint64_t ttbr0, uint64_t cpsr);
bool us_aarch64_is_vector(uint64_t vbar, uint64_t pc);
/* riscv.c: RV64GC. */
void us_riscv_flow(const uint8_t *code, size_t n, uint64_t pc,
		   struct us_flow_insn *ret);
void us_riscv_far_flow(const uint8_t before[static 4], const uint8_t *code, size_t n,
		       uint64_t pc, struct us_flow_insn *ret);
uint64_t us_riscv_program_root(uint64_t satp, uint64_t priv);
bool us_riscv_is_vector(uint64_t tvec, uint64_t pc);
bool us_riscv_sets_vector(struct us_arch_address *a, const uint8_t *code, size_t n,
			  uint64_t pc, uint64_t *ret);
bool us_riscv_may_jump_to(const uint8_t *code, size_t n, uint64_t pc, uint64_t to);

#endif
