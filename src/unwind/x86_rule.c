/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_rule.c: see x86_rule.h. */
#include "unwind/x86_rule.h"

#include "unwind/x86_state.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW	    1024
#define MAX_VISITED 3072
#define VISIT_SLOTS 4096 /* a power of two above MAX_VISITED */
#define MAX_PENDING 128
#define MAX_ENDS    128
#define MAX_RETURN  1024 /* instructions on the way to a ret */

/* A place that a path leads to, and how things are there. */
struct pending {
	us_gva pc;
	uint64_t order; /* the lowest is followed first */
	bool after_call;
	struct us_x86_state st;
};

struct us_x86_flow {
	struct us_paging *paging;
	const struct us_space *space;
	us_gva window; /* what bytes holds */
	size_t window_len;
	uint8_t bytes[WINDOW];

	us_gva visited[VISIT_SLOTS]; /* + 1: 0 is an empty slot */
	unsigned n_visited;
	unsigned budget; /* instructions left */
	struct pending pending[MAX_PENDING];
	unsigned n_pending;
	us_gva end[MAX_ENDS]; /* where code goes on behind a jump or ret */
	unsigned n_end;
	bool lost;	/* a path could not be followed */
	bool has_table; /* an indirect jump was met, in this state */
	struct us_x86_state table;
};

struct us_x86_flow *us_x86_flow_new(void)
{
	return calloc(1, sizeof(struct us_x86_flow));
}

void us_x86_flow_free(struct us_x86_flow *f)
{
	free(f);
}

void us_x86_flow_use(struct us_x86_flow *f, struct us_paging *p,
		     const struct us_space *s)
{
	f->paging = p;
	f->space = s;
	f->window_len = 0;
}

void us_x86_flow_allow(struct us_x86_flow *f, unsigned n_insn)
{
	f->budget = n_insn;
}

bool us_x86_flow_spent(const struct us_x86_flow *f)
{
	return f->budget == 0;
}

static void start_over(struct us_x86_flow *f)
{
	memset(f->visited, 0, sizeof(f->visited));
	f->n_visited = f->n_pending = f->n_end = 0;
	f->has_table = f->lost = false;
}

/* --- code --- */

static void fill_window(struct us_x86_flow *f, us_gva pc)
{
	size_t in_page = 4096 - (pc & 4095);
	f->window = pc;
	f->window_len = WINDOW;
	if (us_paging_read(f->paging, f->space, pc, f->bytes, WINDOW))
		return;
	f->window_len = in_page < WINDOW ? in_page : 0;
	if (!us_paging_read(f->paging, f->space, pc, f->bytes, f->window_len))
		f->window_len = 0;
}

static bool decode_at(struct us_x86_flow *f, us_gva pc, struct us_x86_insn *ret)
{
	us_gva off = pc - f->window;
	if (off >= f->window_len || f->window_len - off < US_X86_MAX_INSN) {
		fill_window(f, pc);
		off = 0;
	}
	if (us_x86_decode(f->bytes + off, f->window_len - off, ret))
		return true;
	f->lost = true;
	return false;
}

/* --- the paths --- */

/* False if it was visited before, or if there is no more room. */
static bool visit(struct us_x86_flow *f, us_gva pc)
{
	size_t i = (pc * 0x9e3779b97f4a7c15) >> 52;
	for (; f->visited[i % VISIT_SLOTS]; i++)
		if (f->visited[i % VISIT_SLOTS] == pc + 1)
			return false;
	if (f->n_visited == MAX_VISITED || f->budget == 0) {
		f->lost = true;
		return false;
	}
	f->n_visited++;
	f->budget--;
	f->visited[i % VISIT_SLOTS] = pc + 1;
	return true;
}

static bool is_visited(const struct us_x86_flow *f, us_gva pc)
{
	size_t i = (pc * 0x9e3779b97f4a7c15) >> 52;
	for (; f->visited[i % VISIT_SLOTS]; i++)
		if (f->visited[i % VISIT_SLOTS] == pc + 1)
			return true;
	return false;
}

/* If there is no room the path is lost: that can cost a rule, not make one wrong. */
static void pend(struct us_x86_flow *f, us_gva pc, uint64_t order, bool after_call,
		 const struct us_x86_state *st)
{
	if (is_visited(f, pc))
		return;
	if (f->n_pending == MAX_PENDING) {
		f->lost = true;
		return;
	}
	f->pending[f->n_pending++] = (struct pending){
		.pc = pc, .order = order, .after_call = after_call, .st = *st
	};
}

static bool take_pending(struct us_x86_flow *f, struct pending *ret)
{
	unsigned best = 0;
	if (f->n_pending == 0)
		return false;
	for (unsigned i = 1; i < f->n_pending; i++)
		if (f->pending[i].order < f->pending[best].order)
			best = i;
	*ret = f->pending[best];
	f->pending[best] = f->pending[--f->n_pending];
	return true;
}

static const struct pending *find_pending(const struct us_x86_flow *f, us_gva pc)
{
	for (unsigned i = 0; i < f->n_pending; i++)
		if (f->pending[i].pc == pc)
			return &f->pending[i];
	return NULL;
}

static us_gva target_of(us_gva next, const struct us_x86_insn *insn)
{
	return next + (us_gva)(int64_t)insn->imm;
}

/* call $+5, to learn the program counter: the address stays on the stack. */
static bool is_push_of_pc(const struct us_x86_insn *insn)
{
	return insn->kind == US_X86_CALL && insn->imm == 0;
}

static void step(struct us_x86_state *st, const struct us_x86_insn *insn)
{
	static const struct us_x86_insn push = { .kind = US_X86_PUSH,
						 .reg = US_X86_NO_REG,
						 .base = US_X86_NO_REG };
	us_x86_state_step(st, is_push_of_pc(insn) ? &push : insn);
}

static bool is_call(const struct us_x86_insn *insn)
{
	return (insn->kind == US_X86_CALL || insn->kind == US_X86_CALL_INDIRECT) &&
	       !is_push_of_pc(insn);
}

/* --- from the start --- */

static bool in_function(const struct us_x86_place *at, us_gva pc)
{
	return at->end == 0 || (pc >= at->start && pc < at->end);
}

static void goes_to(struct us_x86_flow *f, const struct us_x86_place *at, us_gva pc,
		    const struct us_x86_state *st)
{
	/* By address: so that the branch around a CALL that never returns has said
	 * how things are behind it before the CALL is met. */
	if (in_function(at, pc))
		pend(f, pc, pc - at->start, false, st);
}

/* Note where this instruction leads besides the next one; false if not there. */
static bool flows_on(struct us_x86_flow *f, const struct us_x86_place *at,
		     const struct us_x86_insn *insn, us_gva next,
		     struct us_x86_state *st)
{
	const struct pending *known;
	switch (insn->kind) {
	case US_X86_BRANCH:
		goes_to(f, at, target_of(next, insn), st);
		return true;
	case US_X86_CALL:
	case US_X86_CALL_INDIRECT:
		known = find_pending(f, next);
		if (known && is_call(insn))
			*st = known->st;
		return true;
	case US_X86_JUMP_INDIRECT:
		if (!f->has_table)
			f->table = *st;
		f->has_table = true;
		break;
	case US_X86_JUMP:
		goes_to(f, at, target_of(next, insn), st);
		break;
	case US_X86_BREAK:
		if (at->end)
			return true; /* bounded: no padding leads into the next one */
		break;
	case US_X86_RET:
	case US_X86_IRET:
	case US_X86_STOP:
		break;
	default:
		return true;
	}
	if (f->n_end < MAX_ENDS)
		f->end[f->n_end++] = next;
	return false;
}

/* Follow one path; true if it comes to the place, *st is then how things are there. */
static bool reaches(struct us_x86_flow *f, const struct us_x86_place *at, us_gva pc,
		    struct us_x86_state *st)
{
	struct us_x86_insn insn;
	while (in_function(at, pc) && visit(f, pc)) {
		if (!at->after_call && pc == at->pc)
			return true;
		if (!decode_at(f, pc, &insn))
			return false;
		pc += insn.len;
		if (at->after_call && pc == at->pc && is_call(&insn))
			return true;
		step(st, &insn);
		if (!flows_on(f, at, &insn, pc, st))
			return false;
	}
	return false;
}

/* Code that no path leads to, behind a jump or ret: reached by the indirect jump.
 * The lowest first; each is taken once. */
static bool take_end(struct us_x86_flow *f, const struct us_x86_place *at, us_gva *ret)
{
	unsigned i = 0;
	*ret = 0;
	while (f->has_table && i < f->n_end) {
		us_gva end = f->end[i];
		if (end < at->start || end > at->pc || is_visited(f, end)) {
			f->end[i] = f->end[--f->n_end];
			continue;
		}
		if (*ret == 0 || end < *ret)
			*ret = end;
		i++;
	}
	for (i = 0; i < f->n_end; i++)
		if (f->end[i] == *ret)
			f->end[i] = f->end[--f->n_end];
	return *ret != 0;
}

static void rule_at(const struct us_x86_state *st, struct us_x86_rule rule[2])
{
	struct us_x86_rule sp = { .fp = US_FP_LOST }, fp;
	/* What was saved holds on every path that leads here; that rbp still is what
	 * it was, only on this one. */
	if (st->saved.sym == US_SYM_SP)
		sp.fp = US_FP_SAVED;
	else if (us_x86_state_fp_same(st))
		sp.fp = US_FP_SAME;
	sp.fp_at = st->saved.off;
	sp.sp_at = st->r10_saved.off;
	if (st->copied)
		sp.sp = st->r10_saved.sym == US_SYM_SP ? US_SP_SAVED : US_SP_R10;
	fp = sp;
	if (st->sp.sym == US_SYM_SP) {
		sp.base = US_BASE_SP;
		sp.cfa = -st->sp.off;
	}
	if (st->fp.sym == US_SYM_SP) {
		fp.base = US_BASE_FP;
		fp.cfa = -st->fp.off;
	}
	bool frame = fp.base && st->fp.off == -16 && fp.fp == US_FP_SAVED;
	rule[0] = frame || !sp.base ? fp : sp;
	rule[1] = frame || !sp.base ? sp : fp;
	if (!rule[0].base && st->r10.sym == US_SYM_SP) {
		rule[0].base = US_BASE_R10;
		rule[0].cfa = -st->r10.off;
	}
	if (st->fp.sym == US_SYM_ZERO && rule[0].fp == US_FP_LOST)
		rule[0].base = US_BASE_ROOT;
}

enum us_x86_reach us_x86_rule_from_start(struct us_x86_flow *f,
					 const struct us_x86_place *at,
					 struct us_x86_rule rule[2])
{
	/* Here SP stands for the CFA. */
	struct us_x86_state st = { .sp = { -8, US_SYM_SP }, .fp = { 0, US_SYM_FP } };
	enum us_x86_reach reach = US_REACH_FLOW;
	struct pending p;
	us_gva pc = at->start;

	start_over(f);
	for (;;) {
		if (reaches(f, at, pc, &st)) {
			rule_at(&st, rule);
			return reach;
		}
		if (take_pending(f, &p)) {
			pc = p.pc;
			st = p.st;
		} else if (take_end(f, at, &pc)) {
			st = f->table;
			reach = US_REACH_TABLE;
		} else {
			return f->lost || f->has_table ? US_REACH_NONE : US_REACH_NEVER;
		}
	}
}

/* --- to a return --- */

static bool rule_at_ret(const struct us_x86_state *st, struct us_x86_rule *ret)
{
	int32_t cfa = st->sp.off + 8;
	uint8_t mem = st->sp.sym == US_SYM_SP ? US_SYM_MEM_SP : US_SYM_MEM_FP;
	if (st->sp.sym == US_SYM_SP && st->sp.off >= 0)
		ret->base = US_BASE_SP;
	else if (st->sp.sym == US_SYM_FP)
		ret->base = US_BASE_FP;
	else
		return false;
	ret->cfa = cfa;
	ret->fp_at = ret->sp_at = 0;
	ret->sp = US_SP_CFA;
	ret->fp = US_FP_LOST;
	if (us_x86_state_fp_same(st)) {
		ret->fp = US_FP_SAME;
	} else if (st->fp.sym == mem) {
		ret->fp = US_FP_SAVED;
		ret->fp_at = st->fp.off - cfa;
	}
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
	if (insn.kind != US_X86_PUSH || insn.reg != US_X86_CODE_RBP)
		return false;
	return decode_at(f, pc + insn.len, &insn) && insn.kind == US_X86_MOVE &&
	       insn.reg == US_X86_CODE_RBP && insn.base == US_X86_CODE_RSP;
}

enum outcome { DEAD, RETURNS, LEAVES };

/* Code does not run on into the next function: the CALL before that never returns. */
static bool runs_out(const struct us_x86_place *at, us_gva pc, us_gva next)
{
	return pc < at->end && next >= at->end;
}

/* Follow one path to its end. */
static enum outcome ends(struct us_x86_flow *f, const struct us_x86_place *at,
			 struct pending *p, struct us_x86_rule *ret)
{
	struct us_x86_insn insn;
	while (f->n_visited < MAX_RETURN && visit(f, p->pc)) {
		if (!decode_at(f, p->pc, &insn))
			return DEAD;
		us_gva next = p->pc + insn.len;
		if (insn.kind == US_X86_RET)
			return rule_at_ret(&p->st, ret) ? RETURNS : DEAD;
		if (insn.kind == US_X86_IRET)
			return LEAVES;
		if (insn.kind == US_X86_JUMP_INDIRECT || insn.kind == US_X86_STOP ||
		    insn.kind == US_X86_BREAK)
			return DEAD;
		step(&p->st, &insn);
		bool jumps = insn.kind == US_X86_JUMP;
		if (insn.kind == US_X86_BRANCH)
			pend(f, target_of(next, &insn), p->order, false, &p->st);
		if (!jumps && runs_out(at, p->pc, next))
			return DEAD;
		if (is_call(&insn)) {
			pend(f, next, p->order + 1, true, &p->st);
			return DEAD;
		}
		p->pc = jumps ? target_of(next, &insn) : next;
	}
	return DEAD;
}

enum us_x86_exit us_x86_rule_to_return(struct us_x86_flow *f,
				       const struct us_x86_place *at,
				       struct us_x86_rule *rule)
{
	static const struct us_x86_state start = { .sp = { 0, US_SYM_SP },
						   .fp = { 0, US_SYM_FP } };
	enum us_x86_exit how = US_EXIT_NONE;
	struct us_x86_rule found;
	struct pending p;

	start_over(f);
	rule->base = US_BASE_NONE;
	if (!at->after_call || !runs_out(at, at->pc - 1, at->pc))
		pend(f, at->pc, at->after_call, at->after_call, &start);
	while (take_pending(f, &p)) {
		if (p.after_call && is_prologue(f, p.pc))
			continue;
		enum us_x86_exit behind = p.order ? US_EXIT_BEHIND : US_EXIT_RET;
		switch (ends(f, at, &p, &found)) {
		case DEAD:
			break;
		case LEAVES:
			return how == US_EXIT_NONE ? US_EXIT_IRET : how;
		case RETURNS:
			if (how == US_EXIT_NONE || found.fp != US_FP_LOST) {
				*rule = found;
				how = behind;
			}
			if (found.fp != US_FP_LOST)
				return how;
		}
	}
	return how;
}
