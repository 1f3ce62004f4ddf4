/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_bits.h: how wide the code was that a guest ran, by its registers.
 *
 * A 64-bit x86 kernel may be packed as a 32-bit ELF file, and a file without tables
 * does not tell; no file tells what of it is 16-bit code.  A report asks for the facts
 * that this writes, to disassemble it.
 */
#ifndef US_CMD_CODE_BITS_H
#define US_CMD_CODE_BITS_H

#include "store/store.h"

#include <stdatomic.h>

struct us_code_bits {
	_Atomic uint32_t n[2][2];  /* captures: [in ring 3][of 64 bits, not of 32] */
	_Atomic uint32_t of_16[2]; /* [in ring 3] */
	_Atomic uint32_t not_unwound[2]; /* US_END_MODE: [of 16 bits, not of 32] */
	uint8_t written[3];		 /* the bits that the facts state; 0: none */
};

/* Hot path: a capture with registers, and how its stack ended. */
void us_code_bits_add(struct us_code_bits *b, const struct us_regs *regs,
		      enum us_unwind_end end);
/* Write the facts US_FACT_CODE_BITS, US_FACT_PROGRAM_BITS and US_FACT_MODE_BITS as far
 * as they are known, or have changed: the width of most captures.  By another thread.
 */
US_MUST_CHECK int us_code_bits_write(struct us_code_bits *b, struct us_writer *w,
				     struct us_err *e);

#endif
