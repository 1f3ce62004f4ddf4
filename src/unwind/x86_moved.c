/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_moved.c: functions that return with more on the stack than they were entered
 * with; see us_x86_rule_of_moved().
 *
 * Each register's value is traced along straight code: its own at the place, or a word
 * that was on the stack there.  Whatever is not known for certain counts as lost.
 */
#include "unwind/x86_flow.h"
#include "unwind/x86_parts.h"
#include "unwind/x86_rule.h"

#define MAX_MOVED  64 /* instructions */
#define MAX_STORES 8

enum origin { OWN, WORD, LOST };

struct value {
	uint8_t origin; /* enum origin */
	uint8_t reg;	/* OWN */
	int32_t off;	/* WORD: from rsp at the place */
};

struct trace {
	struct us_x86_state st;
	struct value reg[US_X86_N_CODE];
	struct value top; /* the word that was pushed last ... */
	int32_t top_off;  /* ... to here */
	int32_t stored[MAX_STORES];
	unsigned n_stored;
};

static struct value word_at(const struct trace *t, int64_t off)
{
	struct value v = { .origin = WORD, .off = (int32_t)off };
	if (t->st.sp.sym != US_SYM_SP || off < 0 || off > INT16_MAX)
		v.origin = LOST;
	for (unsigned i = 0; i < t->n_stored; i++)
		if (t->stored[i] == off)
			v.origin = LOST;
	return v;
}

static void lose(struct trace *t, uint8_t reg)
{
	if (reg < US_X86_N_CODE)
		t->reg[reg].origin = LOST;
}

/* Instructions that name no register may write the first eight. */
static void lose_unnamed(struct trace *t, const struct us_x86_parts *p)
{
	bool flags = p->op == 0x90 || (p->op >= 0xf8 && p->op <= 0xfd);
	if (p->map == US_X86_MAP_1 && flags)
		return;
	for (uint8_t i = 0; i < 8; i++)
		lose(t, i);
	lose(t, (p->op & 7) | p->b);
}

/* No matter whether it writes them. */
static void lose_named(struct trace *t, const struct us_x86_parts *p)
{
	bool wide = (p->op == 0xf6 || p->op == 0xf7) && p->map == US_X86_MAP_1;
	lose(t, p->reg);
	if (p->mod == 3)
		lose(t, p->rm);
	for (uint8_t i = 0; i < 4 && (wide || p->map != US_X86_MAP_1); i++)
		lose(t, i);
}

static void other(struct trace *t, const struct us_x86_parts *p)
{
	bool plain = p->map == US_X86_MAP_1 && !p->vector && p->w;
	bool load = plain && p->op == 0x8b && p->mod != 3 && p->mem_base == 4;
	if (load) {
		t->reg[p->reg] = word_at(t, (int64_t)t->st.sp.off + p->disp);
	} else if (plain && p->mod == 3 && (p->op == 0x89 || p->op == 0x8b)) {
		bool to_rm = p->op == 0x89;
		t->reg[to_rm ? p->rm : p->reg] = t->reg[to_rm ? p->reg : p->rm];
	} else if (!p->modrm) {
		lose_unnamed(t, p);
	} else {
		lose_named(t, p);
	}
}

static bool store(struct trace *t, const struct us_x86_insn *insn)
{
	if (insn->base != US_X86_CODE_RSP || t->n_stored == MAX_STORES)
		return false;
	int32_t off = t->st.sp.off + insn->imm;
	t->stored[t->n_stored++] = off;
	return off != t->top_off;
}

/* The state still has rsp as it was before the instruction; false: not followed. */
static bool trace_one(struct trace *t, const struct us_x86_insn *insn,
		      const struct us_x86_parts *p)
{
	switch (insn->kind) {
	case US_X86_PUSH:
		t->top = insn->reg < US_X86_N_CODE ? t->reg[insn->reg]
			 : insn->base == US_X86_CODE_RSP
				 ? word_at(t, (int64_t)t->st.sp.off + insn->imm)
				 : (struct value){ .origin = LOST };
		t->top_off = t->st.sp.off - 8;
		return !insn->half;
	case US_X86_POP:
		if (insn->reg < US_X86_N_CODE)
			t->reg[insn->reg] = word_at(t, t->st.sp.off);
		return !insn->half;
	case US_X86_STORE:
		return store(t, insn);
	case US_X86_NOP:
	case US_X86_ENDBR:
	case US_X86_JUMP:
	case US_X86_BRANCH:
		return true;
	case US_X86_OTHER:
	case US_X86_MOVE:
	case US_X86_ZERO:
	case US_X86_LOAD:
	case US_X86_SET:
		other(t, p);
		return true;
	default:
		return false;
	}
}

static bool cut(struct us_x86_flow *f, us_gva pc, struct us_x86_insn *insn,
		struct us_x86_parts *p)
{
	size_t len;
	if (!f->path.budget || !us_x86_flow_decode(f, pc, insn))
		return false;
	f->path.budget--;
	const uint8_t *code = us_code_path_bytes(&f->path, pc, US_X86_MAX_INSN, &len);
	return us_x86_cut(p, code, len, 64);
}

static bool rule_for(const struct us_x86_flow *f, const struct trace *t,
		     const struct us_x86_insn *insn, struct us_code_rule *ret)
{
	const struct us_x86_value *sp = &t->st.sp;
	if (insn->kind != US_X86_RET || insn->imm || sp->off >= 0 ||
	    sp->off != t->top_off || !us_x86_state_fp_same(&t->st))
		return false;
	*ret = (struct us_code_rule){ .base = US_BASE_SP,
				      .cfa = sp->off + 8,
				      .fp = US_FP_SAME };
	if (t->top.origin == OWN) {
		ret->ra = US_RA_KEPT;
		ret->from = us_x86_any_number(f, t->top.reg) & 31;
		return true;
	}
	ret->ra = US_RA_SAVED;
	return t->top.origin == WORD &&
	       us_code_slot(t->top.off - ret->cfa, &ret->ra_at);
}

void us_x86_rule_of_moved(struct us_x86_flow *f, const struct us_code_place *at,
			  struct us_code_rule rule[2])
{
	struct us_code_rule moved;
	struct trace t = {
		.st = { .word = 8, .sp = { 0, US_SYM_SP }, .fp = { 0, US_SYM_FP } }
	};
	struct us_x86_insn insn;
	struct us_x86_parts p;
	us_gva pc = at->pc;
	if (!f->returns || at->after_call || f->word != 8 || !at->start)
		return;
	for (uint8_t i = 0; i < US_X86_N_CODE; i++)
		t.reg[i] = (struct value){ .reg = i };
	for (unsigned i = 0; i < MAX_MOVED && cut(f, pc, &insn, &p); i++) {
		us_gva next = pc + insn.len;
		if (insn.kind == US_X86_RET && rule_for(f, &t, &insn, &moved)) {
			rule[1] = rule[0];
			rule[0] = moved;
		}
		if (insn.kind == US_X86_RET || !trace_one(&t, &insn, &p))
			return;
		us_x86_state_step(&t.st, &insn);
		if (t.st.sp.sym != US_SYM_SP)
			return;
		pc = insn.kind == US_X86_JUMP ? us_x86_flow_target(f, next, &insn)
					      : next;
	}
}
