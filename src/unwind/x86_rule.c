/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_rule.c: see x86_rule.h. */
#include "unwind/x86_rule.h"

#include "unwind/x86_flow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RETURN 1024 /* instructions on the way to a ret */
#define MAX_POPS   256	/* instructions of a callee that are searched for its ret */
#define MAX_TRAP   64	/* bytes that a CALL used as a push may skip */

struct us_x86_flow *us_x86_flow_new(void)
{
	struct us_x86_flow *f = calloc(1, sizeof(*f));
	if (f)
		f->want = US_X86_NO_REG;
	return f;
}

void us_x86_flow_free(struct us_x86_flow *f)
{
	free(f);
}

void us_x86_flow_use(struct us_x86_flow *f, struct us_paging *p,
		     const struct us_space *s, unsigned word)
{
	us_code_path_use(&f->path, p, s);
	f->word = (uint8_t)word;
}

void us_x86_flow_allow(struct us_x86_flow *f, unsigned n_insn)
{
	f->path.budget = n_insn;
}

bool us_x86_flow_spent(const struct us_x86_flow *f)
{
	return f->path.budget == 0;
}

bool us_x86_flow_is_away(const struct us_x86_flow *f)
{
	return f->path.away;
}

static void start_over(struct us_x86_flow *f)
{
	us_code_path_start(&f->path);
	f->ends.n = 0;
	f->has_table = false;
}

/* --- code --- */

/* Code of n bytes that only speculation reaches, and that holds it there: int3; or
 * pause or lfence, and a jump back. */
static bool is_trap(const struct us_x86_flow *f, const uint8_t *code, size_t n)
{
	static const uint8_t lfence[3] = { 0x0f, 0xae, 0xe8 };
	struct us_x86_insn insn;
	bool stops = false;
	for (size_t at = 0; at < n; at += insn.len) {
		if (!us_x86_decode(code + at, n - at, f->word * 8U, &insn))
			return false;
		size_t to = at + insn.len + (size_t)insn.imm;
		if (insn.kind == US_X86_BREAK || (insn.kind == US_X86_JUMP && to < n))
			stops = true;
		else if (insn.kind != US_X86_NOP &&
			 (insn.len != sizeof(lfence) ||
			  memcmp(code + at, lfence, sizeof(lfence)) != 0))
			return false;
	}
	return stops;
}

bool us_x86_flow_pushes_pc(const struct us_x86_flow *f, us_gva end, int32_t imm)
{
	uint8_t code[MAX_TRAP];
	if (imm <= 0 || imm > MAX_TRAP)
		return imm == 0;
	return us_paging_read(f->path.paging, f->path.space, end, code, (size_t)imm) &&
	       is_trap(f, code, (size_t)imm);
}

static bool decode_at(struct us_x86_flow *f, us_gva pc, struct us_x86_insn *ret)
{
	size_t len;
	const uint8_t *code = us_code_path_bytes(&f->path, pc, US_X86_MAX_INSN, &len);
	if (!us_x86_decode(code, len, f->word * 8U, ret)) {
		f->path.lost = true;
		return false;
	}
	if (ret->kind == US_X86_CALL &&
	    us_x86_flow_pushes_pc(f, pc + ret->len, ret->imm))
		ret->kind = US_X86_PUSH_PC;
	return true;
}

/* --- the paths --- */

static void pend(struct us_x86_flow *f, us_gva pc, uint64_t order, bool after_call,
		 const struct us_x86_state *st)
{
	uint8_t slot;
	if (us_code_path_pend(&f->path, pc, order, after_call, &slot))
		f->pending[slot] = *st;
}

static us_gva target_of(const struct us_x86_flow *f, us_gva next,
			const struct us_x86_insn *insn)
{
	us_gva to = next + (us_gva)(int64_t)insn->imm;
	return f->word == 4 ? (uint32_t)to : to;
}

static bool is_call(const struct us_x86_insn *insn)
{
	return insn->kind == US_X86_CALL || insn->kind == US_X86_CALL_INDIRECT;
}

static bool is_jump(const struct us_x86_insn *insn)
{
	return insn->kind == US_X86_JUMP || insn->kind == US_X86_PUSH_PC;
}

/* How many bytes the function takes off the stack when it returns.  In some conventions
 * of 32-bit code this is the callee's part, and its ret says how many. */
static int32_t pops_of(struct us_x86_flow *f, us_gva pc)
{
	struct us_x86_insn insn;
	bool lost = f->path.lost;
	int32_t n = 0;
	for (unsigned i = 0; i < MAX_POPS && f->path.budget && decode_at(f, pc, &insn);
	     i++) {
		f->path.budget--;
		pc += insn.len;
		if (insn.kind == US_X86_RET)
			n = insn.imm;
		else if (is_jump(&insn))
			pc = target_of(f, pc, &insn);
		if (insn.kind == US_X86_RET || insn.kind == US_X86_JUMP_INDIRECT ||
		    insn.kind >= US_X86_IRET)
			break;
	}
	f->path.lost = lost;
	return n;
}

static void step(struct us_x86_flow *f, struct us_x86_state *st,
		 const struct us_x86_insn *insn, us_gva next)
{
	static const struct us_x86_insn push = { .kind = US_X86_PUSH,
						 .reg = US_X86_NO_REG,
						 .base = US_X86_NO_REG };
	if (f->word == 4 && insn->kind == US_X86_CALL)
		us_x86_state_drop(st, pops_of(f, target_of(f, next, insn)));
	else
		us_x86_state_step(st, insn->kind == US_X86_PUSH_PC ? &push : insn);
}

/* --- from the start --- */

static void goes_to(struct us_x86_flow *f, const struct us_code_place *at, us_gva pc,
		    const struct us_x86_state *st)
{
	/* By address: the branch around a CALL that never returns has then given the
	 * state behind the CALL before the CALL is met. */
	if (us_code_place_has(at, pc))
		pend(f, pc, pc - at->start, false, st);
}

/*
 * Does the code replace the pushed address with the target of a jump, as retpolines do
 * with "mov reg, (rsp); ret"?  Where that leads cannot be known.
 */
static bool is_retpoline(const struct us_x86_flow *f, const struct us_x86_insn *insn,
			 us_gva next)
{
	uint8_t code[4];
	if (!us_paging_read(f->path.paging, f->path.space, target_of(f, next, insn),
			    code, sizeof(code)))
		return false;
	const uint8_t *mov = f->word == 8 ? code + 1 : code;
	bool wide = f->word == 4 || (code[0] & 0xfb) == 0x48;
	return wide && mov[0] == 0x89 && (mov[1] & 0xc7) == 0x04 && mov[2] == 0x24;
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
	us_x86_state_drop(&before, f->word);
	note_table(f, &before);
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
		goes_to(f, at, target_of(f, next, insn), st);
		return true;
	case US_X86_CALL:
	case US_X86_CALL_INDIRECT:
		known = us_code_path_find(&f->path, next);
		if (known)
			*st = f->pending[known->slot];
		return true;
	case US_X86_PUSH_PC:
		if (is_retpoline(f, insn, next))
			note_retpoline(f, st);
		return true;
	case US_X86_JUMP_INDIRECT:
		note_table(f, st);
		break;
	case US_X86_JUMP:
		goes_to(f, at, target_of(f, next, insn), st);
		break;
	case US_X86_BREAK:
		if (at->end)
			return true; /* bounded: no padding leads past the end */
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
	while (us_code_place_has(at, pc) && us_code_path_visit(&f->path, pc)) {
		if (!at->after_call && pc == at->pc)
			return true;
		if (!decode_at(f, pc, &insn))
			return false;
		pc += insn.len;
		/* What seemed to push only its end was a CALL of the function right
		 * behind it, if that end is a return address. */
		bool next = insn.kind == US_X86_PUSH_PC && insn.imm == 0;
		if (at->after_call && pc == at->pc && (next || is_call(&insn)))
			return true;
		step(f, st, &insn, pc);
		if (!flows_on(f, at, &insn, pc, st))
			return false;
		if (insn.kind == US_X86_PUSH_PC)
			pc = target_of(f, pc, &insn);
	}
	return false;
}

/* The code has taken another stack, and a register keeps where this one is. */
static void kept_at(const struct us_x86_flow *f, const struct us_x86_state *st,
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
	if (!rule[0].base && away && !st->copied)
		kept_at(f, st, &rule[0]);
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
	if (st->stack == US_STACK_OWN)
		rule[0].base = US_BASE_OWN;
	if (st->fp.sym == US_SYM_ZERO && rule[0].fp == US_FP_LOST)
		rule[0].base = US_BASE_ROOT;
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
				     .fp = { 0, US_SYM_FP } };
	want(f, st);
	start_over(f);
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
	enum us_code_reach reach = us_x86_from_start(f, at, &st);
	if (reach > US_REACH_NONE)
		rule_at(f, &st, rule);
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
		if (!decode_at(f, pc, &insn))
			return true;
		if (insn.kind == US_X86_ENDBR)
			return true;
		if (insn.kind != US_X86_NOP)
			break;
		pc += insn.len;
	}
	if (insn.kind != US_X86_PUSH || insn.reg != US_X86_CODE_RBP || insn.half)
		return false;
	return decode_at(f, pc + insn.len, &insn) && insn.kind == US_X86_MOVE &&
	       insn.reg == US_X86_CODE_RBP && insn.base == US_X86_CODE_RSP;
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

/* Follow one path to its end. */
static enum outcome ends(struct us_x86_flow *f, const struct us_code_place *at,
			 const struct us_code_pending *p, struct us_code_rule *ret)
{
	struct us_x86_state st = f->pending[p->slot];
	struct us_x86_insn insn, before[2] = { { .general = US_X86_NO_REG },
					       { .general = US_X86_NO_REG } };
	us_gva pc = p->pc, far;
	if (!at->start && !at->after_call && pc == at->pc) {
		us_x86_before_place(f, pc, before);
		us_x86_pop_before(f, pc, &st);
	}
	for (; f->path.n_visited < MAX_RETURN && us_code_path_visit(&f->path, pc);
	     before[1] = before[0], before[0] = insn) {
		if (!decode_at(f, pc, &insn))
			return DEAD;
		us_gva next = pc + insn.len;
		if (insn.kind == US_X86_RET)
			return rule_for(&st, st.sp, ret) ? RETURNS : ASTRAY;
		if (insn.kind == US_X86_IRET) {
			rule_for(&st, st.sp, ret);
			f->left = st;
			return LEAVES;
		}
		if (insn.kind == US_X86_SYSRET) {
			rule_at_sysret(&st, ret);
			return LEAVES_BY_SYSRET;
		}
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
		step(f, &st, &insn, next);
		bool jumps = is_jump(&insn);
		if (insn.kind == US_X86_BRANCH)
			pend(f, target_of(f, next, &insn), p->order, false, &st);
		if (!jumps && us_code_place_runs_out(at, pc, next))
			return DEAD;
		if (is_call(&insn)) {
			pend(f, next, p->order + 1, true, &st);
			return DEAD;
		}
		pc = jumps ? target_of(f, next, &insn) : next;
	}
	return DEAD;
}

static void begin_at(struct us_x86_flow *f, const struct us_code_place *at)
{
	struct us_x86_state start = { .word = f->word,
				      .sp = { 0, US_SYM_SP },
				      .fp = { 0, US_SYM_FP } };
	start_over(f);
	want(f, &start);
	if (!at->after_call)
		start.rcx.sym = US_SYM_RCX;
	if (at->target && f->word == 4)
		us_x86_state_drop(&start, pops_of(f, at->target));
	if (!at->after_call || !us_code_place_runs_out(at, at->pc - 1, at->pc))
		pend(f, at->pc, at->after_call, at->after_call, &start);
}

bool us_x86_rule_past_label(struct us_x86_flow *f, const struct us_code_place *at,
			    struct us_code_rule *rule)
{
	struct us_code_pending p;
	begin_at(f, at);
	*rule = (struct us_code_rule){ 0 };
	if (us_x86_goes_in(f, at->pc))
		return false;
	while (us_code_path_take(&f->path, &p)) {
		struct us_code_rule found = { 0 };
		if (p.after_call && is_prologue(f, p.pc))
			return false;
		enum outcome out = ends(f, at, &p, &found);
		bool other = rule->base && found.base &&
			     !us_code_same_base(rule, &found);
		if (out == ASTRAY || out == RETURNS || out == LEAVES_BY_SYSRET || other)
			return false;
		if (out == LEAVES && found.base) /* else on another stack */
			*rule = found;
	}
	return rule->base && !f->path.lost && f->path.n_visited < MAX_RETURN;
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

/* --- does it ever leave? --- */

#define HLT    0xf4
#define BEYOND 1 /* the order of a path that has run into the next function */

/* Is there only padding up to the next function? */
static bool is_padding(struct us_x86_flow *f, us_gva pc, us_gva end)
{
	struct us_x86_insn insn;
	bool lost = f->path.lost, any = pc < end;
	for (; pc < end; pc += insn.len)
		if (!decode_at(f, pc, &insn) ||
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
		if (!decode_at(f, pc, &insn))
			return false;
		us_gva next = pc + insn.len, to = target_of(f, next, &insn);
		switch (insn.kind) {
		case US_X86_RET:
			return !leaves_by_ret(&st, beyond, start);
		case US_X86_STOP:
			return is_byte(f, pc, 0x0f); /* ud2, not a far jump */
		case US_X86_BREAK:
			return true;
		case US_X86_JUMP_INDIRECT:
		case US_X86_IRET:
		case US_X86_SYSRET:
			return false;
		case US_X86_BRANCH:
			pend(f, to, beyond, false, &st);
			break;
		case US_X86_PUSH_PC:
			f->path.lost |= is_retpoline(f, &insn, next);
			break;
		default:
			break;
		}
		step(f, &st, &insn, next);
		bool halts = is_byte(f, pc, HLT);
		if ((is_call(&insn) || halts) && is_padding(f, next, at->end))
			return true;
		if (!is_jump(&insn) && us_code_place_runs_out(at, pc, next)) {
			if (!is_call(&insn))
				return halts;
			beyond = true;
		}
		pc = is_jump(&insn) ? to : next;
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
	start_over(f);
	if (at->target && f->word == 4)
		us_x86_state_drop(&st, pops_of(f, at->target));
	if (at->after_call && is_padding(f, at->pc, at->end))
		return true;
	bool beyond = at->after_call && us_code_place_runs_out(at, at->pc - 1, at->pc);
	pend(f, at->pc, beyond, at->after_call, &st);
	while (us_code_path_take(&f->path, &p))
		if (!path_stays(f, at, &p, start) || f->path.lost)
			return false;
	return !f->path.lost;
}
