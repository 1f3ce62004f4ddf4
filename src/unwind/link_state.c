/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_state.c: see link_state.h. */
#include "unwind/link_state.h"

#include <string.h>

static const struct us_link_value unknown;

void us_link_state_init(struct us_link_state *st, const struct us_link_machine *m)
{
	memset(st, 0, sizeof(*st));
	st->want = US_LINK_NO_REG;
	for (int i = 0; i < US_LINK_N_REG; i++)
		st->reg[i] = (struct us_link_value){ i, US_LSYM_REG };
	st->reg[m->sp] = (struct us_link_value){ 0, US_LSYM_SP };
	st->reg[m->fp] = (struct us_link_value){ 0, US_LSYM_FP };
	st->reg[m->ra] = (struct us_link_value){ 0, US_LSYM_RA };
	st->exit_pc.sym = US_LSYM_EXIT;
}

static struct us_link_value constant(int64_t imm)
{
	return (struct us_link_value){ imm, US_LSYM_CONST };
}

static struct us_link_value plus(struct us_link_value v, int64_t imm)
{
	int64_t off = (int64_t)((uint64_t)v.off + (uint64_t)imm);
	bool counts = v.sym == US_LSYM_SP || v.sym == US_LSYM_FP;
	if (imm == 0)
		return v;
	if (v.sym == US_LSYM_CONST)
		return constant(off);
	if (!counts || imm < INT32_MIN || imm > INT32_MAX || off < INT32_MIN ||
	    off > INT32_MAX)
		return unknown;
	v.off = off;
	return v;
}

static bool same(struct us_link_value a, struct us_link_value b)
{
	return a.sym != US_LSYM_NONE && a.sym != US_LSYM_ELSEWHERE && a.sym == b.sym &&
	       a.off == b.off;
}

static struct us_link_value at(const struct us_link_state *st, uint8_t base,
			       int64_t imm)
{
	struct us_link_value v = plus(st->reg[base % US_LINK_N_REG], imm);
	return v.sym == US_LSYM_SP || v.sym == US_LSYM_FP ? v : unknown;
}

/* Only the first access to a word counts. */
static void note(struct us_link_state *st, uint64_t *words, struct us_link_value v)
{
	int64_t k = v.off / 8 + US_LINK_NEAR / 2;
	if (v.sym != US_LSYM_SP || v.off % 8 || k < 0 || k >= US_LINK_NEAR)
		return;
	uint64_t bit = 1ULL << (k % 64);
	if (!((st->read[k / 64] | st->written[k / 64]) & bit))
		words[k / 64] |= bit;
}

bool us_link_state_is_new(const struct us_link_state *st, struct us_link_value word)
{
	int64_t k = word.off / 8 + US_LINK_NEAR / 2;
	return word.sym == US_LSYM_MEM_SP && word.off % 8 == 0 && k >= 0 &&
	       k < US_LINK_NEAR && (st->written[k / 64] >> (k % 64) & 1);
}

static void load(struct us_link_state *st, uint8_t reg, struct us_link_value from)
{
	note(st, st->read, from);
	if (reg >= US_LINK_N_REG)
		return;
	st->reg[reg] = (struct us_link_value){ .sym = US_LSYM_ELSEWHERE };
	if (same(from, st->ra_saved))
		st->reg[reg].sym = US_LSYM_RA;
	else if (same(from, st->fp_saved))
		st->reg[reg].sym = US_LSYM_FP;
	else if (same(from, st->want_saved))
		st->reg[reg] = (struct us_link_value){ st->want, US_LSYM_REG };
	else if (from.sym != US_LSYM_NONE)
		st->reg[reg] = (struct us_link_value){ from.off,
						       from.sym == US_LSYM_SP
							       ? US_LSYM_MEM_SP
							       : US_LSYM_MEM_FP };
}

static void store(struct us_link_state *st, uint8_t reg, struct us_link_value to)
{
	struct us_link_value v = reg < US_LINK_N_REG ? st->reg[reg] : unknown;
	bool is_ra = v.sym == US_LSYM_RA, is_fp = v.sym == US_LSYM_FP && v.off == 0;
	note(st, st->written, to);
	/* What is overwritten is lost. */
	if (same(to, st->ra_saved) && !is_ra)
		st->ra_saved = unknown;
	if (same(to, st->fp_saved) && !is_fp)
		st->fp_saved = unknown;
	if (is_ra && st->ra_saved.sym == US_LSYM_NONE)
		st->ra_saved = to;
	if (is_fp && st->fp_saved.sym == US_LSYM_NONE)
		st->fp_saved = to;
	bool is_wanted = v.sym == US_LSYM_REG && v.off == st->want;
	if (same(to, st->want_saved) && !is_wanted)
		st->want_saved = unknown;
	if (is_wanted && st->want_saved.sym == US_LSYM_NONE)
		st->want_saved = to;
}

/* The return address once more, from the shadow call stack. */
static bool is_shadow(const struct us_link_state *st, const struct us_link_machine *m,
		      const struct us_link_insn *i)
{
	uint8_t has = st->reg[m->ra].sym;
	/* gcc loads it from there alone: then it is none that this path knows. */
	bool kept = has == US_LSYM_RA && st->ra_saved.sym != US_LSYM_NONE;
	return i->kind == US_LINK_LOAD && i->reg == m->ra && i->base == m->shadow &&
	       i->reg2 >= US_LINK_N_REG &&
	       (kept || has == US_LSYM_MEM_SP || has == US_LSYM_MEM_FP);
}

static void access_memory(struct us_link_state *st, const struct us_link_machine *m,
			  const struct us_link_insn *i)
{
	struct us_link_value first = at(st, i->base, i->imm);
	struct us_link_value second = at(st, i->base, i->imm + 8);
	struct us_link_value base = plus(st->reg[i->base % US_LINK_N_REG], i->write);
	if (is_shadow(st, m, i)) {
		/* it is the one that there is already */
	} else if (i->kind == US_LINK_LOAD) {
		load(st, i->reg, first);
		if (i->reg2 < US_LINK_N_REG)
			load(st, i->reg2, second);
	} else {
		store(st, i->reg, first);
		if (i->reg2 < US_LINK_N_REG)
			store(st, i->reg2, second);
	}
	if (i->write)
		st->reg[i->base % US_LINK_N_REG] = base;
}

static struct us_link_value sum(const struct us_link_state *st,
				const struct us_link_insn *i)
{
	struct us_link_value a = st->reg[i->base % US_LINK_N_REG];
	struct us_link_value b = st->reg[i->reg2 % US_LINK_N_REG];
	if (b.sym == US_LSYM_CONST)
		return plus(a, i->imm < 0 ? (int64_t)(0 - (uint64_t)b.off) : b.off);
	return a.sym == US_LSYM_CONST && i->imm == 1 ? plus(b, a.off) : unknown;
}

static struct us_link_value moved(const struct us_link_state *st,
				  const struct us_link_insn *i)
{
	struct us_link_value v = plus(st->reg[i->base % US_LINK_N_REG], i->imm);
	return i->narrow && v.sym != US_LSYM_CONST ? unknown : v;
}

static struct us_link_value shifted(struct us_link_value v,
				    const struct us_link_insn *i)
{
	if (v.sym != US_LSYM_CONST || i->imm < 0 || i->imm > 63)
		return unknown;
	return constant((int64_t)((uint64_t)v.off << i->imm));
}

static struct us_link_value inserted(struct us_link_value v,
				     const struct us_link_insn *i)
{
	if (v.sym != US_LSYM_CONST || i->reg2 > 48)
		return unknown;
	uint64_t bits = (uint64_t)v.off & ~(0xffffULL << i->reg2);
	return constant((int64_t)(bits | (uint64_t)i->imm << i->reg2));
}

static void call(struct us_link_state *st, const struct us_link_machine *m)
{
	for (unsigned i = 0; i < US_LINK_N_REG; i++)
		if (!(m->preserved >> i & 1))
			st->reg[i] = unknown;
}

/* What the first instruction that names the stack pointer does with it. */
static uint8_t stack_after(uint8_t sp, const struct us_link_insn *i)
{
	bool in_base = i->base == sp, in_reg = i->reg == sp, in_second = i->reg2 == sp;
	switch (i->kind) {
	case US_LINK_CONST:
		return in_reg ? US_STACK_OWN : US_STACK_ENTRY;
	case US_LINK_MOVE:
		return in_base ? US_STACK_USED : in_reg ? US_STACK_OWN : US_STACK_ENTRY;
	case US_LINK_LOAD:
		return in_base		     ? US_STACK_USED
		       : in_reg || in_second ? US_STACK_OWN
					     : US_STACK_ENTRY;
	case US_LINK_ADD:
		return in_base || in_second ? US_STACK_USED
		       : in_reg		    ? US_STACK_OWN
					    : US_STACK_ENTRY;
	case US_LINK_SET:
		return in_reg && i->fresh  ? US_STACK_OWN
		       : in_reg || in_base ? US_STACK_USED
					   : US_STACK_ENTRY;
	case US_LINK_CALL:
	case US_LINK_BRANCH:
	case US_LINK_JUMP:
		return US_STACK_ENTRY;
	default: /* a store saves it */
		return in_base || in_reg || (in_second && i->kind == US_LINK_STORE)
			       ? US_STACK_USED
			       : US_STACK_ENTRY;
	}
}

void us_link_state_step(struct us_link_state *st, const struct us_link_machine *m,
			const struct us_link_insn *i)
{
	struct us_link_value *reg = &st->reg[i->reg % US_LINK_N_REG];
	if (st->stack == US_STACK_ENTRY)
		st->stack = stack_after(m->sp, i);
	switch (i->kind) {
	case US_LINK_SET:
		*reg = unknown;
		break;
	case US_LINK_SHIFT:
		*reg = shifted(st->reg[i->base % US_LINK_N_REG], i);
		break;
	case US_LINK_MOVE:
		*reg = moved(st, i);
		break;
	case US_LINK_ADD:
		*reg = sum(st, i);
		break;
	case US_LINK_CONST:
		*reg = constant(i->imm);
		break;
	case US_LINK_INSERT:
		*reg = inserted(*reg, i);
		break;
	case US_LINK_LOAD:
	case US_LINK_STORE:
		access_memory(st, m, i);
		return;
	case US_LINK_ASIDE:
		st->aside = *reg;
		break;
	case US_LINK_BACK:
		*reg = st->aside;
		break;
	case US_LINK_SWAP: {
		struct us_link_value put_aside = st->reg[i->base % US_LINK_N_REG];
		*reg = st->aside;
		st->aside = put_aside;
		break;
	}
	case US_LINK_EXIT_PC:
		st->exit_pc = *reg;
		break;
	case US_LINK_EXIT_SP:
		st->exit_sp = *reg;
		break;
	case US_LINK_EXIT_STATE:
		st->exit_state = i->reg < US_LINK_N_REG ? *reg : unknown;
		break;
	case US_LINK_CALL:
	case US_LINK_CALL_INDIRECT:
		call(st, m);
		break;
	default:
		break;
	}
	if (i->write)
		st->reg[i->base % US_LINK_N_REG] = plus(
			st->reg[i->base % US_LINK_N_REG], i->write);
}
