/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_decode.h: how long is this instruction, and what does it do to the stack?
 *
 * Decodes 64-bit and 32-bit code (Intel SDM volume 2, appendix A; VEX, EVEX and XOP
 * included), and of an instruction only what an unwinder needs: its length, where
 * control goes next, and what becomes of rsp and rbp.  The bytes are hostile.
 * A word is what a push takes: 8 bytes in 64-bit code, 4 in 32-bit code, where rsp
 * and rbp below mean esp and ebp.
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
	US_X86_ENDBR, /* endbr: a function or a landing place of a jump */
	US_X86_PUSH,  /* rsp -= a word, and reg is stored; or the word at [base + imm];
			 or,  both being US_X86_NO_REG, anything else */
	US_X86_POP,   /* rsp += a word, reg is loaded (US_X86_NO_REG: goes elsewhere) */
	US_X86_MOVE,  /* reg = base + imm; reg is rsp or rbp; or r10 or one that
			 functions preserve, of rsp */
	US_X86_ZERO,  /* reg = 0; reg is rbp */
	US_X86_LOAD,  /* reg = the word at [base + imm]; reg is rsp or rbp; from base
			 rsp or rbp one that functions preserve, and from rsp rcx in
			 64-bit code */
	US_X86_STORE, /* the word at [base + imm] = reg; reg is rbp, or as above */
	US_X86_SET,   /* reg (rsp, rbp, r10, one that functions preserve), and base if
			 it   is one of them, change in a way that is not followed */
	US_X86_SWAP,  /* reg and base change places; one of them is rsp, the other is
			 rbp or one that functions preserve */
	US_X86_ENTER, /* push rbp; rbp = rsp; rsp -= imm */
	US_X86_LEAVE, /* rsp = rbp; pop rbp */
	US_X86_PUSH_ALL, /* pusha: eight words, rbp the sixth; 32-bit code only */
	US_X86_POP_ALL,
	US_X86_PUSH_PC, /* pushes its end, goes on at end + imm: a CALL that is none.
			   The code behind it tells (x86_rule.c), not the instruction */
	US_X86_CALL,	/* to end + imm */
	US_X86_CALL_INDIRECT,
	US_X86_JUMP, /* to end + imm */
	US_X86_JUMP_INDIRECT,
	US_X86_BRANCH, /* to end + imm, or on */
	US_X86_RET,    /* pops the address, and imm bytes more */
	US_X86_IRET,   /* leaves by another kind of frame: iret, sysexit, far ret */
	US_X86_SYSRET, /* leaves for ring 3, to rcx */
	US_X86_STOP,   /* does not go on: ud2, far jumps */
	US_X86_BREAK,  /* int3: goes on, but is padding between functions as well */
};

/* What becomes of rsp as a whole. */
enum us_x86_stack {
	US_X86_STACK_NOT,   /* not even read */
	US_X86_STACK_USED,  /* used, or perhaps so */
	US_X86_STACK_LOADS, /* gets a value that has nothing of the one before */
};

#define US_X86_NO_REG 0xff

/* Register numbers as in the machine code (rsp is 4, rbp is 5); but that ecx and edi
 * of 32-bit code are given as r10 and r13, whose part they play when a stack is
 * aligned. */
#define US_X86_CODE_RCX 1
#define US_X86_CODE_RBX 3
#define US_X86_CODE_RSP 4
#define US_X86_CODE_RBP 5
#define US_X86_CODE_RSI 6
#define US_X86_CODE_R10 10
#define US_X86_CODE_R13 13
#define US_X86_N_CODE	16

/* Registers that functions preserve, but for rsp and rbp, by these numbers: rbx, r12 to
 * r15; ebx, esi and, as r13, edi. */
static inline bool us_x86_is_preserved(unsigned bits, uint8_t reg)
{
	uint32_t all = bits == 64 ? 0xfU << 12
				  : 1U << US_X86_CODE_RSI | 1U << US_X86_CODE_R13;
	all |= 1U << US_X86_CODE_RBX;
	return reg < US_X86_N_CODE && (all >> reg & 1);
}

struct us_x86_insn {
	uint8_t len;
	uint8_t kind; /* enum us_x86_kind */
	uint8_t reg;
	uint8_t base;
	int32_t imm;
	uint8_t stack; /* enum us_x86_stack */
	bool half; /* a push or a pop of 2 bytes, not of a word: of rbp, the low ones */
	/* Any register, by its number in the code: that gets this value, or that an
	 * indirect jump goes to; else US_X86_NO_REG. */
	uint8_t general;
	uint64_t value;
};

/* Decode the instruction at code, of which n bytes can be read.  bits: of the code, 64
 * or
 * 32.  False: not valid there, or it does not end within n bytes. */
bool us_x86_decode(const uint8_t *code, size_t n, unsigned bits,
		   struct us_x86_insn *ret);

/* How many of these bytes are prefixes: lock, repeat, segment, sizes; not REX, VEX. */
size_t us_x86_prefixes(const uint8_t *code, size_t n);

/*
 * Does a CALL end right before this address?  before points at the 8 bytes below
 * it.  True: *ret_imm is the distance from the address to the target if
 * *ret_direct, else 0.  The same in both widths: prefixes apart, so are the CALLs.
 */
bool us_x86_call_before(const uint8_t before[8], bool *ret_direct, int32_t *ret_imm);

/*
 * Are these the 8 bytes of the function that every goroutine of Go begins with a return
 * address into, right behind its first instruction: nop; call; nop (runtime.goexit)?
 */
bool us_x86_is_goexit(const uint8_t code[8]);

#endif
