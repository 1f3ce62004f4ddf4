/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_rule.c: see link_rule.h. */
#include "unwind/link_rule.h"

#include "unwind/link_flow.h"
#include "unwind/link_frame.h"

#define MAX_RETURN 1024 /* instructions on the way to a ret */

/* The stack pointer came from memory, as one thread makes way for another: the target
 * of a jump was then not called from here. */
static bool is_switched(const struct us_link_flow *f, const struct us_link_state *st)
{
	return st->reg[f->machine->sp].sym == US_LSYM_ELSEWHERE;
}

/* --- from the start --- */

/* Note where this instruction leads besides the next one; false: it does not lead to
 * the next one. */
static bool flows_on(struct us_link_flow *f, const struct us_code_place *at, us_gva pc,
		     const struct us_link_insn *insn, const struct us_link_state *st)
{
	us_gva to = pc + (us_gva)insn->imm;
	if (insn->kind == US_LINK_BRANCH || insn->kind == US_LINK_JUMP)
		if (us_code_place_has(at, to))
			us_link_flow_pend(f, to, to - at->start, st);
	if (insn->kind == US_LINK_JUMP_INDIRECT && !is_switched(f, st))
		us_link_note_table(f, st);
	if (insn->kind >= US_LINK_JUMP)
		us_code_ends_add(&f->ends, pc + insn->len);
	return insn->kind < US_LINK_JUMP;
}

/* Follow one path; true if it comes to the place, where *st is then the state. */
static bool reaches(struct us_link_flow *f, const struct us_code_place *at, us_gva pc,
		    struct us_link_state *st)
{
	struct us_link_insn insn;
	while (us_code_place_has(at, pc) && us_code_path_visit(&f->path, pc)) {
		if (!at->after_call && pc == at->pc)
			return true;
		if (!us_link_flow_decode(f, pc, &insn))
			return false;
		if (!us_link_flow_step(f, pc, &insn, st))
			return false;
		if (at->after_call && pc + insn.len == at->pc &&
		    us_link_flow_is_call(f, &insn))
			return true;
		if (!flows_on(f, at, pc, &insn, st))
			return false;
		pc += insn.len;
		if (us_link_flow_is_call(f, &insn) && us_code_place_is_cut(at, pc))
			return false;
	}
	return false;
}

/* A register that still has it, where nothing else does. */
static void set_ra_kept(const struct us_link_state *st, struct us_code_rule *ret)
{
	for (uint8_t i = 0; i < US_LINK_N_REG; i++) {
		if (st->reg[i].sym != US_LSYM_RA)
			continue;
		ret->ra = US_RA_KEPT;
		ret->from = i & 31;
		return;
	}
}

/* What was saved is there as long as the stack pointer is not above it. */
static void set_ra(const struct us_link_state *st, const struct us_link_machine *m,
		   struct us_code_rule *ret)
{
	struct us_link_value sp = st->reg[m->sp], saved = st->ra_saved;
	bool kept = saved.sym == US_LSYM_SP &&
		    (sp.sym != US_LSYM_SP || saved.off >= sp.off);
	if (kept && us_code_slot(saved.off, &ret->ra_at))
		ret->ra = US_RA_SAVED;
	else if (st->reg[m->ra].sym == US_LSYM_RA)
		ret->ra = US_RA_LINK;
	else
		set_ra_kept(st, ret);
}

static void set_fp(const struct us_link_state *st, const struct us_link_machine *m,
		   struct us_code_rule *ret)
{
	struct us_link_value fp = st->reg[m->fp];
	if (fp.sym == US_LSYM_FP && fp.off == 0)
		ret->fp = US_FP_SAME;
	else if (st->fp_saved.sym == US_LSYM_SP &&
		 us_code_slot(st->fp_saved.off, &ret->fp_at))
		ret->fp = US_FP_SAVED;
}

static void rule_at(const struct us_link_flow *f, const struct us_link_state *st,
		    struct us_code_rule rule[2])
{
	const struct us_link_machine *m = f->machine;
	struct us_link_value sp = st->reg[m->sp], fp = st->reg[m->fp];
	struct us_code_rule none = { .fp = US_FP_LOST }, by_fp;
	set_ra(st, m, &none);
	set_fp(st, m, &none);
	by_fp = none;
	rule[0] = rule[1] = none;
	if (st->stack == US_STACK_OWN)
		rule[0].base = US_BASE_OWN;
	if (none.ra == US_RA_BELOW || st->stack == US_STACK_OWN) {
		/* It keeps no return address: does it begin a chain of frames? */
		if (fp.sym == US_LSYM_CONST && fp.off == 0)
			rule[0].base = US_BASE_ROOT;
		return;
	}
	if (fp.sym == US_LSYM_SP) {
		by_fp.base = US_BASE_FP;
		by_fp.cfa = -fp.off;
	}
	if (fp.sym != US_LSYM_SP && sp.sym != US_LSYM_SP) {
		us_link_kept_at(f, st, &rule[0]);
		return;
	}
	rule[0] = by_fp;
	rule[0].sp = US_SP_LOST;
	if (sp.sym == US_LSYM_SP) {
		rule[1] = by_fp;
		rule[0] = none;
		rule[0].base = US_BASE_SP;
		rule[0].cfa = -sp.off;
	}
}

static void begin(const struct us_link_flow *f, struct us_link_state *st)
{
	us_link_state_init(st, f->machine);
	st->want = f->want;
}

enum us_code_reach us_link_rule_from_start(struct us_link_flow *f,
					   const struct us_code_place *at,
					   struct us_code_rule rule[2])
{
	enum us_code_reach reach = US_REACH_FLOW;
	struct us_link_path p = { .pc = at->start };
	begin(f, &p.st);
	us_code_path_start(&f->path);
	f->place = (struct us_code_place){ 0 };
	f->ends.n = 0;
	f->has_table = false;
	while (!reaches(f, at, p.pc, &p.st)) {
		if (us_link_flow_take(f, &p))
			continue;
		if (!f->has_table ||
		    !us_code_ends_take(&f->ends, &f->path, at->start, at->pc, &p.pc)) {
			f->path.lost |= f->has_table;
			return f->path.lost ? US_REACH_NONE : US_REACH_NEVER;
		}
		p.st = f->table; /* no path leads there, but that jump may */
		reach = US_REACH_TABLE;
	}
	if (reach == US_REACH_FLOW) {
		f->place = *at;
		f->arrived = p.st;
	}
	rule_at(f, &p.st, rule);
	return reach;
}

/* --- to a return --- */

/* The base that the CFA is counted from. */
struct origin {
	uint8_t sym, mem; /* enum us_link_symbol */
	uint8_t base;	  /* enum us_code_base */
};

static bool origin_of(struct us_link_value sp, struct origin *ret)
{
	bool by_sp = sp.sym == US_LSYM_SP;
	*ret = (struct origin){ sp.sym, by_sp ? US_LSYM_MEM_SP : US_LSYM_MEM_FP,
				by_sp ? US_BASE_SP : US_BASE_FP };
	return by_sp || sp.sym == US_LSYM_FP;
}

/* Common to all ways out: the CFA is sp, and pc is where the code goes. */
static bool rule_for(const struct us_link_flow *f, const struct us_link_state *st,
		     struct us_link_value pc, struct us_code_rule *ret)
{
	struct us_link_value fp = st->reg[f->machine->fp], sp = st->reg[f->machine->sp];
	struct origin o;
	*ret = (struct us_code_rule){ .fp = US_FP_LOST };
	if (sp.sym == US_LSYM_MEM_SP)
		return us_link_word_rule(f, st, pc, ret);
	if (!origin_of(sp, &o) || (o.base == US_BASE_SP && sp.off < 0))
		return false;
	ret->base = o.base;
	ret->cfa = sp.off;
	if (fp.sym == US_LSYM_FP && fp.off == 0)
		ret->fp = US_FP_SAME;
	else if (fp.sym == o.mem && us_code_slot(fp.off - sp.off, &ret->fp_at))
		ret->fp = US_FP_SAVED;
	if (pc.sym == US_LSYM_RA)
		ret->ra = US_RA_LINK;
	else if (pc.sym == o.mem && us_code_slot(pc.off - sp.off, &ret->ra_at))
		ret->ra = US_RA_SAVED;
	else
		ret->base = US_BASE_NONE;
	return ret->base != US_BASE_NONE;
}

/* If a register, or the processor, already holds v at the place: the word of the stack
 * that it came from, according to the code from the start. */
static struct us_link_value loaded(const struct us_link_flow *f,
				   const struct us_code_place *at,
				   struct us_link_value v)
{
	const struct us_link_state *st = &f->arrived;
	struct us_link_value sp = st->reg[f->machine->sp], was = st->exit_pc;
	if (v.sym == US_LSYM_REG)
		was = st->reg[v.off];
	else if (v.sym != US_LSYM_EXIT)
		return v;
	if (!us_link_has_arrived(f, at) || was.sym != US_LSYM_MEM_SP ||
	    sp.sym != US_LSYM_SP)
		return v;
	was.off -= sp.off;
	return was;
}

/* Not if, on the way in, the word is still that of the exception before. */
static void set_sp_was(const struct us_link_state *st, uint8_t mem,
		       struct us_link_value sp, struct us_code_rule *ret)
{
	int64_t words = (st->exit_sp.off - sp.off) / 8;
	if (st->exit_sp.sym == mem && words >= INT8_MIN && words < 0 &&
	    !us_link_state_is_new(st, st->exit_sp))
		ret->sp_was = (int8_t)words;
}

/* The exception may have interrupted a function that has not saved its link register
 * yet; the handler restores it. */
static void rule_of_exit(const struct us_link_flow *f, const struct us_code_place *at,
			 const struct us_link_state *st, struct us_code_rule *ret)
{
	struct us_link_value pc = st->by_word ? st->exit_pc
					      : loaded(f, at, st->exit_pc);
	struct us_link_value ra = st->reg[f->machine->ra];
	struct us_link_value sp = st->reg[f->machine->sp];
	/* The processor already has it, and the exception's frame is off the stack. */
	bool set = pc.sym == US_LSYM_EXIT && sp.sym == US_LSYM_SP && sp.off > 0;
	struct origin o;
	if (us_link_frame_rule(f->machine, st, pc, ret))
		return;
	if (set)
		pc.sym = US_LSYM_RA;
	bool found = rule_for(f, st, pc, ret);
	if (found && ret->ra == US_RA_NEAR)
		us_link_near_frame(f->machine, st, ret);
	if (!found || !origin_of(sp, &o))
		return;
	int64_t words = (ra.off - sp.off) / 8;
	if (ra.sym == o.mem && words >= INT8_MIN && words < 0)
		ret->ra_was = (int8_t)words;
	set_sp_was(st, o.mem, sp, ret);
	/* On the way in, the word is still that of the exception before.  At the last
	 * instruction, the frame is already off the stack. */
	if (set || us_link_state_is_new(st, st->exit_pc) ||
	    (ret->cfa == 0 && pc.off < sp.off))
		ret->ra = US_RA_EXCEPTION;
	if (us_link_state_is_new(st, ra))
		ret->ra_was = 0;
	if (ra.sym == US_LSYM_RA)
		ret->ra_was = 1;
	if (us_link_state_is_new(st, st->reg[f->machine->fp]))
		ret->fp = US_FP_LOST;
}

/* Does a function begin here, perhaps after a landing pad or a signature?  Then the
 * CALL before it does not return. */
static bool is_prologue(struct us_link_flow *f, us_gva pc)
{
	const struct us_link_machine *m = f->machine;
	struct us_link_insn insn;
	for (int i = 0; i < 3; i++) {
		if (!us_link_flow_decode(f, pc, &insn))
			return true;
		if (insn.kind != US_LINK_OTHER)
			break;
		pc += insn.len;
	}
	if (insn.kind == US_LINK_MOVE)
		return insn.reg == m->sp && insn.base == m->sp && insn.imm < 0;
	return insn.kind == US_LINK_STORE && insn.base == m->sp && insn.write < 0 &&
	       (insn.reg == m->ra || insn.reg2 == m->ra);
}

enum outcome { DEAD, RETURNS, LEAVES, SWITCHES };

/* The path has loaded the return address, and given back the stack that it was on: a
 * jump then replaces a call and a return. */
static bool is_before_return(const struct us_link_flow *f,
			     const struct us_link_state *st)
{
	struct us_link_value ra = st->reg[f->machine->ra], sp = st->reg[f->machine->sp];
	bool by_sp = ra.sym == US_LSYM_MEM_SP && sp.sym == US_LSYM_SP && ra.off >= 0 &&
		     !us_link_state_is_new(st, ra);
	bool by_fp = ra.sym == US_LSYM_MEM_FP && sp.sym == US_LSYM_FP;
	return (by_sp || by_fp) && ra.off < sp.off;
}

static enum outcome jumps_away(const struct us_link_flow *f,
			       const struct us_link_state *st, struct us_code_rule *ret)
{
	if (is_before_return(f, st) && rule_for(f, st, st->reg[f->machine->ra], ret))
		return RETURNS;
	return is_switched(f, st) ? SWITCHES : DEAD;
}

/* Follow one path to its end. */
static enum outcome ends(struct us_link_flow *f, const struct us_code_place *at,
			 struct us_link_path *p, struct us_code_rule *ret)
{
	struct us_link_insn insn;
	bool ran_out = false; /* over a label, into what is another function by name */
	while (f->path.n_visited < MAX_RETURN && us_code_path_visit(&f->path, p->pc)) {
		if (!us_link_flow_decode(f, p->pc, &insn))
			return DEAD;
		us_gva next = p->pc + insn.len, to = p->pc + (us_gva)insn.imm;
		if (insn.kind == US_LINK_RET) {
			struct us_link_value pc = p->st.reg[insn.reg % US_LINK_N_REG];
			bool known = rule_for(f, &p->st, pc, ret);
			f->path.lost |= !known;
			return known ? RETURNS : DEAD;
		}
		if (insn.kind == US_LINK_EXIT && ran_out)
			return DEAD;
		if (insn.kind == US_LINK_EXIT) {
			rule_of_exit(f, at, &p->st, ret);
			if (p->st.by_word)
				us_link_count_from(ret, US_BASE_EXIT_WORD, p->st.word);
			f->left = p->st;
			return LEAVES;
		}
		if (insn.kind == US_LINK_STOP)
			return DEAD;
		bool jumps = insn.kind == US_LINK_JUMP;
		if (insn.kind == US_LINK_JUMP_INDIRECT) {
			jumps = us_link_far_jump(&p->st, &insn, &to);
			if (!jumps)
				return jumps_away(f, &p->st, ret);
		}
		if (!us_link_flow_step(f, p->pc, &insn, &p->st))
			return DEAD;
		if (f->follows)
			us_link_follow_word(f->machine, &p->st);
		if (insn.kind == US_LINK_BRANCH)
			us_link_flow_pend(f, to, p->order, &p->st);
		bool out = !jumps && us_code_place_runs_out(at, p->pc, next);
		bool call = us_link_flow_is_call(f, &insn);
		/* Without a CALL, which may not return, it is certain to go on. */
		if (out && (call || p->order))
			return DEAD;
		ran_out |= out;
		if (call) {
			us_link_flow_pend(f, next, p->order + 1, &p->st);
			return DEAD;
		}
		p->pc = jumps ? to : next;
	}
	return DEAD;
}

static enum us_code_exit to_return(struct us_link_flow *f,
				   const struct us_code_place *at,
				   struct us_link_path p, struct us_code_rule *rule)
{
	enum us_code_exit how = US_EXIT_NONE;
	bool switches = false;
	us_code_path_start(&f->path);
	*rule = (struct us_code_rule){ 0 };
	if (at->after_call && us_code_place_runs_out(at, at->pc - 1, at->pc))
		return how;
	do {
		struct us_code_rule found = { 0 };
		uint64_t order = p.order;
		if (order && is_prologue(f, p.pc))
			continue;
		enum outcome out = ends(f, at, &p, &found);
		if (out == LEAVES && how == US_EXIT_NONE) {
			*rule = found;
			return US_EXIT_IRET;
		}
		if (out == SWITCHES && how == US_EXIT_NONE)
			switches = true;
		if (out != RETURNS)
			continue;
		if (us_code_exit_take(rule, &how, &found, order))
			return how;
	} while (us_link_flow_take(f, &p));
	return how == US_EXIT_NONE && switches ? US_EXIT_SWITCH : how;
}

static bool is_same_exit(const struct us_code_rule *a, const struct us_code_rule *b)
{
	return us_code_same_base(a, b) && a->ra == b->ra && a->ra_at == b->ra_at &&
	       a->sp_was == b->sp_was;
}

/* Do all ways leave by one rule?  kept: the place is behind the CALL of an entry, which
 * has stored long ago where it returns to.  If this code has not, or stores it only
 * now, it is another entry's. */
static bool all_leave(struct us_link_flow *f, const struct us_code_place *at, bool kept,
		      struct us_code_rule *rule)
{
	struct us_link_path p = { .pc = at->pc, .order = at->after_call };
	bool any = false;
	begin(f, &p.st);
	if (at->after_call)
		p.st.reg[f->machine->ra] = (struct us_link_value){ 0 };
	else if (!at->start)
		us_link_before_place(f, at->pc, &p.st);
	us_code_path_start(&f->path);
	*rule = (struct us_code_rule){ 0 };
	do {
		struct us_code_rule found = { 0 };
		if (p.order && is_prologue(f, p.pc))
			return false;
		enum outcome out = ends(f, at, &p, &found);
		if (out == DEAD)
			continue;
		bool stored = found.ra == US_RA_SAVED || found.ra == US_RA_NEAR;
		if (out != LEAVES || !found.base || (kept && !stored) ||
		    (any && !is_same_exit(rule, &found)))
			return false;
		*rule = found;
		any = true;
	} while (us_link_flow_take(f, &p));
	return any && !f->path.lost && f->path.n_visited < MAX_RETURN;
}

bool us_link_rule_past_label(struct us_link_flow *f, const struct us_code_place *at,
			     struct us_code_rule *rule)
{
	struct us_code_place behind = { .pc = at->end, .after_call = true };
	struct us_code_place all = *at;
	all.end = 0; /* follow all code */
	return (at->after_call || all_leave(f, &behind, true, rule)) &&
	       all_leave(f, &all, at->after_call, rule);
}

static enum us_code_exit with_result(struct us_link_flow *f,
				     const struct us_code_place *at,
				     struct us_link_path p, struct us_code_rule *rule)
{
	const struct us_link_machine *m = f->machine;
	const struct us_link_value base = { 0, US_LSYM_SP };
	enum us_code_exit how = US_EXIT_NONE;
	bool given = us_link_given_sp(f, at->pc, at->after_call);
	if (!at->after_call || given) {
		if (given)
			p.st.reg[m->result] = base;
		f->returned = true;
		how = to_return(f, at, p, rule);
		f->returned = false;
	}
	if (at->after_call || (how == US_EXIT_IRET && rule->base) ||
	    !us_link_has_result(f, at->pc))
		return how;
	p.st.reg[m->result] = base;
	p.st.reg[m->sp] = (struct us_link_value){ m->sp, US_LSYM_REG };
	how = to_return(f, at, p, rule);
	if (rule->base == US_BASE_SP)
		rule->base = US_BASE_RESULT;
	return how;
}

/* The handler works on a stack of its own. */
static enum us_code_exit from_away(struct us_link_flow *f,
				   const struct us_code_place *at,
				   const struct us_link_path *p,
				   struct us_code_rule *rule)
{
	struct us_link_path kept = *p;
	uint8_t base, reg;
	if (us_link_begin_kept(f, at, &kept.st, &base, &reg)) {
		enum us_code_exit how = to_return(f, at, kept, rule);
		if (how == US_EXIT_IRET && us_link_count_from(rule, base, reg))
			return how;
	}
	f->follows = true;
	enum us_code_exit how = to_return(f, at, *p, rule);
	f->follows = false;
	return how;
}

enum us_code_exit us_link_rule_to_return(struct us_link_flow *f,
					 const struct us_code_place *at,
					 struct us_code_rule *rule)
{
	struct us_link_path p = { .pc = at->pc, .order = at->after_call };
	struct us_code_rule other;
	begin(f, &p.st);
	if (at->after_call) /* the CALL has changed it */
		p.st.reg[f->machine->ra] = (struct us_link_value){ 0 };
	else if (!at->start)
		us_link_before_place(f, at->pc, &p.st);
	enum us_code_exit how = to_return(f, at, p, rule);
	/* The registers may have to be taken from what the handler returns: the frame
	 * that it was given. */
	bool unknown = how == US_EXIT_IRET && rule->base == US_BASE_NONE;
	if (unknown && with_result(f, at, p, &other) == US_EXIT_IRET && other.base)
		*rule = other;
	else if (unknown && from_away(f, at, &p, &other) == US_EXIT_IRET && other.base)
		*rule = other;
	return how;
}

bool us_link_flow_entry(struct us_link_flow *f, us_gva start, us_gva pc,
			struct us_link_entry *ret)
{
	return us_link_read_entry(f->machine, &f->path, start, pc, ret);
}

bool us_link_flow_jump(struct us_link_flow *f, us_gva start, struct us_link_entry *ret)
{
	return us_link_read_jump(f->machine, &f->path, start, ret);
}

bool us_link_flow_exit(struct us_link_flow *f, us_gva pc, struct us_link_exit *ret)
{
	return us_link_run_exit(f->machine, &f->path, pc, ret);
}

/* --- does it ever leave? --- */

#define BEYOND 1 /* the order of a path that has run into the next function */

/* The next function returns through a link register that the CALL before it has
 * changed, or with a stack that is not as this function found it. */
static bool leaves_by_ret(const struct us_link_flow *f, const struct us_link_path *p,
			  const struct us_link_insn *insn,
			  const struct us_code_rule start[2])
{
	struct us_link_value pc = p->st.reg[insn->reg % US_LINK_N_REG];
	struct us_code_rule found;
	if (p->order != BEYOND)
		return true;
	if (!rule_for(f, &p->st, pc, &found))
		return false;
	return us_code_same_cfa(&found, start);
}

/* Follow one path to its end; false: it leaves, or this is not known. */
static bool path_stays(struct us_link_flow *f, const struct us_code_place *at,
		       struct us_link_path *p, const struct us_code_rule start[2])
{
	struct us_link_insn insn;
	while (us_code_path_visit(&f->path, p->pc)) {
		if (!us_link_flow_decode(f, p->pc, &insn))
			return false;
		us_gva next = p->pc + insn.len, to = p->pc + (us_gva)insn.imm;
		if (insn.kind == US_LINK_RET)
			return !leaves_by_ret(f, p, &insn, start);
		if (insn.kind == US_LINK_STOP)
			return true;
		if (insn.kind == US_LINK_EXIT || insn.kind == US_LINK_JUMP_INDIRECT)
			return false;
		if (!us_link_flow_step(f, p->pc, &insn, &p->st))
			return false;
		if (insn.kind == US_LINK_BRANCH)
			us_link_flow_pend(f, to, p->order, &p->st);
		bool jumps = insn.kind == US_LINK_JUMP;
		if (!jumps && us_code_place_runs_out(at, p->pc, next)) {
			if (!us_link_flow_is_call(f, &insn))
				return false;
			p->order = BEYOND;
		}
		p->pc = jumps ? to : next;
	}
	return true;
}

bool us_link_stays(struct us_link_flow *f, const struct us_code_place *at,
		   const struct us_code_rule start[2])
{
	struct us_link_path p = { .pc = at->pc };
	us_link_state_init(&p.st, f->machine);
	if (at->after_call) {
		p.st.reg[f->machine->ra] = (struct us_link_value){ 0 };
		if (us_code_place_runs_out(at, at->pc - 1, at->pc))
			p.order = BEYOND;
	}
	us_code_path_start(&f->path);
	do {
		if (!path_stays(f, at, &p, start) || f->path.lost)
			return false;
	} while (us_link_flow_take(f, &p));
	return !f->path.lost;
}
