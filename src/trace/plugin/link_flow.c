/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_flow.c: see link_flow.h. */
#include "trace/plugin/link_flow.h"

static void flow_of(const struct us_link_insn *x, uint64_t pc, struct us_flow_insn *ret)
{
	static const uint8_t flow[] = {
		[US_LINK_CALL] = US_FLOW_CALL,
		[US_LINK_CALL_INDIRECT] = US_FLOW_CALL,
		[US_LINK_BRANCH] = US_FLOW_BRANCH,
		[US_LINK_JUMP] = US_FLOW_JUMP,
		[US_LINK_JUMP_INDIRECT] = US_FLOW_JUMP,
		[US_LINK_RET] = US_FLOW_RETURN,
		[US_LINK_EXIT] = US_FLOW_LEAVE,
		[US_LINK_STOP] = US_FLOW_TRAP,
	};
	if (x->kind < sizeof(flow))
		ret->flow = flow[x->kind];
	if (x->kind != US_LINK_CALL && x->kind != US_LINK_BRANCH &&
	    x->kind != US_LINK_JUMP)
		return;
	ret->has_target = true;
	ret->target = pc + (uint64_t)x->imm;
}

static bool sets(const struct us_link_insn *x, uint8_t reg)
{
	switch ((enum us_link_kind)x->kind) {
	case US_LINK_SET:
	case US_LINK_BACK:
	case US_LINK_SWAP:
	case US_LINK_MOVE:
	case US_LINK_ADD:
	case US_LINK_CONST:
	case US_LINK_SHIFT:
	case US_LINK_INSERT:
		return x->reg == reg;
	case US_LINK_LOAD:
		return x->reg == reg || x->reg2 == reg;
	default:
		return false;
	}
}

/* A frame pointer leads back within the same stack. */
static bool loads_stack(const struct us_link_machine *m, const struct us_link_insn *x)
{
	bool sum = x->kind == US_LINK_MOVE || x->kind == US_LINK_ADD;
	return sets(x, m->sp) && !(sum && (x->base == m->sp || x->base == m->fp));
}

static void link_of(const struct us_link_machine *m, const struct us_link_insn *x,
		    struct us_flow_insn *ret)
{
	bool memory = x->kind == US_LINK_STORE || x->kind == US_LINK_LOAD;
	if (memory && (x->reg == m->ra || x->reg2 == m->ra)) {
		ret->link = x->kind == US_LINK_STORE ? US_FLOW_LINK_STORED
						     : US_FLOW_LINK_LOADED;
		ret->by_stack = x->base == m->sp;
		ret->link_bytes = x->reg == m->ra ? 0 : 8;
	} else if (sets(x, m->ra) && !x->fresh) {
		ret->link = US_FLOW_LINK_SET;
	}
}

void us_link_flow_of(const struct us_link_machine *m, const struct us_link_insn *x,
		     uint64_t pc, struct us_flow_insn *ret)
{
	*ret = (struct us_flow_insn){ .flow = US_FLOW_ON };
	flow_of(x, pc, ret);
	ret->loads_stack = loads_stack(m, x);
	link_of(m, x, ret);
}
