/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_kept.c: has a function that an entry calls stored where the exception returns
 * to? See link_rule.h. */
#include "unwind/link_rule.h"

#include "unwind/link_flow.h"

#define MAX_READER 16 /* instructions of a function that only reads it */

/* A function that reads it for its caller, if the compiler has not inlined it. */
static bool is_reader(struct us_link_flow *f, us_gva pc)
{
	struct us_link_insn insn;
	for (unsigned i = 0;
	     i < MAX_READER && f->path.budget && us_link_flow_decode(f, pc, &insn);
	     i++) {
		f->path.budget--;
		pc += insn.len;
		if (insn.reads_pc)
			return true;
		if (insn.kind >= US_LINK_CALL)
			return false;
	}
	return false;
}

/* The registers that hold it after the instruction. */
static uint32_t holders(struct us_link_flow *f, us_gva pc, const struct us_link_insn *i,
			uint32_t before)
{
	uint32_t all = before;
	bool writes = i->kind == US_LINK_SET || i->kind == US_LINK_MOVE ||
		      i->kind == US_LINK_ADD || i->kind == US_LINK_CONST ||
		      i->kind == US_LINK_SHIFT || i->kind == US_LINK_LOAD ||
		      i->kind == US_LINK_BACK || i->kind == US_LINK_SWAP;
	if (us_link_flow_is_call(f, i) || us_link_flow_is_routine(f, i)) {
		all &= f->machine->preserved;
		if (i->kind == US_LINK_CALL && is_reader(f, pc + (us_gva)i->imm))
			all |= 1U << f->machine->result;
		return all;
	}
	if (!writes || i->reg >= US_LINK_N_REG)
		return all;
	all &= ~(1U << i->reg);
	bool copies = i->kind == US_LINK_MOVE && i->base < US_LINK_N_REG &&
		      (before >> i->base & 1);
	if (i->reads_pc || copies)
		all |= 1U << i->reg;
	return all;
}

static bool keeps(const struct us_link_insn *i, uint32_t held)
{
	if (i->kind != US_LINK_STORE)
		return false;
	return (i->reg < US_LINK_N_REG && (held >> i->reg & 1)) ||
	       (i->reg2 < US_LINK_N_REG && (held >> i->reg2 & 1));
}

#define ASIDE 1 /* the order of a path that has left the straight one */

/* What the paths have shown. */
struct kept {
	bool before;  /* one has saved it without coming to the place */
	bool without; /* one has come to the place without saving it before ... */
	bool behind;  /* ... but has saved it then */
};

static bool is_place(const struct us_link_flow *f, const struct us_code_place *at,
		     us_gva pc, const struct us_link_insn *insn)
{
	return at->after_call
		       ? pc + insn->len == at->pc && us_link_flow_is_call(f, insn)
		       : pc == at->pc;
}

/* Follow one path until it has saved it.  A CALL off the straight path may not return:
 * it may handle what must not happen. */
static void follow_until_kept(struct us_link_flow *f, const struct us_code_place *at,
			      const struct us_link_path *p, struct kept *k)
{
	struct us_link_insn insn;
	uint32_t held = (uint32_t)p->st.reg[0].off;
	bool *kept = &k->before;
	us_gva pc = p->pc;
	while (us_code_place_has(at, pc) && us_code_path_visit(&f->path, pc)) {
		struct us_link_state st = { 0 };
		if (!us_link_flow_decode(f, pc, &insn))
			return;
		if (is_place(f, at, pc, &insn)) {
			k->without = true;
			kept = &k->behind;
		}
		if (keeps(&insn, held)) {
			*kept = true;
			return;
		}
		if (insn.kind > US_LINK_JUMP ||
		    (us_link_flow_is_call(f, &insn) && p->order == ASIDE))
			return;
		held = holders(f, pc, &insn, held);
		st.reg[0].off = (int32_t)held;
		us_gva to = pc + (us_gva)insn.imm;
		if (insn.kind == US_LINK_BRANCH)
			us_link_flow_pend(f, to, ASIDE, &st);
		pc = insn.kind == US_LINK_JUMP ? to : pc + insn.len;
	}
}

enum us_link_kept us_link_flow_kept(struct us_link_flow *f,
				    const struct us_code_place *at)
{
	struct us_link_path p = { .pc = at->start };
	struct kept k = { 0 };
	us_code_path_start(&f->path);
	do {
		follow_until_kept(f, at, &p, &k);
	} while (us_link_flow_take(f, &p));
	if (k.without)
		return k.behind && !k.before ? US_LINK_NOT_KEPT : US_LINK_KEPT_PERHAPS;
	return k.before && !f->path.lost ? US_LINK_KEPT : US_LINK_KEPT_PERHAPS;
}
