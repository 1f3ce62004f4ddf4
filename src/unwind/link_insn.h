/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_insn.h: what an instruction does to the registers that hold frames, on
 * architectures whose calls leave the return address in a register.
 *
 * It decodes only what an unwinder needs: the length, where control goes next, and the
 * new value of general registers, if that is a sum, a constant, or a word of memory.
 * The bytes are hostile.  Register numbers are DWARF's.
 */
#ifndef US_UNWIND_LINK_INSN_H
#define US_UNWIND_LINK_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum us_link_kind {
	US_LINK_OTHER,	/* affects neither the flow nor a register that is traced */
	US_LINK_SET,	/* reg changes in a way that is not traced */
	US_LINK_MOVE,	/* reg = base + imm */
	US_LINK_ADD,	/* reg = base + imm * reg2; imm is 1 or -1 */
	US_LINK_CONST,	/* reg = imm */
	US_LINK_SHIFT,	/* reg = base << imm */
	US_LINK_INSERT, /* 16 bits of reg, from bit reg2 up, = imm */
	US_LINK_LOAD,	/* reg = the word at [base + imm], reg2 the one above */
	US_LINK_STORE,
	US_LINK_WRITE,	    /* base += write, and nothing else */
	US_LINK_ASIDE,	    /* a system register used as scratch space: it = reg */
	US_LINK_BACK,	    /* reg = that system register */
	US_LINK_SWAP,	    /* reg = that system register, which gets base */
	US_LINK_EXIT_PC,    /* the exception's return goes to reg */
	US_LINK_EXIT_SP,    /* ... with the stack pointer reg */
	US_LINK_EXIT_STATE, /* ... with reg as the processor's state (SPSR) */
	US_LINK_ROOT,	    /* reg is the new page-table root; imm: of the upper half */
	US_LINK_CALL, /* to this instruction + imm; reg2 gets the return address */
	US_LINK_CALL_INDIRECT,
	US_LINK_BRANCH, /* to this instruction + imm, or on */
	US_LINK_JUMP,	/* to this instruction + imm, never on */
	US_LINK_JUMP_INDIRECT,
	US_LINK_RET,  /* to reg */
	US_LINK_EXIT, /* to what an exception interrupted */
	US_LINK_STOP,
};

enum us_link_also {
	US_LINK_ALSO_NOTHING,
	US_LINK_ALSO_PAGE,    /* of SET: reg = the page of this instruction + imm */
	US_LINK_ALSO_PC,      /* of SET: reg = this instruction + imm */
	US_LINK_ALSO_LITERAL, /* of SET: reg = the word at this instruction + imm */
	US_LINK_ALSO_ASIDE,   /* of OTHER */
	US_LINK_ALSO_BACK,    /* of SET */
};

#define US_LINK_NO_REG 0xff
#define US_LINK_N_REG  32

struct us_link_insn {
	uint8_t len;
	uint8_t kind; /* enum us_link_kind */
	uint8_t reg, reg2, base;
	bool narrow;   /* of a sum: the lower 32 bits, sign-extended */
	bool fresh;    /* of SET: does not depend on the old reg */
	uint8_t also;  /* enum us_link_also: for us_link_insn_place() */
	bool reads_pc; /* of SET: reg gets the exception's return address */
	int32_t write; /* of LOAD, STORE and WRITE: base += write, afterwards */
	int64_t imm;
};

/* Registers that functions preserve, without the stack pointer: AAPCS64, 6.1.1 (x19 to
 * x29); RISC-V calling conventions, 1.1 (gp, tp, s0 to s11). */
#define US_AARCH64_PRESERVED (0x7ffU << 19)
#define US_RISCV_PRESERVED   (3U << 3 | 3U << 8 | 0x3ffU << 18)

/* Refine a decoded instruction by `also` and its address, for analyses of more than the
 * flow. */
static inline void us_link_insn_place(struct us_link_insn *insn, uint64_t pc)
{
	static const uint8_t kinds[] = { [US_LINK_ALSO_PAGE] = US_LINK_CONST,
					 [US_LINK_ALSO_PC] = US_LINK_CONST,
					 [US_LINK_ALSO_LITERAL] = US_LINK_SET,
					 [US_LINK_ALSO_ASIDE] = US_LINK_ASIDE,
					 [US_LINK_ALSO_BACK] = US_LINK_BACK };
	if (insn->also)
		insn->kind = kinds[insn->also];
	if (insn->also == US_LINK_ALSO_PAGE)
		insn->imm = (int64_t)((pc & ~4095ULL) + (uint64_t)insn->imm);
	if (insn->also == US_LINK_ALSO_PC)
		insn->imm = (int64_t)(pc + (uint64_t)insn->imm);
}

/* Differences between the two architectures. */
struct us_link_machine {
	uint8_t sp, fp, ra;
	uint8_t routine; /* link register of routines that save registers for
			    their caller, or US_LINK_NO_REG */
	uint8_t result;	 /* register of the result and the first argument */
	uint8_t align;	 /* of instructions, in bytes */
	/* Do these bytes, at a function's start, call a tracer before anything else?
	 * NULL: not known. */
	bool (*traced_at)(const uint8_t code[8]);
	int8_t frame_fp, frame_ra; /* of the frame record, from fp, in bytes */
	int8_t frame_cfa;	   /* from fp to the CFA, or the least distance */
	bool frame_exact;	   /* frame_cfa is exact */
	bool banked_sp;		   /* programs and kernel have a stack pointer each */
	uint8_t shadow;		   /* pointer of the shadow call stack, in code that
				      has one: return addresses are on both stacks */
	uint32_t preserved;	   /* bit n: functions preserve register n */
	/* Decode the instruction in the first n bytes; false: cut short. */
	bool (*decode)(const uint8_t *code, size_t n, struct us_link_insn *ret);
	/*
	 * Does a CALL end right before an address?  before points at the 8 bytes below
	 * it.  True: *ret_imm is the distance from the address to the target if
	 * *ret_direct, else 0.
	 */
	bool (*call_before)(const uint8_t before[8], bool *ret_direct,
			    int32_t *ret_imm);
	/* The same for a CALL of a routine; NULL: there are none. */
	bool (*routine_before)(const uint8_t before[8], int32_t *ret_imm);
	/* As us_x86_is_goexit(). */
	bool (*goexit_at)(const uint8_t code[8]);
	/* Does an instruction end there that enters the kernel and returns behind
	 * it? */
	bool (*trap_before)(const uint8_t before[8]);
};

extern const struct us_link_machine us_link_aarch64, us_link_riscv;

#endif
