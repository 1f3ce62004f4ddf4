/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_decode.h: the length of an instruction, and its effect on the stack.
 *
 * Decodes 64-bit and 32-bit code (Intel SDM volume 2, appendix A; VEX, EVEX and XOP
 * included), but only what an unwinder needs: the length, where control goes next, and
 * the effect on rsp and rbp.  The bytes are hostile.  A word is the size of a push: 8
 * bytes in 64-bit code, 4 in 32-bit code, where rsp and rbp below mean esp and ebp.
 */
#ifndef US_X86_DECODE_H
#define US_X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_X86_MAX_INSN 15

enum us_x86_kind {
	US_X86_OTHER, /* affects neither the flow, nor rsp, nor rbp */
	US_X86_NOP,   /* does nothing at all: padding */
	US_X86_ENDBR, /* endbr: the start of a function or the target of a jump */
	US_X86_PUSH,  /* rsp -= a word, and reg is stored; or the word at [base + imm];
			 or, if both are US_X86_NO_REG, anything else */
	US_X86_POP,   /* rsp += a word, reg is loaded (US_X86_NO_REG: anything else) */
	US_X86_MOVE,  /* reg = base + imm; reg is rsp or rbp; with base rsp also r10 or
			 one that functions preserve */
	US_X86_ZERO,  /* reg = 0; reg is rbp */
	US_X86_LOAD,  /* reg = the word at [base + imm]; reg is rsp or rbp; with base
			 rsp or rbp also one that functions preserve; with base rsp also
			 rcx in 64-bit code */
	US_X86_STORE, /* the word at [base + imm] = reg; reg is rbp, or as above; with
			 base rsp any, or US_X86_NO_REG: a constant */
	US_X86_SET,   /* reg (rsp, rbp, r10, one that functions preserve; rcx in 64-bit
			 code), and base if it is one of them, change in a way that is
			 not traced */
	US_X86_SWAP,  /* reg and base change places; one of them is rsp, the other is
			 rbp or one that functions preserve */
	US_X86_ENTER, /* push rbp; rbp = rsp; rsp -= imm */
	US_X86_LEAVE, /* rsp = rbp; pop rbp */
	US_X86_PUSH_ALL, /* pusha: eight words, rbp the sixth; 32-bit code only */
	US_X86_POP_ALL,
	US_X86_PUSH_PC, /* pushes its end, goes on at end + imm: a CALL that is none.
			   Only the code behind it shows that (x86_rule.c) */
	US_X86_CALL,	/* to end + imm */
	US_X86_CALL_INDIRECT,
	US_X86_JUMP, /* to end + imm */
	US_X86_JUMP_INDIRECT,
	US_X86_BRANCH,	/* to end + imm, or on */
	US_X86_RET,	/* pops the address, and imm bytes more */
	US_X86_FAR_RET, /* pops the address and cs, and imm bytes more */
	US_X86_IRET,	/* leaves by another frame: iret, sysexit */
	US_X86_SYSRET,	/* leaves for ring 3, to rcx */
	US_X86_STOP,	/* does not go on: ud2, far jumps */
	US_X86_BREAK,	/* int3: goes on, but is padding between functions as well */
};

/* What the instruction does with rsp as a whole. */
enum us_x86_stack {
	US_X86_STACK_NOT,   /* not even read */
	US_X86_STACK_USED,  /* used, or perhaps so */
	US_X86_STACK_LOADS, /* gets a value that does not depend on the old one */
};

#define US_X86_NO_REG 0xff

/* Register numbers as in the machine code (rsp is 4, rbp is 5), except that ecx and edi
 * of 32-bit code are given as r10 and r13, whose role they have when a stack is
 * aligned. */
#define US_X86_CODE_RCX 1
#define US_X86_CODE_RBX 3
#define US_X86_CODE_RSP 4
#define US_X86_CODE_RBP 5
#define US_X86_CODE_RSI 6
#define US_X86_CODE_R10 10
#define US_X86_CODE_R13 13
#define US_X86_N_CODE	16

/* Registers that functions preserve, without rsp and rbp, by these numbers: rbx, r12 to
 * r15; in 32-bit code ebx, esi and, as r13, edi. */
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
	bool half;     /* a push or pop of 2 bytes, not a word: of rbp the low ones */
	/* The register, by its number in the code, that gets `value` or that an
	 * indirect jump goes to; else US_X86_NO_REG. */
	uint8_t general;
	uint64_t value;
};

/* Decode the instruction at code, of which n bytes can be read.  bits: width of the
 * code, 64 or 32.  False: not valid, or it does not end within n bytes. */
bool us_x86_decode(const uint8_t *code, size_t n, unsigned bits,
		   struct us_x86_insn *ret);

/* How many of these bytes are prefixes: lock, repeat, segment, sizes; not REX, VEX. */
size_t us_x86_prefixes(const uint8_t *code, size_t n);

/*
 * Does a CALL end right before this address?  before points at the 8 bytes below it.
 * True: *ret_imm is the distance from the address to the target if *ret_direct, else 0.
 * For both widths, because CALLs differ only in prefixes.
 */
bool us_x86_call_before(const uint8_t before[8], bool *ret_direct, int32_t *ret_imm);

/* Do these bytes, at a function's start, call before anything else, but for endbr64? */
bool us_x86_begins_with_call(const uint8_t code[8]);

/*
 * Are these the 8 bytes of Go's runtime.goexit (nop; call; nop)?  Every goroutine
 * starts with a return address right behind its first instruction.
 */
bool us_x86_is_goexit(const uint8_t code[8]);

/*
 * Is this what the first function of a coroutine returns to?  Its creator has put that
 * address there; no CALL did:
 * - glibc's __start_context (makecontext): mov %rbx,%rsp; mov (%rsp),%rdi; test;
 * - finish in Boost's make_fcontext: xor %rdi,%rdi; call _exit; hlt.
 */
#define US_X86_CONTEXT_CODE 14 /* bytes */
bool us_x86_ends_context(const uint8_t code[US_X86_CONTEXT_CODE]);

#endif
