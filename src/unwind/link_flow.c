/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_flow.c: what all analyses of code with a link register share; see
 * link_flow.h. */
#include "unwind/link_flow.h"

#include "unwind/link_rule.h"

#include <stdlib.h>

#define MAX_ROUTINE 32 /* instructions of a routine that saves registers */

struct us_link_flow *us_link_flow_new(const struct us_link_machine *m)
{
	struct us_link_flow *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->machine = m;
	f->want = US_LINK_NO_REG;
	return f;
}

void us_link_flow_free(struct us_link_flow *f)
{
	free(f);
}

const struct us_link_machine *us_link_flow_machine(const struct us_link_flow *f)
{
	return f->machine;
}

void us_link_flow_use(struct us_link_flow *f, struct us_paging *p,
		      const struct us_space *s)
{
	us_code_path_use(&f->path, p, s);
}

void us_link_flow_allow(struct us_link_flow *f, unsigned n_insn)
{
	f->path.budget = n_insn;
}

bool us_link_flow_spent(const struct us_link_flow *f)
{
	return f->path.budget == 0;
}

/* --- code --- */

bool us_link_flow_decode(struct us_link_flow *f, us_gva pc, struct us_link_insn *ret)
{
	size_t len;
	const uint8_t *code = us_code_path_bytes(&f->path, pc, 4, &len);
	if (pc % f->machine->align == 0 && f->machine->decode(code, len, ret)) {
		us_link_insn_place(ret, pc);
		return true;
	}
	f->path.lost = true;
	return false;
}

/* --- the paths --- */

void us_link_flow_pend(struct us_link_flow *f, us_gva pc, uint64_t order,
		       const struct us_link_state *st)
{
	uint8_t slot;
	if (us_code_path_pend(&f->path, pc, order, false, &slot))
		f->pending[slot] = *st;
}

bool us_link_flow_take(struct us_link_flow *f, struct us_link_path *ret)
{
	struct us_code_pending next;
	if (!us_code_path_take(&f->path, &next))
		return false;
	*ret = (struct us_link_path){ next.pc, next.order, f->pending[next.slot] };
	return true;
}

/*
 * A CALL that leaves the return address in another register than functions use is to a
 * routine that saves registers for its caller (gcc -msave-restore; the RISC-V ABI names
 * t0 for it).  What the routine does counts as if its caller did it.
 */
bool us_link_flow_is_routine(const struct us_link_flow *f,
			     const struct us_link_insn *insn)
{
	bool calls = insn->kind == US_LINK_CALL || insn->kind == US_LINK_CALL_INDIRECT;
	return calls && insn->reg2 != f->machine->ra;
}

bool us_link_flow_is_call(const struct us_link_flow *f, const struct us_link_insn *insn)
{
	return (insn->kind == US_LINK_CALL || insn->kind == US_LINK_CALL_INDIRECT) &&
	       !us_link_flow_is_routine(f, insn);
}

/* Follow the routine to its return; false: what it does is not known. */
static bool run_routine(struct us_link_flow *f, us_gva pc, uint8_t link,
			struct us_link_state *st)
{
	struct us_link_insn insn;
	for (unsigned i = 0;
	     i < MAX_ROUTINE && f->path.budget && us_link_flow_decode(f, pc, &insn);
	     i++) {
		f->path.budget--;
		bool goes = insn.kind == US_LINK_JUMP_INDIRECT ||
			    insn.kind == US_LINK_RET;
		if (goes && insn.reg == link && !insn.imm)
			return true;
		if (insn.kind >= US_LINK_CALL && insn.kind != US_LINK_JUMP)
			return false;
		us_link_state_step(st, f->machine, &insn);
		pc += insn.kind == US_LINK_JUMP ? (us_gva)insn.imm : insn.len;
	}
	return false;
}

/* A register that functions need not preserve, with the return address. */
static uint8_t holds_ra(const struct us_link_flow *f, const struct us_link_state *st)
{
	const struct us_link_machine *m = f->machine;
	for (uint8_t i = 0; i < US_LINK_N_REG; i++)
		if (st->reg[i].sym == US_LSYM_RA && i != m->ra &&
		    !(m->preserved >> i & 1))
			return i;
	return US_LINK_NO_REG;
}

/*
 * Is there a straight piece of code that returns with this register as it was?  Parts
 * that the compiler has moved out of functions are called so (clang -Oz): their callers
 * keep the return address in such a register.
 */
static bool is_part_that_keeps(struct us_link_flow *f, us_gva pc, uint8_t reg)
{
	struct us_link_state st;
	bool lost = f->path.lost;
	us_link_state_init(&st, f->machine);
	bool ends = run_routine(f, pc, f->machine->ra, &st);
	f->path.lost = lost;
	return ends && st.reg[reg].sym == US_LSYM_REG && st.reg[reg].off == reg;
}

static void call(struct us_link_flow *f, us_gva pc, const struct us_link_insn *insn,
		 struct us_link_state *st)
{
	const struct us_link_machine *m = f->machine;
	struct us_link_value given = st->reg[m->result];
	uint8_t reg = holds_ra(f, st);
	us_gva to = pc + (us_gva)insn->imm;
	bool kept = reg != US_LINK_NO_REG &&
		    (insn->kind == US_LINK_CALL || us_link_far_jump(st, insn, &to)) &&
		    is_part_that_keeps(f, to, reg);
	us_link_state_step(st, m, insn);
	if (kept)
		st->reg[reg] = (struct us_link_value){ .sym = US_LSYM_RA };
	if (f->returned && given.sym == US_LSYM_SP)
		st->reg[m->result] = given;
}

/* Apply the instruction to the registers; false: its effect is not known. */
bool us_link_flow_step(struct us_link_flow *f, us_gva pc,
		       const struct us_link_insn *insn, struct us_link_state *st)
{
	if (!us_link_flow_is_routine(f, insn)) {
		struct us_link_insn known = *insn;
		us_link_read_beside(f, pc, st, &known);
		if (us_link_flow_is_call(f, insn))
			call(f, pc, &known, st);
		else
			us_link_state_step(st, f->machine, &known);
		return true;
	}
	us_gva to = pc + (us_gva)insn->imm; /* or far: auipc and jalr */
	if ((insn->kind == US_LINK_CALL || us_link_far_jump(st, insn, &to)) &&
	    run_routine(f, to, insn->reg2, st))
		return true;
	f->path.lost = true;
	return false;
}

bool us_link_flow_in_routine(struct us_link_flow *f, us_gva pc)
{
	uint8_t link = f->machine->routine;
	struct us_link_state st;
	us_link_state_init(&st, f->machine);
	us_code_path_start(&f->path);
	return link != US_LINK_NO_REG && run_routine(f, pc, link, &st) &&
	       st.reg[link].sym == US_LSYM_REG && st.reg[link].off == link;
}
