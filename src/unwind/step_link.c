/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_link.c: one step with the code, where calls leave the return address in a
 * register; the frame record comes last.
 *
 * The link register is known in code that runs, or that an exception interrupted.
 * Behind a CALL it holds something else.
 */
#include "unwind/walk.h"

/* Above what is on the stack, and not far. */
static bool is_in_place(const struct us_walk *w, us_gva cfa)
{
	us_gva sp = w->reg[w->u->arch->sp];
	return cfa >= sp && cfa - sp <= US_MAX_FRAME_SIZE;
}

/* The code has set the stack pointer to an unknown value: kernels go to another stack
 * for interrupts.  This is allowed a few times in one walk: stacks may lead in a
 * circle. */
static bool may_switch(const struct us_walk *w, const struct us_code_rule *rule)
{
	bool away = rule->base == US_BASE_KEPT || rule->base == US_BASE_WORD ||
		    rule->base == US_BASE_RESULT || rule->base == US_BASE_EXIT_KEPT ||
		    rule->base == US_BASE_EXIT_WORD ||
		    (rule->base == US_BASE_FP && rule->sp == US_SP_LOST);
	return away && rule->ra != US_RA_BELOW && w->n_switch < US_MAX_SWITCHES;
}

/* The value that the CFA is counted from. */
static bool base_of(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	unsigned reg = rule->base == US_BASE_FP	      ? a->fp
		       : rule->base == US_BASE_RESULT ? a->link->result
						      : a->sp;
	if (rule->base == US_BASE_RESULT)
		us_trail_leave(w); /* it is not in a word of the stack */
	if (rule->base == US_BASE_KEPT)
		return us_walk_register(w, rule->base_reg, ret);
	if (rule->base == US_BASE_EXIT_KEPT)
		return us_walk_register(w, rule->from, ret);
	*ret = w->reg[reg];
	if (!us_walk_knows(w, reg))
		return false;
	if (rule->base == US_BASE_WORD)
		return us_walk_read(w, *ret + 8ULL * rule->base_at, ret);
	if (rule->base == US_BASE_EXIT_WORD)
		return us_walk_read(w, *ret + 8ULL * rule->from, ret);
	return rule->base == US_BASE_SP || rule->base == US_BASE_FP ||
	       (rule->base == US_BASE_RESULT && !w->after_call);
}

static bool cfa_of(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret)
{
	us_gva sp = w->reg[w->u->arch->sp], base;
	if (!base_of(w, rule, &base))
		return false;
	/* A leaf may have no frame at all; an entry may have none yet. */
	us_gva cfa = base + (us_gva)(int64_t)rule->cfa;
	bool above = cfa > sp || (cfa == sp && (rule->ra == US_RA_LINK ||
						rule->ra == US_RA_EXCEPTION ||
						rule->ra == US_RA_KEPT));
	*ret = cfa;
	if (may_switch(w, rule))
		return true;
	if (!above)
		w->end = US_END_CYCLE;
	return above && is_in_place(w, cfa);
}

/* A function without a frame needs no stack pointer to find its caller.  The caller's
 * frame begins at the same place, which is not known either. */
static bool stays(const struct us_walk *w, const struct us_code_rule *rule)
{
	return !us_walk_knows(w, w->u->arch->sp) && rule->base == US_BASE_SP &&
	       rule->ra == US_RA_LINK && rule->fp == US_FP_SAME;
}

static bool ra_of(struct us_walk *w, const struct us_code_rule *rule, us_gva cfa,
		  us_gva *ret)
{
	unsigned ra = w->u->arch->link->ra;
	if (rule->ra == US_RA_NEAR)
		cfa = w->reg[w->u->arch->sp];
	bool ok = rule->ra == US_RA_LINK   ? !w->after_call && us_walk_knows(w, ra)
		  : rule->ra == US_RA_KEPT ? us_walk_register(w, rule->from, ret)
					   : us_walk_slot(w, cfa, rule->ra_at, ret);
	if (!ok)
		w->end = US_END_FAULT;
	else if (rule->ra == US_RA_LINK)
		*ret = w->reg[ra];
	*ret = us_walk_strip(w, *ret);
	return ok;
}

bool us_step_link_word(struct us_walk *w, const struct us_code_rule *rule,
		       us_gva *ret_slot, us_gva *ret)
{
	us_gva cfa = w->reg[w->u->arch->sp];
	*ret_slot = 0;
	if (rule->ra == US_RA_BELOW || rule->ra == US_RA_EXCEPTION ||
	    rule->ra == US_RA_NEAR || rule->ra == US_RA_KEPT ||
	    (!stays(w, rule) && !cfa_of(w, rule, &cfa)))
		return false;
	if (rule->ra == US_RA_SAVED)
		*ret_slot = cfa + (us_gva)(int64_t)us_code_slot_offset(rule->ra_at);
	return ra_of(w, rule, cfa, ret);
}

/* Where an exit's frame is counted from.  If the stack pointer is in a word of it, the
 * CFA is that stack pointer, which may be of another stack. */
static us_gva frame_of(const struct us_walk *w, const struct us_code_rule *rule,
		       us_gva cfa)
{
	return rule->ra == US_RA_NEAR ? w->reg[w->u->arch->sp] : cfa;
}

static void set_fp(struct us_walk *w, const struct us_code_rule *rule,
		   struct us_step *ret)
{
	unsigned fp = w->u->arch->fp;
	ret->fp = w->reg[fp];
	ret->fp_known = rule->fp == US_FP_SAME && us_walk_knows(w, fp);
	us_gva from = frame_of(w, rule, ret->cfa);
	if (rule->fp == US_FP_SAVED)
		ret->fp_known = us_walk_slot(w, from, rule->fp_at, &ret->fp);
	ret->framed = rule->base == US_BASE_FP || rule->fp == US_FP_SAVED;
}

/* Does the caller's frame pointer come from a frame?  Programs without frame pointers
 * keep other things in that register, and in its place in a frame. */
static bool is_framed(const struct us_walk *w, const struct us_site *site,
		      const struct us_step *s)
{
	return s->framed &&
	       (!(w->flags & US_PC_USER) || site->rule[0].base == US_BASE_FP ||
		site->rule[1].base == US_BASE_FP);
}

/*
 * An entry may jump to its handler with the address of its way out as the return
 * address (Linux for riscv64 up to 6.8).  No CALL is before that; but it is a
 * function's start, and that function returns from an exception whose frame is at the
 * stack pointer.
 */
static bool is_way_out(struct us_walk *w, const struct us_site *site, us_gva pc)
{
	struct us_sites *sites = w->u->sites;
	if ((w->flags & US_PC_USER) || us_site_is_entry(site) ||
	    pc % w->u->arch->link->align)
		return false;
	struct us_site *at = us_sites_find(sites, pc, false, w->site), out = *at;
	if (us_site_start(at) != pc || at->call != US_CALL_NONE)
		return false;
	if (at->source == US_SITE_CFI) /* it keeps the table's rule */
		us_sites_analyse(sites, &out);
	else if (at->source == US_SITE_NEW)
		us_sites_analyse(sites, at);
	const struct us_site *s = at->source == US_SITE_CFI ? &out : at;
	return us_site_is_entry(s) && s->rule[1].base == US_BASE_SP &&
	       s->rule[1].ra == US_RA_SAVED;
}

/* Apply a rule; true if there is a return address behind a CALL. */
static bool try_rule(struct us_walk *w, const struct us_site *site,
		     const struct us_code_rule *rule, struct us_step *ret)
{
	w->end = rule->base == US_BASE_ROOT ? US_END_ROOT : US_END_NO_RULE;
	bool same_sp = stays(w, rule);
	ret->pc = 0;
	ret->cfa = w->reg[w->u->arch->sp];
	if ((!same_sp && !cfa_of(w, rule, &ret->cfa)) ||
	    !ra_of(w, rule, ret->cfa, &ret->pc))
		return false;
	us_gva slot = ret->cfa + (us_gva)(int64_t)us_code_slot_offset(rule->ra_at);
	if (ret->pc == 0 && us_walk_ends_by_zero(w, site, rule, slot))
		w->end = US_END_ROOT;
	if (ret->pc == 0)
		return false;
	bool calls = us_walk_is_caller(w, site, ret) || us_walk_is_outermost(ret);
	ret->exact = !calls &&
		     (is_way_out(w, site, ret->pc) || us_walk_is_signal(w, ret));
	if (!calls && !ret->exact)
		return false;
	w->n_switch += !is_in_place(w, ret->cfa);
	set_fp(w, rule, ret);
	ret->framed = is_framed(w, site, ret);
	ret->sp = ret->cfa;
	ret->sp_known = !same_sp;
	ret->ra_known = ret->narrow = false;
	ret->rule = NULL;
	ret->flags = w->flags;
	ret->how = site->guess		      ? US_HOW_GUESS
		   : rule->base == US_BASE_FP ? US_HOW_FP
					      : US_HOW_CODE;
	return true;
}

/* Does only the second rule count from a register that is known? */
static bool is_by_fp(const struct us_walk *w, const struct us_code_rule rule[2])
{
	return !us_walk_knows(w, w->u->arch->sp) && rule[0].base == US_BASE_SP &&
	       rule[1].base == US_BASE_FP;
}

const struct us_code_rule *us_step_link_rule(const struct us_walk *w,
					     const struct us_code_rule rule[2])
{
	return &rule[is_by_fp(w, rule) || rule[0].base == US_BASE_NONE];
}

static bool try_rules(struct us_walk *w, const struct us_site *site,
		      struct us_step *ret)
{
	/* Why a rule with an unknown stack pointer fails has no meaning. */
	if (is_by_fp(w, site->rule) && !us_site_is_entry(site))
		return try_rule(w, site, &site->rule[1], ret);
	return us_walk_try_rules(w, site, try_rule, ret);
}

/* The frame record: where the next one is, and a return address. */
static bool read_record(struct us_walk *w, us_gva *ret_fp, us_gva *ret_ra)
{
	const struct us_walk_arch *a = w->u->arch;
	const struct us_link_machine *m = a->link;
	us_gva fp = w->reg[a->fp], sp = w->reg[a->sp];
	us_gva low = fp + (us_gva)(int64_t)m->frame_fp;
	if (!us_walk_knows(w, a->fp) || low < sp || low - sp > US_MAX_FRAME_SIZE)
		return false;
	if (!us_walk_read(w, low, ret_fp) ||
	    !us_walk_read(w, fp + (us_gva)(int64_t)m->frame_ra, ret_ra))
		return false;
	*ret_ra = us_walk_strip(w, *ret_ra);
	return true;
}

/* According to the code from its start, the function keeps no return address and has
 * not changed the frame pointer: the record there is its caller's. */
static bool has_no_record(const struct us_site *site)
{
	return us_site_start(site) && site->rule[1].base == US_BASE_NONE &&
	       site->rule[1].fp == US_FP_SAME;
}

/*
 * Use the frame record if nothing else gives the caller.  It would leave out a function
 * that has no record yet, so the innermost function has to be the one that the CALL
 * names.
 */
static bool by_record(struct us_walk *w, const struct us_site *site,
		      struct us_step *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	if (site->rule[0].base != US_BASE_NONE || !read_record(w, &ret->fp, &ret->pc))
		return false;
	if (ret->pc == 0 && w->framed)
		w->end = US_END_ROOT;
	if (ret->pc == 0 || us_site_is_entry(site) || has_no_record(site) ||
	    !us_walk_is_caller(w, site, ret) || (!w->after_call && !ret->direct))
		return false;
	ret->cfa = ret->sp = w->reg[a->fp] + (us_gva)(int64_t)a->link->frame_cfa;
	ret->sp_known = a->link->frame_exact;
	ret->fp_known = ret->framed = true;
	ret->ra_known = ret->exact = ret->narrow = false;
	ret->rule = NULL;
	ret->flags = w->flags;
	ret->how = US_HOW_FP;
	return ret->cfa > w->reg[a->sp];
}

/* If the code leads here from the target of the CALL before ra, that is the start. */
static bool learn_start(struct us_walk *w, struct us_site *site, us_gva ra)
{
	struct us_code_rule rule[2];
	us_gva target;
	if (!ra || us_sites_call_before(w->u->sites, ra, &target) != US_CALL_DIRECT ||
	    us_sites_from(w->u->sites, site, target, rule) != US_REACH_FLOW)
		return false;
	us_sites_learn(site, target, rule);
	return true;
}

/* No rule holds: the CALL before a possible return address may give the start. */
static bool guess_start(struct us_walk *w, struct us_site *site)
{
	unsigned ra = w->u->arch->link->ra;
	us_gva fp, at;
	site->guess = true;
	if (!w->after_call && us_walk_knows(w, ra) &&
	    learn_start(w, site, us_walk_strip(w, w->reg[ra])))
		return true;
	if (read_record(w, &fp, &at) && learn_start(w, site, at))
		return true;
	site->guess = false;
	return false;
}

bool us_step_link(struct us_walk *w, struct us_site *site, struct us_step *ret)
{
	bool ok = try_rules(w, site, ret);
	uint8_t end = w->end;

	if (ok && (us_site_start(site) || site->tried || !ret->direct))
		return true;
	if (!site->tried && site->rule[0].base != US_BASE_ROOT) {
		site->tried = true;
		if (ok && learn_start(w, site, ret->pc)) {
			us_sites_doubt(w->u->sites, site);
			return try_rules(w, site, ret);
		}
		if (!ok && guess_start(w, site))
			ok = try_rules(w, site, ret);
		us_sites_doubt(w->u->sites, site);
	}
	w->end = end;
	return ok || by_record(w, site, ret);
}

/* A stack that is still empty begins where its memory ends. */
static bool is_users_stack(struct us_walk *w, us_gva sp)
{
	return sp && !us_walk_is_upper(sp) &&
	       (us_paging_is_user(w->paging, w->space, sp) ||
		us_paging_is_user(w->paging, w->space, sp - 1));
}

/* Only the pages distinguish a kernel in the lower half from its programs: what the
 * kernel could not execute was interrupted in a program. */
static bool is_users_code(struct us_walk *w, us_gva pc)
{
	return !us_walk_is_upper(pc) && us_paging_is_user_only(w->paging, w->space, pc);
}

/* The stack pointer according to the exception's frame; false: it has none. */
static bool frames_sp(struct us_walk *w, const struct us_code_rule *rule, us_gva cfa,
		      us_gva *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	unsigned reg = rule->sp_was == US_SP_WAS_FP ? a->fp : a->sp;
	*ret = w->reg[reg];
	if (rule->sp_was >= 0)
		return rule->sp_was && us_walk_knows(w, reg);
	return us_walk_read(w, cfa + (us_gva)(8LL * rule->sp_was), ret);
}

/* A program below the kernel has a stack pointer of its own: sp, or where the code
 * to the exception's return takes it from.  Otherwise the frame pointer bounds the
 * stack. */
static void set_space(struct us_walk *w, const struct us_code_rule *rule, us_gva sp,
		      struct us_step *ret)
{
	bool user = (ret->flags & US_PC_USER) || is_users_code(w, ret->pc);
	if (!user && (!us_walk_is_upper(w->pc) || us_walk_is_upper(ret->pc)))
		return;
	ret->flags = US_PC_USER;
	if (!sp && rule->ra == US_RA_NEAR)
		sp = ret->cfa;
	if (!sp && !frames_sp(w, rule, ret->cfa, &sp))
		sp = 0;
	ret->sp_known = is_users_stack(w, sp);
	if (ret->sp_known)
		ret->sp = sp;
	else
		ret->sp = ret->fp_known ? ret->fp : 0;
}

bool us_step_link_frame(struct us_walk *w, const struct us_site *site,
			struct us_step *ret)
{
	uint8_t end = w->end;
	bool found = false;
	for (unsigned i = 0; i < 2 && !found && !us_site_is_entry(site); i++)
		found = cfa_of(w, &site->rule[i], &ret->cfa) &&
			(set_fp(w, &site->rule[i], ret), ret->fp_known);
	w->end = end;
	return found;
}

/* Has nothing entered since this code was entered?  If this code has not saved where
 * it returns to, an entry that has come and gone since would have changed that for
 * good. */
static bool is_latest(const struct us_walk *w)
{
	for (unsigned i = 1; i < w->out->n; i++)
		if (w->out->how[i] == US_HOW_INTERRUPT)
			return false;
	return true;
}

/* The processor's own registers; only of the latest exception. */
static bool asks(struct us_walk *w, struct us_entered *ret)
{
	struct us_mem *m = w->paging->mem;
	return is_latest(w) && !w->paging->stack && m->read_entered &&
	       m->read_entered(m->ctx, ret);
}

/*
 * What M-mode has interrupted may be in the space that satp names, which M-mode itself
 * does not use.  Where both have something at that address, it must be the same.
 */
static bool find_below(struct us_walk *w, us_gva pc)
{
	struct us_space *s = &w->u->below;
	uint64_t here, there;
	if (w->u->arch->link->banked_sp || !us_riscv_space_below(w->space, s) ||
	    !us_paging_read(w->paging, s, pc & ~7ULL, &there, sizeof(there)))
		return false;
	return !us_paging_read(w->paging, w->space, pc & ~7ULL, &here, sizeof(here)) ||
	       here == there;
}

/* The interrupted code goes on there, according to the stack, or to the processor while
 * the code has not stored it yet. */
static bool exception_of(struct us_walk *w, const struct us_code_rule *rule,
			 struct us_step *ret, us_gva *ret_sp)
{
	struct us_entered at;
	if (!cfa_of(w, rule, &ret->cfa))
		return false;
	if (rule->ra == US_RA_SAVED || rule->ra == US_RA_NEAR)
		return us_walk_slot(w, frame_of(w, rule, ret->cfa), rule->ra_at,
				    &ret->pc);
	if (rule->ra != US_RA_EXCEPTION || !asks(w, &at))
		return false;
	ret->pc = at.pc;
	if (at.below && us_riscv_space_below(w->space, &w->u->below))
		return find_below(w, at.pc);
	if (!at.user)
		return true;
	ret->flags = US_PC_USER;
	*ret_sp = w->u->arch->link->banked_sp ? at.sp : 0;
	return !us_walk_is_upper(at.pc) &&
	       us_paging_is_user(w->paging, w->space, at.pc);
}

/* The link register of the interrupted code. */
static void set_ra(struct us_walk *w, const struct us_code_rule *rule,
		   struct us_step *ret)
{
	unsigned ra = w->u->arch->link->ra;
	ret->ra = w->reg[ra];
	ret->ra_known = rule->ra_was > 0 && !w->after_call && us_walk_knows(w, ra);
	us_gva at = ret->cfa + (us_gva)(8LL * rule->ra_was);
	if (rule->ra == US_RA_NEAR)
		at = frame_of(w, rule, ret->cfa) + (us_gva)(-8LL * (rule->ra_was + 1));
	if (rule->ra_was < 0)
		ret->ra_known = us_walk_read(w, at, &ret->ra);
}

/* Is this where something returns to?  Then the exception's frame is complete. */
static bool is_on_way_back(const struct us_walk *w)
{
	unsigned n = w->out->n;
	return w->after_call || (n > 1 && w->out->how[n - 1] != US_HOW_INTERRUPT);
}

/* A kernel thread begins with a frame that leads nowhere. */
static bool is_nobodys(struct us_walk *w, const struct us_code_rule *rule,
		       const struct us_step *s)
{
	us_gva sp;
	return is_on_way_back(w) && rule->ra == US_RA_SAVED && s->pc == 0 &&
	       frames_sp(w, rule, s->cfa, &sp) && sp == 0;
}

/* A program is where its frame says, even if its page is away: it may have to be
 * fetched first, or the program is about to end. */
static bool is_away(struct us_walk *w, const struct us_code_rule *rule,
		    const struct us_step *s)
{
	us_gva sp;
	return is_on_way_back(w) && rule->ra == US_RA_SAVED &&
	       us_walk_is_upper(w->pc) && s->pc && !us_walk_is_upper(s->pc) &&
	       frames_sp(w, rule, s->cfa, &sp) && sp && !us_walk_is_upper(sp);
}

/* The interrupted state (SPSR), according to the exception's frame. */
static bool read_state(struct us_walk *w, const struct us_site *site,
		       const struct us_step *s, uint64_t *ret)
{
	int32_t off;
	return us_sites_saved(w->u->sites, site, US_LINK_STATE, true, &off) ==
		       US_SAVE_CFA &&
	       us_walk_read(w, s->cfa + (us_gva)(int64_t)off, ret);
}

/* EL1t, or the same of EL2 or EL3: with SP_EL0 (Arm ARM, C5.2.18). */
static bool is_on_sp_el0(uint64_t spsr)
{
	uint64_t mode = spsr & 0x1f;
	return mode == 0x4 || mode == 0x8 || mode == 0xc;
}

/*
 * Parts of a kernel may run on SP_EL0, as FreeRTOS's tasks do; exceptions never do.  So
 * the exception's frame is on another stack than theirs.  The processor has their stack
 * pointer if nothing has entered since, and if it is not in use again.  Without it,
 * frames are only found by the frame pointer, which bounds the stack.
 */
static void set_other_sp(struct us_walk *w, const struct us_site *site,
			 struct us_step *ret)
{
	struct us_entered at;
	uint64_t state;
	bool kept = read_state(w, site, ret, &state);
	if (kept ? !is_on_sp_el0(state) : w->after_call)
		return;
	bool told = asks(w, &at) && at.pc == ret->pc && at.other_sp && !at.user;
	if (!kept && !told)
		return;
	ret->sp_known = told && at.sp != w->regs->sp;
	ret->sp = ret->sp_known ? at.sp : ret->fp_known ? ret->fp : 0;
}

/* The stack pointer is the CFA, unless the frame says otherwise. */
static bool set_sp(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_code_rule *rule = &site->rule[1];
	ret->sp = ret->cfa;
	ret->sp_known = true;
	if (w->u->arch->link->banked_sp)
		set_other_sp(w, site, ret);
	if (w->u->arch->link->banked_sp || !rule->sp_was)
		return true;
	if (!frames_sp(w, rule, ret->cfa, &ret->sp))
		return false;
	w->n_switch += ret->sp > ret->cfa && !is_in_place(w, ret->sp);
	return ret->sp != 0;
}

static void set_below(struct us_walk *w, struct us_step *ret)
{
	w->next_space = &w->u->below;
	ret->flags = us_paging_is_user(w->paging, w->next_space, ret->pc) ? US_PC_USER
									  : 0;
}

bool us_step_link_cross(struct us_walk *w, const struct us_site *site,
			struct us_step *ret)
{
	const struct us_code_rule *rule = &site->rule[1];
	uint8_t byte, end = w->end;
	us_gva sp = 0; /* a program's, if the processor still has it */
	if ((w->flags & US_PC_USER) || !us_site_is_entry(site) ||
	    w->n_switch == US_MAX_SWITCHES)
		return false;
	ret->flags = w->flags;
	bool found = exception_of(w, rule, ret, &sp);
	w->end = found && is_nobodys(w, rule, ret) ? US_END_ROOT : end;
	bool below = found && find_below(w, ret->pc);
	if (!found || ret->pc % w->u->arch->link->align ||
	    (!below && !us_paging_read(w->paging, w->space, ret->pc, &byte, 1) &&
	     !is_away(w, rule, ret)))
		return false;
	set_fp(w, rule, ret);
	ret->framed = ret->narrow = false;
	set_ra(w, rule, ret);
	if (!set_sp(w, site, ret))
		return false;
	ret->exact = true;
	if (below)
		set_below(w, ret);
	else
		set_space(w, rule, sp, ret);
	ret->call = NULL;
	ret->rule = NULL;
	ret->how = US_HOW_INTERRUPT;
	w->n_switch += ret->sp <= w->reg[w->u->arch->sp];
	return true;
}
