/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_runs.c: the code that a new thread or program begins with; see link_rule.h. */
#include "unwind/link_flow.h"
#include "unwind/link_rule.h"

#define MAX_INSNS 16

/* A register that functions preserve, as it was when the function was entered. */
static bool is_given(const struct us_link_flow *f, const struct us_link_state *st,
		     uint8_t reg)
{
	struct us_link_value v = st->reg[reg % US_LINK_N_REG];
	return v.sym == US_LSYM_REG && f->machine->preserved >> v.off & 1;
}

static bool is_ra(const struct us_link_state *st, uint8_t reg)
{
	return reg < US_LINK_N_REG && st->reg[reg].sym == US_LSYM_RA;
}

/* Does anything hold the way back by now, or does this instruction store it? */
static bool keeps_ra(const struct us_link_state *st, const struct us_link_insn *insn)
{
	bool stores = insn->kind == US_LINK_STORE &&
		      (is_ra(st, insn->reg) || is_ra(st, insn->reg2));
	bool aside = insn->kind == US_LINK_ASIDE && is_ra(st, insn->reg);
	bool swaps = insn->kind == US_LINK_SWAP && is_ra(st, insn->base);
	bool exits = insn->kind == US_LINK_EXIT_PC && is_ra(st, insn->reg);
	return stores || aside || swaps || exits;
}

static bool has_ra(const struct us_link_state *st)
{
	for (uint8_t i = 0; i < US_LINK_N_REG; i++)
		if (is_ra(st, i))
			return true;
	return false;
}

bool us_link_runs(struct us_link_flow *f, const struct us_code_place *at)
{
	struct us_link_insn insn;
	struct us_link_state st;
	us_gva pc = at->start;
	bool runs = false;
	us_link_state_init(&st, f->machine);
	us_code_path_start(&f->path);
	for (unsigned i = 0; i < MAX_INSNS && f->path.budget && pc < at->pc; i++) {
		f->path.budget--;
		if (!us_link_flow_decode(f, pc, &insn) || keeps_ra(&st, &insn))
			return false;
		bool call = us_link_flow_is_call(f, &insn);
		runs |= insn.kind == US_LINK_CALL_INDIRECT && !insn.imm &&
			is_given(f, &st, insn.reg);
		if ((!call && insn.kind >= US_LINK_CALL) ||
		    !us_link_flow_step(f, pc, &insn, &st))
			return false;
		pc += insn.len;
		if (pc == at->pc)
			return call && runs && !has_ra(&st);
	}
	return false;
}

bool us_link_drops(struct us_link_flow *f, const struct us_code_place *at)
{
	struct us_link_insn insn;
	struct us_link_state st;
	us_gva pc = at->start;
	bool met = false;
	us_link_state_init(&st, f->machine);
	us_code_path_start(&f->path);
	for (unsigned i = 0; i < MAX_INSNS && f->path.budget; i++) {
		f->path.budget--;
		met |= pc == at->pc;
		if (!us_link_flow_decode(f, pc, &insn) || keeps_ra(&st, &insn) ||
		    insn.kind >= US_LINK_CALL || !us_link_flow_step(f, pc, &insn, &st))
			return false;
		pc += insn.len;
		struct us_link_value ra = st.reg[f->machine->ra];
		if (ra.sym == US_LSYM_CONST)
			return met && ra.off == 0 && !has_ra(&st);
	}
	return false;
}
