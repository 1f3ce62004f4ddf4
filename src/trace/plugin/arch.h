/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arch.h: what the plugin needs to know about an architecture: a row of the table in
 * arch.c for each of QEMU's targets, and a file with its decoder.
 */
#ifndef US_TRACE_ARCH_H
#define US_TRACE_ARCH_H

#include "trace/functions.h"
#include "trace/plugin/flow.h"
#include "trace/plugin/x86_stubs.h"

#define US_MAX_INSN	15 /* most bytes of an instruction, on any architecture */
#define US_ARCH_VECTORS 2

/* A register that holds an address, as far as the instructions of a block tell; zeroed
 * at the start of a block. */
struct us_arch_address {
	bool known;
	uint8_t reg;
	uint64_t value; /* gva */
};

struct us_plugin_arch {
	const char *target; /* QEMU's name: qemu_info_t.target_name */
	/* Decode the instruction of n bytes (1 to US_MAX_INSN) at pc. */
	void (*flow)(const uint8_t *code, size_t n, uint64_t pc,
		     struct us_flow_insn *ret);
	uint64_t reset_vector; /* where each reset starts; 0: where the first one did */
	uint16_t machine;      /* EM_*, as in ELF files */
	/* May these n bytes at pc contain a jump or branch to this address?  May also
	 * match bytes that are not an instruction there.  NULL: instructions have 4
	 * bytes. */
	bool (*may_jump_to)(const uint8_t *code, size_t n, uint64_t pc, uint64_t to);
	/* Find a target with the help of the 4 bytes before the instruction; NULL: no
	 * such instructions. */
	void (*far_flow)(const uint8_t before[static 4], const uint8_t *code, size_t n,
			 uint64_t pc, struct us_flow_insn *ret);
	/* Has link registers: calls leave the return address in a register. */
	bool link;
	bool ports; /* x86's in and out (port_insn.h) */
	/* QEMU's blocks may continue behind an instruction that halts. */
	bool halts_inside;
	/* For a table of interrupt entries that is one symbol (US_FUNCTION_VECTORS):
	 * bytes from one entry to the next; alignment of its address; least number of
	 * entries.  0: there are no such tables. */
	uint32_t vector_stride, vector_align, vector_min;
	/* Find such a table where entries have any form and size; its functions have a
	 * range for each entry.  NULL: there are none. */
	bool (*find_stubs)(const struct us_stub_code *c, struct us_stubs *ret);
	/* QEMU's names of the registers with the root of the page tables and with the
	 * privilege level.  From their values, program_root() gives the gpa of a
	 * program's page tables; 0: kernel mode.  NULL: not known. */
	const char *root, *mode;
	uint64_t (*program_root)(uint64_t root, uint64_t mode);
	/* QEMU's names of the registers with the address of the interrupt entries, one
	 * for each privilege level that has one.  is_vector(): is pc one of these
	 * entries?  NULL: not known. */
	const char *vectors[US_ARCH_VECTORS];
	bool (*is_vector)(uint64_t base, uint64_t pc);
	/* Does this instruction, the next one of its block, set the address (gva) at
	 * which interrupts enter, to a value that the block itself contains?  *ret:
	 * that value.  NULL: not known. */
	bool (*sets_vector)(struct us_arch_address *a, const uint8_t *code, size_t n,
			    uint64_t pc, uint64_t *ret);
};

/* NULL: not known. */
const struct us_plugin_arch *us_plugin_arch_find(const char *target);
const struct us_plugin_arch *us_plugin_arch_of_machine(uint16_t machine);

/* Is the instruction of n bytes at pc a jump or branch to this address? */
bool us_plugin_jumps_to(const struct us_plugin_arch *a, const uint8_t *code, size_t n,
			uint64_t pc, uint64_t to);
/* Is the function of this range entered at pc, which is in it?  An entry in a table of
 * interrupt entries counts as a function's entry. */
bool us_plugin_begins(const struct us_plugin_arch *a, const struct us_function_range *r,
		      uint64_t pc);
/* Is the code of n bytes at pc a table of interrupt entries?  No entry may continue
 * into the next one. */
bool us_plugin_is_vectors(const struct us_plugin_arch *a, const uint8_t *code, size_t n,
			  uint64_t pc);
/* May this code contain a jump or branch to this address? */
bool us_plugin_may_jump_to(const struct us_plugin_arch *a, const uint8_t *code,
			   size_t n, uint64_t pc, uint64_t to);

/*
 * x86.c.  The length of an instruction distinguishes 64-bit, 32-bit and 16-bit code:
 * QEMU does not say which mode the guest is in.
 */
void us_x86_flow(const uint8_t *code, size_t n, uint64_t pc, struct us_flow_insn *ret);
uint64_t us_x86_program_root(uint64_t cr3, uint64_t cs);
bool us_x86_may_jump_to(const uint8_t *code, size_t n, uint64_t pc, uint64_t to);
/* aarch64.c: only A64; AArch32 code is not decoded. */
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
