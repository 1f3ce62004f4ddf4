/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_state.c: see x86_state.h. */
#include "unwind/x86_state.h"

/* A larger frame is not followed; this also keeps the sums from overflowing. */
#define MAX_OFFSET (1 << 26)

static const struct us_x86_value unknown;

static bool is_address(struct us_x86_value v)
{
	return v.sym == US_SYM_SP || v.sym == US_SYM_FP;
}

static bool same(struct us_x86_value a, struct us_x86_value b)
{
	return a.sym == b.sym && a.off == b.off;
}

static struct us_x86_value plus(struct us_x86_value v, int32_t n)
{
	int64_t off = (int64_t)v.off + n;
	if (n == 0)
		return v;
	bool counts = is_address(v) || v.sym == US_SYM_WORD;
	if (!counts || off > MAX_OFFSET || off < -MAX_OFFSET)
		return unknown;
	v.off = (int32_t)off;
	return v;
}

static struct us_x86_value load(const struct us_x86_state *st, struct us_x86_value at)
{
	if (!is_address(at))
		return unknown;
	if (same(at, st->saved))
		return (struct us_x86_value){ .sym = US_SYM_FP };
	if (same(at, st->rcx_saved))
		return (struct us_x86_value){ .sym = US_SYM_RCX };
	if (same(at, st->want_saved))
		return (struct us_x86_value){ .sym = US_SYM_WANT };
	/* Nothing was below SP when the path began. */
	if (at.sym == US_SYM_SP && at.off < 0)
		return unknown;
	at.sym = at.sym == US_SYM_SP ? US_SYM_MEM_SP : US_SYM_MEM_FP;
	return at;
}

/* The register, or something else if it is US_X86_NO_REG, is stored at this address. */
static void store(struct us_x86_state *st, struct us_x86_value at, uint8_t reg)
{
	bool is_fp = reg == US_X86_CODE_RBP, is_rcx = reg == US_X86_CODE_RCX;
	if (!is_address(at))
		return;
	if (at.sym == US_SYM_SP && at.off == -st->word)
		st->gone = true;
	if (is_fp && us_x86_state_fp_same(st))
		st->saved = at;
	else if (same(at, st->saved))
		st->saved = unknown;
	if (is_rcx && st->rcx.sym == US_SYM_RCX)
		st->rcx_saved = at;
	else if (same(at, st->rcx_saved))
		st->rcx_saved = unknown;
	if (reg < US_X86_N_CODE && st->reg[reg].sym == US_SYM_WANT)
		st->want_saved = at;
	else if (same(at, st->want_saved))
		st->want_saved = unknown;
}

static bool copies_return(const struct us_x86_state *st, const struct us_x86_insn *insn)
{
	return insn->reg == US_X86_NO_REG && insn->base == st->r10_reg &&
	       insn->imm == -st->word && st->r10.sym == US_SYM_SP && st->r10.off == 0 &&
	       st->sp.sym == US_SYM_NONE;
}

/* Two bytes of a register are not its value. */
static void push_half(struct us_x86_state *st)
{
	st->sp = plus(st->sp, -2);
	store(st, st->sp, US_X86_NO_REG);
}

static void push(struct us_x86_state *st, uint8_t reg)
{
	bool gone = st->gone;
	st->sp = plus(st->sp, -st->word);
	bool again = reg < US_X86_N_CODE && reg == st->popped_reg &&
		     st->sp.sym != US_SYM_NONE && same(st->popped, st->sp);
	st->popped = unknown;
	store(st, st->sp, reg);
	if (again)
		st->gone = gone; /* the word that was there before */
	if (reg == st->r10_reg && st->copied && st->r10_saved.sym == US_SYM_NONE)
		st->r10_saved = st->sp;
}

/* The stack pointer comes from a word of this stack: it goes back to another stack. */
static void set_sp(struct us_x86_state *st, struct us_x86_value v)
{
	st->loaded_sp = v;
	st->sp = is_address(v) ? v : unknown;
	st->away = !is_address(v) && v.sym != US_SYM_MEM_SP;
	if (v.sym != US_SYM_MEM_SP)
		return;
	st->sp = (struct us_x86_value){ .sym = US_SYM_WORD };
	st->sp_at = (struct us_x86_value){ v.off, US_SYM_SP };
}

static void put(struct us_x86_state *st, uint8_t reg, struct us_x86_value v)
{
	if (reg == st->popped_reg)
		st->popped = unknown;
	if (reg == US_X86_CODE_RBP)
		st->fp = v;
	if (reg == US_X86_CODE_RSP)
		set_sp(st, v);
	if (reg == US_X86_CODE_RCX)
		st->rcx = v;
	if (reg < US_X86_N_CODE)
		st->reg[reg] = v;
	/* What was copied from it stays true, although ecx is soon used for other
	 * things. */
	bool spare = reg == US_X86_CODE_R10 || reg == US_X86_CODE_R13;
	if (!spare || st->copied || (v.sym != US_SYM_SP && reg != st->r10_reg))
		return;
	st->r10 = v;
	st->r10_reg = reg;
}

static void pop(struct us_x86_state *st, uint8_t reg)
{
	struct us_x86_value v = load(st, st->sp);
	bool kept = reg == US_X86_CODE_RCX || us_x86_is_preserved(st->word * 8U, reg);
	if (same(st->saved, st->sp))
		st->saved = unknown; /* the slot is free now */
	if (same(st->want_saved, st->sp))
		st->want_saved = unknown;
	struct us_x86_value from = is_address(st->sp) ? st->sp : unknown;
	st->sp = plus(st->sp, st->word);
	if (reg == US_X86_CODE_RBP) {
		st->fp = v;
	} else if (reg == US_X86_CODE_RSP) {
		set_sp(st, v);
	} else {
		put(st, reg, kept ? v : unknown);
	}
	st->popped = reg < US_X86_N_CODE ? from : unknown;
	st->popped_reg = reg;
}

static void pop_half(struct us_x86_state *st, uint8_t reg)
{
	if (same(st->saved, st->sp))
		st->saved = unknown;
	st->sp = plus(st->sp, 2);
	if (reg != US_X86_NO_REG)
		put(st, reg, unknown);
}

static struct us_x86_value get(const struct us_x86_state *st, uint8_t reg)
{
	return reg == US_X86_CODE_RSP			 ? st->sp
	       : reg == US_X86_CODE_RBP			 ? st->fp
	       : reg == st->r10_reg && st->r10.sym	 ? st->r10
	       : us_x86_is_preserved(st->word * 8U, reg) ? st->reg[reg]
							 : unknown;
}

void us_x86_state_drop(struct us_x86_state *st, int32_t n)
{
	st->sp = plus(st->sp, n);
}

void us_x86_state_step(struct us_x86_state *st, const struct us_x86_insn *insn)
{
	static const uint8_t all[8] = { US_X86_CODE_R13, US_X86_CODE_RSI,
					US_X86_CODE_RBP, US_X86_NO_REG,
					US_X86_CODE_RBX, US_X86_NO_REG,
					US_X86_NO_REG,	 US_X86_NO_REG };
	struct us_x86_value at = plus(get(st, insn->base), insn->imm);
	bool away = st->away;

	if (st->stack == US_STACK_ENTRY && insn->stack != US_X86_STACK_NOT)
		st->stack = insn->stack == US_X86_STACK_LOADS ? US_STACK_OWN
							      : US_STACK_USED;
	switch (insn->kind) {
	case US_X86_PUSH:
		if (insn->half) {
			push_half(st);
		} else if (copies_return(st, insn)) {
			st->sp = (struct us_x86_value){ -st->word, US_SYM_SP };
			st->copied = true;
		} else {
			push(st, insn->reg);
		}
		break;
	case US_X86_POP:
		if (insn->half)
			pop_half(st, insn->reg);
		else
			pop(st, insn->reg);
		break;
	case US_X86_MOVE:
		put(st, insn->reg, at);
		if (insn->base == st->r10_reg && insn->reg == US_X86_CODE_RSP) {
			st->r10_saved = unknown;
			st->copied = false;
		}
		break;
	case US_X86_ZERO:
		put(st, insn->reg, (struct us_x86_value){ .sym = US_SYM_ZERO });
		break;
	case US_X86_LOAD:
		put(st, insn->reg, load(st, at));
		break;
	case US_X86_STORE:
		store(st, at, insn->reg);
		break;
	case US_X86_SWAP:
		at = get(st, insn->reg);
		put(st, insn->reg, get(st, insn->base));
		put(st, insn->base, at);
		break;
	case US_X86_SET: /* of rsp: aligned, or made room below; or a constant */
		put(st, insn->reg, unknown);
		put(st, insn->base, unknown);
		st->away = away || insn->stack == US_X86_STACK_LOADS;
		break;
	case US_X86_ENTER:
		push(st, US_X86_CODE_RBP);
		st->fp = st->sp;
		st->sp = plus(st->sp, -insn->imm);
		break;
	case US_X86_PUSH_ALL:
		for (unsigned i = 8; i--;)
			push(st, all[i]);
		break;
	case US_X86_POP_ALL: /* edi, which is called r13, esi, ebp, one word, ebx */
		for (unsigned i = 0; i < 8; i++)
			pop(st, all[i]);
		break;
	case US_X86_LEAVE:
		put(st, US_X86_CODE_RSP, st->fp);
		pop(st, US_X86_CODE_RBP);
		break;
	default:
		break;
	}
}
