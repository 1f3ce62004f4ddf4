/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_decode.h: how long is this instruction, and what does it do to the stack?
 *
 * Decodes 64-bit code only (Intel SDM volume 2, appendix A; VEX, EVEX and XOP
 * included), and of an instruction only what an unwinder needs: its length, where
 * control goes next, and what becomes of rsp and rbp.  The bytes are hostile.
 */
#ifndef US_X86_DECODE_H
#define US_X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_X86_MAX_INSN 15

enum us_x86_kind {
	US_X86_OTHER, /* neither the flow, nor rsp, nor rbp */
	US_X86_NOP,   /* does nothing at all: padding */
	US_X86_ENDBR, /* endbr64: a function or a landing place of a jump */
	US_X86_PUSH,  /* rsp -= 8, and reg is stored; or the word at [base + imm]; or,
			 both being US_X86_NO_REG, anything else */
	US_X86_POP,   /* rsp += 8, reg is loaded (US_X86_NO_REG: goes elsewhere) */
	US_X86_MOVE,  /* reg = base + imm; reg is rsp or rbp; or r10, of rsp */
	US_X86_ZERO,  /* reg = 0; reg is rbp */
	US_X86_LOAD,  /* reg = 8 bytes at [base + imm]; reg is rsp or rbp */
	US_X86_STORE, /* 8 bytes at [base + imm] = reg; reg is rbp */
	US_X86_SET,   /* reg (rsp or rbp), and base if it is one of them, change in
			 a way that is not followed */
	US_X86_ENTER, /* push rbp; rbp = rsp; rsp -= imm */
	US_X86_LEAVE, /* rsp = rbp; pop rbp */
	US_X86_CALL,  /* to end + imm */
	US_X86_CALL_INDIRECT,
	US_X86_JUMP, /* to end + imm */
	US_X86_JUMP_INDIRECT,
	US_X86_BRANCH, /* to end + imm, or on */
	US_X86_RET,    /* pops the address, and imm bytes more */
	US_X86_IRET,   /* leaves by another kind of frame: iret, sysret, far ret */
	US_X86_STOP,   /* does not go on: ud2, far jumps */
	US_X86_BREAK,  /* int3: goes on, but is padding between functions as well */
};

#define US_X86_NO_REG 0xff

/* Register numbers as in the machine code (rsp is 4, rbp is 5). */
#define US_X86_CODE_RSP 4
#define US_X86_CODE_RBP 5
#define US_X86_CODE_R10 10

struct us_x86_insn {
	uint8_t len;
	uint8_t kind; /* enum us_x86_kind */
	uint8_t reg;
	uint8_t base;
	int32_t imm;
};

/* Decode the instruction at code, of which n bytes can be read.  False: not valid in
 * 64-bit mode, or it does not end within n bytes. */
bool us_x86_decode(const uint8_t *code, size_t n, struct us_x86_insn *ret);

/*
 * Does a CALL end right before this address?  before points at the 8 bytes below
 * it.  True: *ret_imm is the distance from the address to the target if
 * *ret_direct, else 0.
 */
bool us_x86_call_before(const uint8_t before[8], bool *ret_direct, int32_t *ret_imm);

#endif
