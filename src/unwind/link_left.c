/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_left.c: functions that leave by a jump and do not return; see link_rule.h. */
#include "unwind/link_flow.h"
#include "unwind/link_rule.h"

#define MAX_INSNS 64

/* *ret_to: 0 if the code does not say where. */
static bool is_jump(const struct us_link_state *st, const struct us_link_insn *insn,
		    us_gva pc, us_gva *ret_to)
{
	*ret_to = pc + (us_gva)insn->imm;
	if (insn->kind == US_LINK_JUMP_INDIRECT && !us_link_far_jump(st, insn, ret_to))
		*ret_to = 0;
	return insn->kind == US_LINK_JUMP || insn->kind == US_LINK_JUMP_INDIRECT;
}

bool us_link_flow_left(struct us_link_flow *f, us_gva pc, unsigned n, us_gva *ret_to)
{
	struct us_link_insn insn;
	struct us_link_state st;
	us_link_state_init(&st, f->machine);
	us_code_path_start(&f->path);
	for (unsigned i = 0; i < MAX_INSNS && f->path.budget; i++) {
		f->path.budget--;
		if (!us_link_flow_decode(f, pc, &insn))
			return false;
		if (is_jump(&st, &insn, pc, ret_to)) {
			if (st.reg[f->machine->ra].sym != US_LSYM_RA)
				return false;
			if (n-- == 0)
				return true;
			if (*ret_to == 0)
				return false;
			pc = *ret_to;
			continue;
		}
		bool goes_on = insn.kind < US_LINK_CALL || insn.kind == US_LINK_BRANCH;
		if (!goes_on || !us_link_flow_step(f, pc, &insn, &st))
			return false;
		pc += insn.len;
	}
	return false;
}
