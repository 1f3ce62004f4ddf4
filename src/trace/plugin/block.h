/* SPDX-License-Identifier: GPL-2.0-or-later */
/* block.h: a block of code while the plugin goes through it, instruction by
 * instruction, and requests callbacks from QEMU. */
#ifndef US_TRACE_BLOCK_H
#define US_TRACE_BLOCK_H

#include "trace/plugin/arch.h"
#include "trace/plugin/image_code.h"
#include "trace/plugin/translate.h"

struct us_block {
	struct qemu_plugin_tb *tb;
	struct qemu_plugin_insn *insn; /* instruction i of n */
	size_t n, i;
	uint64_t pc, end; /* of the instruction */
	struct us_code_of of;
	struct us_flow_insn flow;
	uint8_t last[4]; /* the previous instruction, if it has 4 bytes */
	bool has_last;
	struct us_arch_address address;
	/* A load of the link register; whether the return follows in this block is not
	 * known yet.  NULL: none. */
	struct qemu_plugin_insn *load;
	struct us_point *load_point;
	/* x86: a pop into a register that has kept the word since.  NULL: none. */
	struct qemu_plugin_insn *pop;
	uint8_t popped; /* us_flow_insn.popped */
};

/* Request a callback before the instruction is executed. */
void us_block_before(const struct us_block *b, us_vcpu_exec *cb,
		     const struct us_point *p);
/* The same for when it accesses memory. */
void us_block_at_access(const struct us_block *b, us_vcpu_mem *cb,
			const struct us_point *p);
/* As us_block_before(), with this instruction's own point. */
void us_block_before_here(const struct us_block *b, us_vcpu_exec *cb);
/* A guest's address as code of this block means it: in its layer. */
uint64_t us_block_address(const struct us_block *b, uint64_t gva);
/* Does a function begin at this address of a layer; one of the block's image at this
 * gva; one of any image? */
bool us_begins_at(uint64_t address);
bool us_block_begins(const struct us_block *b, uint64_t gva);
bool us_may_begin(uint64_t gva);
/* Is gva in the middle of another function than the current instruction? */
bool us_is_in_other(const struct us_block *b, uint64_t gva);
/* A point for this instruction; target: gva of its target; 0: not known.  NULL: no more
 * room. */
struct us_point *us_block_point(const struct us_block *b, uint64_t target);
/* Is the target of this call in the same function, but not its start? */
bool us_is_no_call(const struct us_block *b, uint64_t target);

/* far.c: x86's far calls and returns, and jumps to what was popped. */
void us_far_add_call(const struct us_block *b);
void us_far_add_return(const struct us_block *b);
/* False: it is no jump to a word that this block has popped. */
bool us_pop_add_jump(const struct us_block *b);
/* Remember a pop, until its register may have changed. */
void us_pop_note(struct us_block *b);

/* link.c: where calls leave the return address in a register. */
void us_link_add_call(const struct us_block *b);
void us_link_add_return(struct us_block *b);
/* Handle what the instruction does to the link register. */
void us_link_add(struct us_block *b);
/* Handle a load seen before this instruction, or at the end of the block. */
void us_link_flush(struct us_block *b);

#endif
