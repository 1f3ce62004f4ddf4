/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disassemble.h: machine code as text, with capstone.
 *
 * Without capstone, or for a machine that is not in the table, the code is given as
 * pieces of bytes.  The code is hostile: what is not an instruction is marked as such.
 */
#ifndef US_SYMBOL_DISASSEMBLE_H
#define US_SYMBOL_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_INSN_BYTES 16 /* of the longest, and of a piece of bytes */

struct us_insn {
	uint64_t addr;
	uint8_t len; /* 1 to US_INSN_BYTES */
	uint8_t bytes[US_INSN_BYTES];
	bool ends_block; /* a jump, call, return or trap: a block of code ends here */
	char text[200];	 /* "" if it is bytes only */
};

struct us_disassembler;

/* For an ELF machine (EM_*) and the bits of the file's class, or 16 for x86 code of
 * that width.  NULL: bytes only. */
struct us_disassembler *us_disassembler_open(uint16_t machine, unsigned bits);
void us_disassembler_close(struct us_disassembler *d); /* accepts NULL */

/*
 * The instruction at the beginning of code[n], n > 0, which is at addr.  What is not an
 * instruction is "(bad)", with the length of the machine's shortest.  d NULL: a piece
 * of bytes, as long as possible.
 */
void us_disassemble(struct us_disassembler *d, const uint8_t *code, size_t n,
		    uint64_t addr, struct us_insn *ret);

#endif
