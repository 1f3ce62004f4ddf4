/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_cfi.c: one step with a rule from a table. */
#include "unwind/walk.h"

#define NO_REG 0xff

/* What a function preserves in 32-bit code: System V psABI for i386, table 2.3. */
#define PRESERVED_32                                                                   \
	(1 << US_X86_RBX | 1 << US_X86_RBP | 1 << US_X86_RSI | 1 << US_X86_RDI)

/* i386 numbers its registers differently from x86-64. */
static unsigned reg_of(const struct us_walk *w, unsigned dwarf)
{
	static const uint8_t i386[8] = {
		US_X86_RAX, US_X86_RCX, US_X86_RDX, US_X86_RBX,
		US_X86_RSP, US_X86_RBP, US_X86_RSI, US_X86_RDI
	};
	if (w->word == 8)
		return dwarf < w->u->arch->n_reg ? dwarf : NO_REG;
	return dwarf < 8 ? i386[dwarf] : NO_REG;
}

static bool plus(const struct us_walk *w, unsigned dwarf, int32_t off, us_gva *ret)
{
	unsigned reg = reg_of(w, dwarf);
	if (reg == NO_REG || !us_walk_knows(w, reg))
		return false;
	*ret = w->reg[reg] + (us_gva)(int64_t)off;
	if (w->word == 4)
		*ret = (uint32_t)*ret;
	return true;
}

static bool cfa_of(struct us_walk *w, const struct us_cfi_rule *r, us_gva *ret)
{
	us_gva at;
	if (!plus(w, r->cfa_reg, r->cfa_off, &at))
		return false;
	switch (r->cfa) {
	case US_CFI_CFA_REG:
		break;
	case US_CFI_CFA_MEM:
	case US_CFI_CFA_MEM_MEM:
		if (!us_walk_read(w, at, &at) ||
		    (r->cfa == US_CFI_CFA_MEM_MEM &&
		     !us_walk_read(w, at + (us_gva)(int64_t)r->cfa_next, &at)))
			return false;
		at += (us_gva)(int64_t)r->cfa_add;
		break;
	case US_CFI_CFA_PLT:
		at += (int32_t)(w->pc & 15) >= r->cfa_add ? w->word : 0;
		break;
	default:
		return false;
	}
	*ret = at;
	return true;
}

/* Where in memory a value of the caller's is; false: it is not in memory. */
static bool address_of(const struct us_walk *w, const struct us_cfi_rule *r, us_gva cfa,
		       uint8_t how, int32_t off, us_gva *ret)
{
	if (how == US_CFI_AT_BASE)
		return plus(w, r->base, off, ret);
	*ret = cfa + (us_gva)(int64_t)off;
	return how == US_CFI_AT_CFA;
}

static bool value_of(struct us_walk *w, const struct us_cfi_rule *r, us_gva cfa,
		     uint8_t how, int32_t off, uint64_t *ret)
{
	us_gva at;
	if (address_of(w, r, cfa, how, off, &at))
		return us_walk_read(w, at, ret);
	switch (how) {
	case US_CFI_IS_CFA:
		*ret = at;
		return true;
	case US_CFI_IS_BASE:
		return plus(w, r->base, off, ret);
	case US_CFI_IN_REG:
		return off >= 0 && plus(w, (unsigned)off, 0, ret);
	default:
		return false;
	}
}

bool us_step_cfi_word(struct us_walk *w, const struct us_cfi_rule *rule, us_gva *ret)
{
	us_gva cfa;
	bool known = rule->pc != US_CFI_LOST && cfa_of(w, rule, &cfa) &&
		     value_of(w, rule, cfa, rule->pc, rule->pc_off, ret);
	if (known)
		*ret = us_walk_strip(w, *ret);
	return known;
}

/* The caller's stack pointer; 0: not known. */
static us_gva sp_of(struct us_walk *w, const struct us_step *s)
{
	uint64_t sp = s->cfa;
	for (unsigned i = 0; i < s->rule->n_saved; i++) {
		const struct us_cfi_saved *v = &s->saved[i];
		if (reg_of(w, v->reg) == w->u->arch->sp &&
		    !value_of(w, s->rule, s->cfa, v->how, v->off, &sp))
			return 0;
	}
	return sp;
}

/*
 * Stacks grow downwards, so callers are above.  But code may switch stacks, and a table
 * knows it.  The number of switches is limited: a stack may point at itself.
 */
static bool goes_up(struct us_walk *w, us_gva to)
{
	us_gva sp = w->reg[w->u->arch->sp];
	/* A leaf whose return address is in a register needs no stack. */
	if (to == sp && w->u->arch->link && !w->after_call)
		return true;
	if (to > sp && to - sp <= US_MAX_FRAME_SIZE)
		return true;
	w->end = US_END_CYCLE;
	return w->n_switch < US_MAX_SWITCHES;
}

static enum us_step_result broken_off(struct us_walk *w, struct us_step *s)
{
	struct us_entry_frame f;
	us_gva at;
	if (s->pc == 0)
		return US_STEP_ROOT;
	s->sp = sp_of(w, s);
	s->exact = true;
	s->how = US_HOW_INTERRUPT;
	s->flags = w->flags;
	if (!s->sp || (s->sp == w->reg[w->u->arch->sp] && s->pc == w->pc))
		return US_STEP_NO;
	/* What the processor pushed shows where it came from.  If it pushed nothing,
	 * the half of the address space shows that. */
	if (w->flags & US_PC_USER) {
		s->flags = US_PC_USER; /* a program calls no kernel function */
	} else if (!w->u->arch->link &&
		   address_of(w, s->rule, s->cfa, s->rule->pc, s->rule->pc_off, &at) &&
		   us_walk_entry_frame(w, at, &f)) {
		s->flags = f.flags;
		s->narrow = f.narrow;
	} else if (us_walk_is_upper(w->pc) && !us_walk_is_upper(s->pc)) {
		s->flags = US_PC_USER;
	}
	return goes_up(w, s->sp) ? US_STEP_YES : US_STEP_NO;
}

/*
 * A trusted table needs less proof.  A CALL is not needed if the tables know the place
 * and either call it the outermost frame (entered by a far return), or its code is gone
 * (Linux frees its init code).  But a place behind a CALL to something else is not
 * accepted: compilers' tables are wrong for some instructions of an epilogue.
 */
static bool is_believed(struct us_walk *w, const struct us_site *site,
			const struct us_step *s)
{
	struct us_site at = { .pc = s->pc, .after_call = true };
	struct us_cfi_row row;
	uint8_t code;
	if (us_site_is_entry(site) || s->call->call != US_CALL_NONE ||
	    !us_walk_may_be_behind(s))
		return false;
	if (!us_sites_cfi(w->u->sites, &at, &row) || row.untrusted)
		return false;
	return row.rule->pc == US_CFI_LOST ||
	       us_paging_is_data(w->paging, w->space, s->pc - 1) ||
	       !us_paging_read(w->paging, w->space, s->pc - 1, &code, sizeof(code));
}

enum us_step_result us_step_cfi(struct us_walk *w, const struct us_site *site,
				const struct us_cfi_rule *rule,
				const struct us_cfi_saved *saved, struct us_step *ret)
{
	ret->rule = rule;
	ret->saved = saved;
	ret->narrow = false;
	w->end = US_END_NO_RULE;
	if (rule->pc == US_CFI_LOST)
		return US_STEP_ROOT;
	if (!cfa_of(w, rule, &ret->cfa))
		return US_STEP_NO;
	if (!value_of(w, rule, ret->cfa, rule->pc, rule->pc_off, &ret->pc)) {
		w->end = US_END_FAULT;
		return US_STEP_NO;
	}
	if (rule->flags & US_CFI_SIGNAL)
		return broken_off(w, ret);
	ret->pc = us_walk_strip(w, ret->pc);
	if (!goes_up(w, ret->cfa))
		return US_STEP_NO;
	w->end = ret->pc == 0 ? US_END_ROOT : US_END_NO_RULE;
	if (ret->pc == 0)
		return US_STEP_NO; /* an end, unless the code knows better */
	ret->exact = false;
	ret->how = US_HOW_CFI;
	ret->flags = w->flags;
	if (us_walk_is_caller(w, site, ret))
		return US_STEP_YES;
	bool known = us_walk_is_signal(w, ret) ||
		     (!site->doubtful &&
		      (is_believed(w, site, ret) || us_walk_begins_thread(w, ret)));
	return known ? US_STEP_YES : US_STEP_NO;
}

void us_step_cfi_restore(struct us_walk *w, const struct us_step *s)
{
	const struct us_cfi_rule *r = s->rule;
	uint64_t value[US_CFI_MAX_SAVED];
	uint32_t got = 0;
	unsigned n = r->n_saved < US_CFI_MAX_SAVED ? r->n_saved : US_CFI_MAX_SAVED;
	unsigned sp = w->u->arch->sp;
	us_gva before = w->reg[sp];

	/* All values depend on the registers of this frame: none may change yet. */
	for (unsigned i = 0; i < n; i++)
		got |= (uint32_t)value_of(w, r, s->cfa, s->saved[i].how,
					  s->saved[i].off, &value[i])
		       << i;
	if (!(r->flags & US_CFI_SIGNAL))
		w->known &= w->word == 8 ? w->u->arch->preserved : PRESERVED_32;
	w->reg[sp] = s->cfa;
	w->known |= 1U << sp;
	for (unsigned i = 0; i < n; i++) {
		unsigned reg = reg_of(w, s->saved[i].reg);
		if (reg == NO_REG)
			continue;
		w->known &= ~(1U << reg);
		if (got >> i & 1) {
			w->reg[reg] = value[i];
			w->known |= 1U << reg;
		}
	}
	w->framed = reg_of(w, r->cfa_reg) == w->u->arch->fp;
	if (w->reg[sp] <= before)
		w->n_switch++;
}
