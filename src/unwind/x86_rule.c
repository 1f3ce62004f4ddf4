/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_rule.c: see x86_rule.h. */
#include "unwind/x86_rule.h"

#include "unwind/x86_flow.h"

#include <string.h>

#define MAX_RETURN  1024 /* instructions on the way to a ret */
#define MAX_PADDING 64	 /* bytes between functions */

/* The first round of a loop has been followed: all others, too. */
static bool ends_probe(struct us_x86_flow *f, struct us_x86_state *st,
		       const struct us_x86_insn *insn, us_gva next,
		       struct us_x86_probe *ret)
{
	if (insn->kind != US_X86_BRANCH || insn->imm >= 0 ||
	    !us_x86_probe_loop(f, us_x86_flow_target(f, next, insn), next, ret))
		return false;
	us_x86_state_drop(st, ret->step - ret->total);
	return true;
}

/* --- from the start --- */

static void goes_to(struct us_x86_flow *f, const struct us_code_place *at, us_gva pc,
		    const struct us_x86_state *st)
{
	/* By address: the branch around a CALL that never returns has then given the
	 * state behind the CALL before the CALL is met. */
	if (us_code_place_has(at, pc))
		us_x86_flow_pend(f, pc, pc - at->start, false, st);
}

/* A jump that may lead anywhere in the function, with the stack as it is there. */
static void note_table(struct us_x86_flow *f, const struct us_x86_state *st)
{
	if (!f->has_table)
		f->table = *st;
	f->has_table = true;
}

/* A retpoline may be a jump within its function; what it has pushed is gone by then. */
static void note_retpoline(struct us_x86_flow *f, const struct us_x86_state *pushed)
{
	struct us_x86_state before = *pushed;
	if (pushed->called)
		return;
	us_x86_state_drop(&before, f->word);
	note_table(f, &before);
}

/* A far ret above the return address goes to what the code has pushed: on in the
 * function, with another cs. */
static void note_far_ret(struct us_x86_flow *f, const struct us_code_place *at,
			 us_gva pc, const struct us_x86_state *st)
{
	struct us_x86_state after = *st;
	us_gva to;
	us_x86_state_drop(&after, 2 * f->word);
	if (us_x86_far_ret_to(f, pc, &to))
		goes_to(f, at, to, &after);
	else if (st->sp.sym == US_SYM_SP && st->sp.off < -f->word)
		note_table(f, &after);
}

/* A CALL of a retpoline in the same function calls what that leads to.  Without an end
 * each address would be in it, and a thunk visited here is not where a jump to it
 * leads. */
static void note_called(struct us_x86_flow *f, const struct us_code_place *at,
			us_gva to, const struct us_x86_state *st)
{
	struct us_x86_state called = *st;
	struct us_x86_insn insn;
	if (to == at->start || !at->end || !us_code_place_has(at, to) ||
	    !us_x86_flow_decode(f, to, &insn) || insn.kind != US_X86_PUSH_PC ||
	    !us_x86_flow_is_retpoline(f, &insn, to + insn.len))
		return;
	us_x86_state_drop(&called, -f->word);
	called.called = true;
	goes_to(f, at, to, &called);
}

/* Note where this instruction leads besides the next one; false: it does not lead to
 * the next one. */
static bool flows_on(struct us_x86_flow *f, const struct us_code_place *at,
		     const struct us_x86_insn *insn, us_gva next,
		     struct us_x86_state *st)
{
	const struct us_code_pending *known;
	switch (insn->kind) {
	case US_X86_BRANCH:
		goes_to(f, at, us_x86_flow_target(f, next, insn), st);
		return true;
	case US_X86_CALL:
		note_called(f, at, us_x86_flow_target(f, next, insn), st);
		/* fall through */
	case US_X86_CALL_INDIRECT:
		known = us_code_path_find(&f->path, next);
		if (known)
			*st = f->pending[known->slot];
		st->rcx.sym = US_SYM_NONE; /* functions do not preserve it */
		return true;
	case US_X86_PUSH_PC:
		if (us_x86_flow_is_retpoline(f, insn, next))
			note_retpoline(f, st);
		return true;
	case US_X86_JUMP_INDIRECT:
		note_table(f, st);
		break;
	case US_X86_JUMP:
		goes_to(f, at, us_x86_flow_target(f, next, insn), st);
		break;
	case US_X86_BREAK:
		if (at->end)
			return true; /* bounded: no padding leads past the end */
		break;
	case US_X86_FAR_RET:
		note_far_ret(f, at, next - insn->len, st);
		break;
	case US_X86_RET:
	case US_X86_IRET:
	case US_X86_SYSRET:
	case US_X86_STOP:
		break;
	default:
		return true;
	}
	us_code_ends_add(&f->ends, next);
	return false;
}

/* Follow one path; true if it comes to the place, where *st is then the state. */
static bool reaches(struct us_x86_flow *f, const struct us_code_place *at, us_gva pc,
		    struct us_x86_state *st)
{
	struct us_x86_insn insn;
	struct us_x86_probe probe;
	bool behind = false; /* a CALL, and only padding since */
	while (us_code_place_has(at, pc) && us_code_path_visit(&f->path, pc)) {
		if (!at->after_call && pc == at->pc)
			return true;
		if (!us_x86_flow_decode(f, pc, &insn))
			return false;
		pc += insn.len;
		/* What seemed to push only its end was a CALL of the function right
		 * behind it, if that end is a return address. */
		bool next = insn.kind == US_X86_PUSH_PC && insn.imm == 0;
		if (at->after_call && pc == at->pc && (next || us_x86_is_call(&insn)))
			return true;
		behind = us_x86_is_call(&insn) || (behind && insn.kind == US_X86_NOP);
		if (behind && us_code_place_is_cut(at, pc))
			return false;
		us_x86_flow_step(f, st, &insn, pc);
		(void)ends_probe(f, st, &insn, pc, &probe);
		if (!flows_on(f, at, &insn, pc, st))
			return false;
		if (insn.kind == US_X86_PUSH_PC)
			pc = us_x86_flow_target(f, pc, &insn);
	}
	return false;
}

void us_x86_kept_at(const struct us_x86_flow *f, const struct us_x86_state *st,
		    struct us_code_rule *ret)
{
	for (uint8_t i = 0; i < US_X86_N_CODE; i++) {
		if (!us_x86_is_preserved(f->word * 8U, i) ||
		    st->reg[i].sym != US_SYM_SP)
			continue;
		ret->base = US_BASE_KEPT;
		ret->base_reg = us_x86_other_number(f, i, true);
		ret->cfa = -st->reg[i].off;
		return;
	}
}

/* SP stands for the CFA here.  Is the return address in a register now, to be jumped
 * to? */
static bool is_return_popped(const struct us_x86_state *st)
{
	return st->popped.sym == US_SYM_SP && st->popped.off == -st->word &&
	       st->sp.sym == US_SYM_SP && st->sp.off >= 0 && !st->copied;
}

static void rule_at(const struct us_x86_flow *f, const struct us_x86_state *st,
		    struct us_code_rule rule[2])
{
	struct us_code_rule sp = { .fp = US_FP_LOST }, fp;
	/* In 32-bit code, an argument on the stack may be the other stack, too. */
	bool away = st->away || st->sp.sym == US_SYM_WORD;
	/* That rbp was saved holds on every path that leads here; that it is unchanged,
	 * only on this one. */
	if (st->saved.sym == US_SYM_SP && us_code_slot(st->saved.off, &sp.fp_at))
		sp.fp = US_FP_SAVED;
	else if (us_x86_state_fp_same(st))
		sp.fp = US_FP_SAME;
	bool saved = st->r10_saved.sym == US_SYM_SP &&
		     us_code_slot(st->r10_saved.off, &sp.sp_at);
	if (st->copied)
		sp.sp = saved				 ? US_SP_SAVED
			: st->r10_reg == US_X86_CODE_R10 ? US_SP_R10
							 : US_SP_R13;
	fp = sp;
	if (st->sp.sym == US_SYM_SP) {
		sp.base = US_BASE_SP;
		sp.cfa = -st->sp.off;
	}
	if (st->fp.sym == US_SYM_SP) {
		fp.base = US_BASE_FP;
		fp.cfa = -st->fp.off;
		if (away && !sp.base && fp.sp == US_SP_CFA)
			fp.sp = US_SP_LOST;
	}
	bool frame = fp.base && st->fp.off == -2 * st->word && fp.fp == US_FP_SAVED;
	rule[0] = frame || !sp.base ? fp : sp;
	rule[1] = frame || !sp.base ? sp : fp;
	if (!rule[0].base && !st->copied)
		us_x86_kept_at(f, st, &rule[0]);
	if (!rule[0].base && st->r10.sym == US_SYM_SP) {
		bool r10 = st->r10_reg == US_X86_CODE_R10;
		rule[0].base = r10 ? US_BASE_R10 : US_BASE_R13;
		rule[0].cfa = -st->r10.off;
	}
	if (is_return_popped(st)) {
		rule[0] = sp;
		rule[1].base = US_BASE_NONE;
		rule[0].base = US_BASE_POPPED;
		rule[0].base_reg = us_x86_any_number(f, st->popped_reg);
	}
	bool gone = st->gone && !st->copied && rule[0].base != US_BASE_POPPED;
	if (gone)
		rule[0].ra = rule[1].ra = US_RA_GONE;
	if (st->stack == US_STACK_OWN)
		rule[0].base = US_BASE_OWN;
	if (st->fp.sym == US_SYM_ZERO && rule[0].fp == US_FP_LOST && !gone)
		rule[0].base = US_BASE_ROOT;
}

/* In the loop only the register that holds its end shows where the frame is. */
static void rule_in_probe(const struct us_x86_flow *f, const struct us_x86_state *head,
			  const struct us_x86_probe *probe, struct us_code_rule rule[2])
{
	bool second = rule[0].base != US_BASE_SP;
	if (rule[second].base != US_BASE_SP)
		return;
	if (second) {
		rule[1].base = US_BASE_NONE;
		return;
	}
	rule[0].base = US_BASE_KEPT;
	rule[0].base_reg = us_x86_any_number(f, probe->reg);
	rule[0].cfa = probe->total - head->sp.off;
	rule[1].base = US_BASE_NONE;
}

static void want(const struct us_x86_flow *f, struct us_x86_state *st)
{
	if (f->want < US_X86_N_CODE)
		st->reg[f->want].sym = US_SYM_WANT;
}

enum us_code_reach us_x86_from_start(struct us_x86_flow *f,
				     const struct us_code_place *at,
				     struct us_x86_state *st)
{
	enum us_code_reach reach = US_REACH_FLOW;
	struct us_code_pending p;
	us_gva pc = at->start;

	/* Here SP stands for the CFA. */
	*st = (struct us_x86_state){ .word = f->word,
				     .sp = { -f->word, US_SYM_SP },
				     .fp = { 0, US_SYM_FP },
				     .rcx.sym = US_SYM_RCX };
	want(f, st);
	us_x86_flow_start(f);
	for (;;) {
		if (reaches(f, at, pc, st))
			return reach;
		if (us_code_path_take(&f->path, &p)) {
			pc = p.pc;
			*st = f->pending[p.slot];
		} else if (f->has_table && us_code_ends_take(&f->ends, &f->path,
							     at->start, at->pc, &pc)) {
			/* No path leads there: the jump does. */
			*st = f->table;
			reach = US_REACH_TABLE;
		} else {
			return f->path.lost || f->has_table ? US_REACH_NONE
							    : US_REACH_NEVER;
		}
	}
}

enum us_code_reach us_x86_rule_from_start(struct us_x86_flow *f,
					  const struct us_code_place *at,
					  struct us_code_rule rule[2])
{
	struct us_x86_state st;
	struct us_x86_probe probe;
	struct us_code_place head = *at;
	bool probes = !at->after_call && us_x86_in_probe_loop(f, at->pc, &probe);
	if (probes)
		head.pc = probe.head;
	enum us_code_reach reach = us_x86_from_start(f, &head, &st);
	if (reach > US_REACH_NONE)
		rule_at(f, &st, rule);
	if (reach > US_REACH_NONE && probes)
		rule_in_probe(f, &st, &probe, rule);
	return reach;
}

/* --- to a return --- */

/* pc_at: where the return address is. */
static bool rule_for(const struct us_x86_state *st, struct us_x86_value pc_at,
		     struct us_code_rule *ret)
{
	int32_t cfa = pc_at.off + st->word;
	uint8_t mem = pc_at.sym == US_SYM_SP   ? US_SYM_MEM_SP
		      : pc_at.sym == US_SYM_FP ? US_SYM_MEM_FP
					       : US_SYM_NONE;
	*ret = (struct us_code_rule){ .cfa = cfa, .sp = US_SP_CFA, .fp = US_FP_LOST };
	if (pc_at.sym == US_SYM_WORD && st->sp_at.off >= 0 &&
	    us_code_slot(st->sp_at.off, &ret->sp_at))
		ret->base = US_BASE_WORD;
	else if (pc_at.sym == US_SYM_SP && pc_at.off >= 0)
		ret->base = US_BASE_SP;
	else if (pc_at.sym == US_SYM_FP)
		ret->base = US_BASE_FP;
	else
		return false;
	if (us_x86_state_fp_same(st)) {
		ret->fp = US_FP_SAME;
	} else if (mem && st->fp.sym == mem &&
		   us_code_slot(st->fp.off - cfa, &ret->fp_at)) {
		ret->fp = US_FP_SAVED;
	}
	return true;
}

/* sysret takes rip from rcx, and that was popped from somewhere; or it is, or will have
 * been stored as, what is in rcx now. */
static bool rule_at_sysret(const struct us_x86_state *st, struct us_code_rule *ret)
{
	if (st->rcx.sym != US_SYM_MEM_SP ||
	    !rule_for(st, (struct us_x86_value){ st->rcx.off, US_SYM_SP }, ret))
		return false;
	bool known = st->loaded_sp.sym == US_SYM_MEM_SP &&
		     us_code_slot(st->loaded_sp.off - ret->cfa, &ret->sp_at);
	ret->sp = known ? US_SP_SAVED : US_SP_LOST;
	return true;
}

/* Does a function begin here, behind padding?  Then the CALL before it does not
 * return. */
static bool is_prologue(struct us_x86_flow *f, us_gva pc)
{
	struct us_x86_insn insn;
	for (int i = 0; i < 4; i++) {
		if (!us_x86_flow_decode(f, pc, &insn))
			return true;
		if (insn.kind == US_X86_ENDBR)
			return true;
		if (insn.kind != US_X86_NOP)
			break;
		pc += insn.len;
	}
	if (insn.kind != US_X86_PUSH || insn.reg != US_X86_CODE_RBP || insn.half)
		return false;
	return us_x86_flow_decode(f, pc + insn.len, &insn) &&
	       insn.kind == US_X86_MOVE && insn.reg == US_X86_CODE_RBP &&
	       insn.base == US_X86_CODE_RSP;
}

/* The return address was popped, and is the target of a jump. */
static bool popped_rule(const struct us_x86_flow *f, const struct us_x86_state *st,
			struct us_code_rule *ret)
{
	bool gone = st->popped.sym == US_SYM_SP && st->popped.off == -st->word;
	if (!gone || st->sp.sym != US_SYM_SP)
		return rule_for(st, st->popped, ret);
	*ret = (struct us_code_rule){ .base = US_BASE_POPPED, .fp = US_FP_LOST };
	ret->base_reg = us_x86_any_number(f, st->popped_reg);
	if (us_x86_state_fp_same(st))
		ret->fp = US_FP_SAME;
	return true;
}

enum outcome { DEAD, ASTRAY, RETURNS, LEAVES, LEAVES_BY_SYSRET };

/* Does the instruction leave the function?  *ret_how: in which way. */
static bool leaves_by(struct us_x86_flow *f, const struct us_x86_state *st,
		      const struct us_x86_insn *insn, struct us_code_rule *ret,
		      enum outcome *ret_how)
{
	switch (insn->kind) {
	case US_X86_RET:
	case US_X86_FAR_RET:
		f->returns = true;
		*ret_how = rule_for(st, st->sp, ret) ? RETURNS : ASTRAY;
		return true;
	case US_X86_IRET:
		f->left = *st;
		us_x86_state_drop(&f->left, insn->imm);
		rule_for(&f->left, f->left.sp, ret);
		*ret_how = LEAVES;
		return true;
	case US_X86_SYSRET:
		rule_at_sysret(st, ret);
		*ret_how = LEAVES_BY_SYSRET;
		return true;
	default:
		return false;
	}
}

static void note_rcx_jump(struct us_x86_flow *f, const struct us_x86_state *st,
			  const struct us_x86_insn *insn, us_gva pc)
{
	if (f->rcx_jump || !us_x86_jumps_to(f, insn, US_X86_CODE_RCX))
		return;
	f->rcx_jump = pc;
	f->left = *st;
}

/* Follow one path to its end. */
static enum outcome ends(struct us_x86_flow *f, const struct us_code_place *at,
			 const struct us_code_pending *p, struct us_code_rule *ret)
{
	struct us_x86_state st = f->pending[p->slot];
	struct us_x86_insn insn, before[2] = { { .general = US_X86_NO_REG },
					       { .general = US_X86_NO_REG } };
	struct us_x86_probe probe;
	enum outcome how;
	us_gva pc = p->pc, far;
	if (!at->start && !at->after_call && pc == at->pc) {
		us_x86_before_place(f, pc, before);
		us_x86_pop_before(f, pc, &st);
	}
	for (; f->path.n_visited < MAX_RETURN && us_code_path_visit(&f->path, pc);
	     before[1] = before[0], before[0] = insn) {
		if (!us_x86_flow_decode(f, pc, &insn))
			return DEAD;
		us_gva next = pc + insn.len;
		if (insn.kind == US_X86_FAR_RET && us_x86_far_ret_to(f, pc, &far)) {
			us_x86_state_drop(&st, 2 * f->word);
			pc = far;
			continue;
		}
		if (leaves_by(f, &st, &insn, ret, &how))
			return how;
		note_rcx_jump(f, &st, &insn, pc);
		if (us_x86_jumps_back(f, &st, &insn))
			return popped_rule(f, &st, ret) ? RETURNS : DEAD;
		if (insn.kind == US_X86_JUMP_INDIRECT &&
		    us_x86_far_jump(f, before, &insn, &far)) {
			pc = far;
			continue;
		}
		if (insn.kind == US_X86_JUMP_INDIRECT || insn.kind == US_X86_STOP ||
		    insn.kind == US_X86_BREAK)
			return DEAD;
		us_x86_flow_step(f, &st, &insn, next);
		bool jumps = us_x86_is_jump(&insn);
		/* How many rounds are left is not known. */
		if (ends_probe(f, &st, &insn, next, &probe) && p->pc >= probe.head &&
		    p->pc < next)
			return DEAD;
		if (insn.kind == US_X86_BRANCH)
			us_x86_flow_pend(f, us_x86_flow_target(f, next, &insn),
					 p->order, false, &st);
		if (!jumps && us_code_place_runs_out(at, pc, next))
			return DEAD;
		if (us_x86_is_call(&insn)) {
			us_x86_flow_pend(f, next, p->order + 1, true, &st);
			return DEAD;
		}
		pc = jumps ? us_x86_flow_target(f, next, &insn) : next;
	}
	return DEAD;
}

static void begin_at(struct us_x86_flow *f, const struct us_code_place *at)
{
	struct us_x86_state start = { .word = f->word,
				      .sp = { 0, US_SYM_SP },
				      .fp = { 0, US_SYM_FP } };
	us_x86_flow_start(f);
	f->rcx_jump = 0;
	f->returns = false;
	want(f, &start);
	if (!at->after_call)
		start.rcx.sym = US_SYM_RCX;
	if (at->target && f->word == 4)
		us_x86_state_drop(&start, us_x86_flow_pops(f, at->target));
	if (!at->after_call || !us_code_place_runs_out(at, at->pc - 1, at->pc))
		us_x86_flow_pend(f, at->pc, at->after_call, at->after_call, &start);
}

/* Is there nothing but padding before the end? */
static bool is_at_end(struct us_x86_flow *f, us_gva pc, us_gva end)
{
	struct us_x86_insn insn;
	if (end - pc > MAX_PADDING)
		return false;
	while (pc < end && us_x86_flow_decode(f, pc, &insn) && insn.kind == US_X86_NOP)
		pc += insn.len;
	return pc == end;
}

/* Another function is behind a CALL that does not return. */
static bool is_another(struct us_x86_flow *f, const struct us_code_place *at, us_gva pc)
{
	bool guess = pc == at->pc || is_at_end(f, pc, at->end);
	return is_prologue(f, pc) || (guess && us_x86_goes_in(f, pc));
}

bool us_x86_rule_past_label(struct us_x86_flow *f, const struct us_code_place *at,
			    struct us_code_rule *rule)
{
	struct us_code_place all = *at;
	struct us_code_pending p;
	bool any = false;
	all.end = 0; /* follow all code */
	begin_at(f, &all);
	*rule = (struct us_code_rule){ 0 };
	while (us_code_path_take(&f->path, &p)) {
		struct us_code_rule found = { 0 };
		if (p.after_call && is_another(f, at, p.pc))
			return false;
		enum outcome out = ends(f, &all, &p, &found);
		bool other = rule->base && found.base &&
			     !us_code_same_base(rule, &found);
		if (out == ASTRAY || out == RETURNS || out == LEAVES_BY_SYSRET || other)
			return false;
		if (out == LEAVES && found.base) /* else on another stack */
			*rule = found;
		any |= out == LEAVES;
	}
	return any && (rule->base || !at->after_call) && !f->path.lost &&
	       f->path.n_visited < MAX_RETURN;
}

enum us_code_exit us_x86_rule_to_return(struct us_x86_flow *f,
					const struct us_code_place *at,
					struct us_code_rule *rule)
{
	enum us_code_exit how = US_EXIT_NONE;
	struct us_code_pending p;

	*rule = (struct us_code_rule){ 0 };
	begin_at(f, at);
	while (us_code_path_take(&f->path, &p)) {
		if (p.after_call && is_prologue(f, p.pc))
			continue;
		struct us_code_rule found = { 0 };
		enum outcome out = ends(f, at, &p, &found);
		bool leaves = out == LEAVES || out == LEAVES_BY_SYSRET;
		if (leaves && how != US_EXIT_NONE && how != US_EXIT_IRET)
			return how;
		if (leaves) {
			/* Without a rule, this way is on another stack.  A way that
			 * takes the frame from this stack shows where it is. */
			*rule = found;
			how = out == LEAVES ? US_EXIT_IRET : US_EXIT_SYSRET;
			if (found.base != US_BASE_NONE || out != LEAVES)
				return how;
		} else if (out == RETURNS &&
			   (how == US_EXIT_IRET ||
			    us_code_exit_take(rule, &how, &found, p.order))) {
			return how;
		}
	}
	return how;
}

bool us_x86_leaves_by_rcx(struct us_x86_flow *f, const struct us_code_place *at)
{
	struct us_code_pending p;
	begin_at(f, at);
	while (us_code_path_take(&f->path, &p)) {
		struct us_code_rule found;
		if (p.after_call && is_prologue(f, p.pc))
			continue;
		enum outcome out = ends(f, at, &p, &found);
		if (out == LEAVES || out == LEAVES_BY_SYSRET || f->returns)
			return false;
	}
	return f->rcx_jump && !f->path.lost && f->path.n_visited < MAX_RETURN;
}

/* --- does it ever leave? --- */

#define HLT    0xf4
#define BEYOND 1 /* the order of a path that has run into the next function */

/* Is there only padding up to the next function? */
static bool is_padding(struct us_x86_flow *f, us_gva pc, us_gva end)
{
	struct us_x86_insn insn;
	bool lost = f->path.lost, any = pc < end;
	for (; pc < end; pc += insn.len)
		if (!us_x86_flow_decode(f, pc, &insn) ||
		    (insn.kind != US_X86_NOP && insn.kind != US_X86_BREAK))
			break;
	f->path.lost = lost;
	return any && pc == end;
}

static bool is_byte(struct us_x86_flow *f, us_gva pc, uint8_t byte)
{
	size_t len;
	const uint8_t *code = us_code_path_bytes(&f->path, pc, 1, &len);
	return len && *code == byte;
}

/* Nothing gives the CFA on a stack that the function loaded itself. */
static bool leaves_by_ret(const struct us_x86_state *st, bool beyond,
			  const struct us_code_rule start[2])
{
	struct us_code_rule found = { 0 };
	if (!beyond || !rule_for(st, st->sp, &found))
		return true;
	return start[0].base == US_BASE_OWN ? st->sp.off == 0
					    : us_code_same_cfa(&found, start);
}

/* Follow one path to its end; false: it leaves, or this is not known. */
static bool path_stays(struct us_x86_flow *f, const struct us_code_place *at,
		       const struct us_code_pending *p,
		       const struct us_code_rule start[2])
{
	struct us_x86_state st = f->pending[p->slot];
	struct us_x86_insn insn;
	bool beyond = p->order == BEYOND;
	us_gva pc = p->pc;
	while (us_code_path_visit(&f->path, pc)) {
		if (!us_x86_flow_decode(f, pc, &insn))
			return false;
		us_gva next = pc + insn.len, to = us_x86_flow_target(f, next, &insn);
		switch (insn.kind) {
		case US_X86_RET:
			return !leaves_by_ret(&st, beyond, start);
		case US_X86_STOP:
			return is_byte(f, pc, 0x0f); /* ud2, not a far jump */
		case US_X86_BREAK:
			return true;
		case US_X86_JUMP_INDIRECT:
		case US_X86_FAR_RET:
		case US_X86_IRET:
		case US_X86_SYSRET:
			return false;
		case US_X86_BRANCH:
			us_x86_flow_pend(f, to, beyond, false, &st);
			break;
		case US_X86_PUSH_PC:
			f->path.lost |= us_x86_flow_is_retpoline(f, &insn, next);
			break;
		default:
			break;
		}
		us_x86_flow_step(f, &st, &insn, next);
		bool halts = is_byte(f, pc, HLT);
		if ((us_x86_is_call(&insn) || halts) && is_padding(f, next, at->end))
			return true;
		if (!us_x86_is_jump(&insn) && us_code_place_runs_out(at, pc, next)) {
			if (!us_x86_is_call(&insn))
				return halts;
			beyond = true;
		}
		pc = us_x86_is_jump(&insn) ? to : next;
	}
	return true;
}

bool us_x86_stays(struct us_x86_flow *f, const struct us_code_place *at,
		  const struct us_code_rule start[2])
{
	struct us_x86_state st = { .word = f->word,
				   .sp = { 0, US_SYM_SP },
				   .fp = { 0, US_SYM_FP } };
	struct us_code_pending p;
	us_x86_flow_start(f);
	if (at->target && f->word == 4)
		us_x86_state_drop(&st, us_x86_flow_pops(f, at->target));
	if (at->after_call && is_padding(f, at->pc, at->end))
		return true;
	bool beyond = at->after_call && us_code_place_runs_out(at, at->pc - 1, at->pc);
	us_x86_flow_pend(f, at->pc, beyond, at->after_call, &st);
	while (us_code_path_take(&f->path, &p))
		if (!path_stays(f, at, &p, start) || f->path.lost)
			return false;
	return !f->path.lost;
}
