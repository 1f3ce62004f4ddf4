/* SPDX-License-Identifier: GPL-2.0-or-later */
/* after_hlt.c: see after_hlt.h. */
#include "backend/after_hlt.h"
#include "guest/memory.h"
#include "unwind/x86_decode.h"

#define HLT    0xf4
#define STI    0xfb
#define BEFORE 24 /* bytes, in which decoding finds the borders of instructions */
#define BEHIND US_X86_MAX_INSN

struct code {
	uint8_t byte[BEFORE + BEHIND];
	size_t n, pc; /* bytes that were read, and where among them pc is */
	unsigned bits;
};

static bool read_part(const struct us_regs *regs, us_code_reader *read, void *ctx,
		      size_t before, size_t behind, struct code *ret)
{
	ret->n = before + behind;
	ret->pc = before;
	ret->bits = regs->bits;
	return read(ctx, regs->pc - before, ret->byte, ret->n);
}

/* What lies in other pages than the HLT may not be there. */
static bool read_code(const struct us_regs *regs, us_code_reader *read, void *ctx,
		      struct code *ret)
{
	size_t before = (regs->pc - 1) % US_MEM_PAGE + 1, behind = US_MEM_PAGE - before;
	return read_part(regs, read, ctx, BEFORE, BEHIND, ret) ||
	       read_part(regs, read, ctx, before < BEFORE ? before : BEFORE,
			 behind < BEHIND ? behind : BEHIND, ret);
}

/* "1: hlt; jmp 1b" */
static bool is_loop(const struct code *c)
{
	struct us_x86_insn insn;
	return us_x86_decode(c->byte + c->pc, c->n - c->pc, c->bits == 64 ? 64 : 32,
			     &insn) &&
	       insn.kind == US_X86_JUMP && insn.imm == -1 - insn.len;
}

/* Decoded from this byte on, does an instruction begin at the one before pc? */
static bool leads_there(const struct code *c, size_t at)
{
	struct us_x86_insn insn;
	while (at < c->pc - 1) {
		bool valid = us_x86_decode(c->byte + at, c->n - at, c->bits, &insn);
		at += valid ? insn.len : 1;
	}
	return at == c->pc - 1;
}

/* Wherever decoding begins, it mostly falls into step after a few instructions. */
static bool is_border(const struct code *c)
{
	unsigned n = 0;
	if (c->bits != 64 && c->bits != 32)
		return false;
	for (size_t at = 0; at + 1 < c->pc; at++)
		n += leads_there(c, at);
	return n > (c->pc - 1) / 2;
}

bool us_is_after_hlt(const struct us_regs *regs, us_code_reader *read, void *ctx)
{
	struct code c;
	uint8_t byte;
	if (regs->arch != US_ARCH_X86_64 || regs->user ||
	    !read(ctx, regs->pc - 1, &byte, 1) || byte != HLT ||
	    !read_code(regs, read, ctx, &c) || c.byte[c.pc - 1] != HLT)
		return false;
	/* Interrupts are enabled by the instruction before, or one may come in between.
	 */
	return (c.pc > 1 && c.byte[c.pc - 2] == STI) || is_loop(&c) || is_border(&c);
}
