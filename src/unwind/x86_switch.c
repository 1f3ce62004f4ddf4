/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_switch.c: the caller's stack, where code has switched to another one and finds
 * its way back through memory.  See x86_rule.h.
 *
 * OCaml 5 runs each fiber on a stack of its own.  caml_start_program stores the old
 * stack pointer on the new stack, but goes back by a pointer elsewhere; caml_runstack
 * goes back by a pointer to what describes the old stack, and leaves by a jump.  So one
 * instruction after the other is followed: how it came here shows the first, how it
 * goes on the second.
 */
#include "unwind/x86_flow.h"
#include "unwind/x86_parts.h"
#include "unwind/x86_rule.h"

#define RSP	 US_X86_CODE_RSP
#define MAX_INSN 256
#define MAX_OFF	 (1 << 20)
#define MAX_LINK 4096 /* bytes on the stack, up to the pointer to the other one */
#define MAX_NEXT 255  /* words: us_code_rule.base_at */

enum kind {
	UNKNOWN,
	STACK,	   /* rsp where the path began, or the CFA */
	WORD,	   /* the word at STACK + at */
	WORD_WORD, /* the word at [that word + next] */
	SOME,	   /* what register id had where the path began, or was loaded later */
};

struct value {
	int32_t off; /* is added */
	int32_t at, next;
	uint16_t id;
	uint8_t kind;
};

struct machine {
	struct value reg[US_X86_N_CODE]; /* by number in the code */
	struct value link;		 /* where rsp was stored last ... */
	int32_t linked;			 /* ... when it was STACK + this */
	uint16_t n_some;
};

static void begin(struct machine *m, int32_t sp)
{
	*m = (struct machine){ .n_some = US_X86_N_CODE };
	for (uint16_t i = 0; i < US_X86_N_CODE; i++)
		m->reg[i] = (struct value){ .kind = SOME, .id = i };
	m->reg[RSP] = (struct value){ .kind = STACK, .off = sp };
}

static struct value some(struct machine *m)
{
	return (struct value){ .kind = SOME, .id = m->n_some++ };
}

static struct value plus(struct value v, int64_t n)
{
	n += v.off;
	if (n > MAX_OFF || n < -MAX_OFF)
		return (struct value){ .kind = UNKNOWN };
	v.off = (int32_t)n;
	return v;
}

static bool same_but_off(const struct value *a, const struct value *b)
{
	return a->kind && a->kind == b->kind && a->id == b->id && a->at == b->at &&
	       a->next == b->next;
}

static struct value address(const struct machine *m, const struct us_x86_parts *p)
{
	if (p->mem_base >= US_X86_N_CODE)
		return (struct value){ .kind = UNKNOWN };
	return plus(m->reg[p->mem_base], p->disp);
}

static struct value load(struct machine *m, struct value from)
{
	if (from.kind == STACK)
		return (struct value){ .kind = WORD, .at = from.off };
	if (from.kind == WORD)
		return (struct value){ .kind = WORD_WORD,
				       .at = from.at,
				       .next = from.off };
	return some(m);
}

static void store(struct machine *m, struct value to, const struct value *v)
{
	if (v->kind == STACK && to.kind == SOME) {
		m->link = to;
		m->linked = v->off;
	} else if (same_but_off(&to, &m->link) && to.off == m->link.off) {
		m->link.kind = UNKNOWN;
	}
}

static void push(struct machine *m, uint8_t reg)
{
	struct value v = { .kind = UNKNOWN };
	if (reg < US_X86_N_CODE)
		v = m->reg[reg];
	m->reg[RSP] = plus(m->reg[RSP], -8);
	store(m, m->reg[RSP], &v);
}

/* What a function that is called does not preserve; or anything. */
static void forget(struct machine *m, bool all)
{
	for (uint8_t i = 0; i < US_X86_N_CODE; i++)
		if (i != RSP &&
		    (all || (i != US_X86_CODE_RBP && !us_x86_is_preserved(64, i))))
			m->reg[i] = some(m);
}

/* Comparisons change no register, nor memory. */
static bool compares(const struct us_x86_parts *p)
{
	bool by_op = (p->op >= 0x38 && p->op <= 0x3d) || p->op == 0x84 ||
		     p->op == 0x85 || p->op == 0xa8 || p->op == 0xa9;
	bool by_reg = p->op >= 0x80 && p->op <= 0x83 && (p->reg & 7) == 7;
	return p->map == US_X86_MAP_1 && !p->vector && (by_op || by_reg);
}

static bool moved(struct machine *m, const struct us_x86_parts *p)
{
	bool memory = p->mod != 3;
	uint8_t sub = p->reg & 7;
	if (p->map != US_X86_MAP_1 || p->vector || !p->w || p->addr_half)
		return false;
	struct value at = address(m, p);
	switch (p->op) {
	case 0xc7:
		store(m, at, &(struct value){ .kind = UNKNOWN });
		return memory;
	case 0x89:
		if (memory)
			store(m, at, &m->reg[p->reg]);
		else
			m->reg[p->rm] = m->reg[p->reg];
		return true;
	case 0x8b:
		m->reg[p->reg] = memory ? load(m, at) : m->reg[p->rm];
		return true;
	case 0x8d:
		m->reg[p->reg] = at.kind ? at : some(m);
		return memory;
	case 0x81:
	case 0x83:
		if (memory || (sub != 0 && sub != 5))
			return false;
		m->reg[p->rm] = plus(m->reg[p->rm],
				     sub == 0 ? p->imm : -(int64_t)p->imm);
		return true;
	default:
		return false;
	}
}

/* False: it is not known where the stack pointer is behind it. */
static bool apply(struct machine *m, const struct us_x86_parts *p,
		  const struct us_x86_insn *insn)
{
	switch (insn->kind) {
	case US_X86_NOP:
	case US_X86_ENDBR:
	case US_X86_BRANCH:
	case US_X86_JUMP:
		return true;
	case US_X86_CALL:
	case US_X86_CALL_INDIRECT:
		forget(m, false);
		return true;
	case US_X86_PUSH:
		push(m, insn->reg);
		return !insn->half;
	case US_X86_POP:
		if (insn->half || insn->reg >= US_X86_N_CODE)
			return false;
		m->reg[insn->reg] = load(m, m->reg[RSP]);
		if (insn->reg != RSP)
			m->reg[RSP] = plus(m->reg[RSP], 8);
		return true;
	default:
		break;
	}
	if (insn->kind == US_X86_SET && insn->stack == US_X86_STACK_LOADS &&
	    insn->reg == RSP) {
		m->reg[RSP] = some(m);
		return true;
	}
	if (!moved(m, p) && !compares(p)) {
		if (insn->kind != US_X86_OTHER && insn->reg == RSP)
			return false;
		forget(m, true);
	}
	return insn->kind < US_X86_ENTER;
}

/* Decode the instruction at pc; false: it cannot be followed. */
static bool fetch(struct us_x86_flow *f, us_gva pc, struct us_x86_parts *p,
		  struct us_x86_insn *insn)
{
	size_t len;
	const uint8_t *code = us_code_path_bytes(&f->path, pc, US_X86_MAX_INSN, &len);
	if (!f->path.budget)
		return false;
	f->path.budget--;
	return us_x86_decode(code, len, 64, insn) && us_x86_cut(p, code, len, 64);
}

static bool ends_flow(const struct us_x86_insn *insn)
{
	return insn->kind == US_X86_JUMP || insn->kind == US_X86_JUMP_INDIRECT ||
	       (insn->kind >= US_X86_RET && insn->kind <= US_X86_STOP);
}

/*
 * From the start, in one piece: is the old stack pointer on the new stack?  *ret_from:
 * where to begin to look at what follows: behind the last CALL, if there is one.
 */
static bool is_linked(struct us_x86_flow *f, const struct us_code_place *at,
		      struct us_code_rule *ret, us_gva *ret_from)
{
	struct us_x86_parts p;
	struct us_x86_insn insn;
	struct machine m;
	bool whole = true;
	us_gva pc = at->start;
	begin(&m, -8);
	*ret_from = 0;
	for (unsigned i = 0; i < MAX_INSN && pc < at->pc; i++, pc += insn.len) {
		if (!fetch(f, pc, &p, &insn))
			return false;
		bool called = insn.kind == US_X86_CALL ||
			      insn.kind == US_X86_CALL_INDIRECT;
		whole = whole && !ends_flow(&insn) && apply(&m, &p, &insn);
		if (called || ends_flow(&insn))
			*ret_from = pc + insn.len;
	}
	if (pc != at->pc)
		*ret_from = 0;
	struct value *sp = &m.reg[RSP];
	int32_t link = m.link.off - sp->off;
	if (!whole || pc != at->pc || sp->kind != SOME || !same_but_off(sp, &m.link) ||
	    link < 0 || link > MAX_LINK || !us_code_slot(link, &ret->sp_at))
		return false;
	ret->base = US_BASE_WORD;
	ret->cfa = -m.linked;
	return true;
}

/* The rule at a place where the registers were those of `here`, if rsp is `out` where
 * the function leaves. */
static bool rule_for(const struct us_x86_flow *f, const struct machine *here,
		     const struct value *out, struct us_code_rule *ret)
{
	const struct value *sp = &here->reg[RSP];
	int32_t link = out->at - sp->off;
	ret->cfa = out->off + 8;
	if (out->kind == STACK && sp->kind == STACK) {
		ret->base = US_BASE_SP;
		ret->cfa -= sp->off;
		return true;
	}
	if (out->kind == WORD_WORD && sp->kind == STACK && link >= 0 &&
	    link <= MAX_LINK && us_code_slot(link, &ret->sp_at) && out->next >= 0 &&
	    out->next % 8 == 0 && out->next / 8 <= MAX_NEXT) {
		ret->base = US_BASE_WORD_WORD;
		ret->base_at = (uint8_t)(out->next / 8);
		return true;
	}
	for (uint8_t i = 0; i < US_X86_N_CODE; i++) {
		const struct value *v = &here->reg[i];
		if (!us_x86_is_preserved(64, i) || !same_but_off(v, out))
			continue;
		ret->base = US_BASE_KEPT;
		ret->base_reg = us_x86_other_number(f, i, true);
		ret->cfa = out->off - v->off + 8;
		return true;
	}
	return false;
}

/* Where does rsp point when the function leaves, by a ret or a jump? */
static bool goes_back(struct us_x86_flow *f, const struct us_code_place *at, us_gva pc,
		      struct us_code_rule *ret)
{
	struct us_x86_parts p;
	struct us_x86_insn insn;
	struct machine m, here = { 0 };
	bool passed = false;
	begin(&m, 0);
	for (unsigned i = 0; i < MAX_INSN; i++) {
		if (pc == at->pc) {
			here = m;
			passed = true;
		}
		if (!fetch(f, pc, &p, &insn))
			return false;
		if (insn.kind == US_X86_RET || insn.kind == US_X86_JUMP_INDIRECT)
			return passed && rule_for(f, &here, &m.reg[RSP], ret);
		if (!apply(&m, &p, &insn))
			return false;
		pc += insn.len;
		if (insn.kind == US_X86_JUMP)
			pc += (us_gva)(int64_t)insn.imm;
	}
	return false;
}

bool us_x86_rule_of_switch(struct us_x86_flow *f, const struct us_code_place *at,
			   struct us_code_rule *rule)
{
	struct us_code_rule found = *rule;
	us_gva from;
	if (f->word != 8 || !at->start || at->start >= at->pc)
		return false;
	bool ok = is_linked(f, at, &found, &from) ||
		  goes_back(f, at, from ? from : at->pc, &found);
	if (ok)
		*rule = found;
	return ok;
}
