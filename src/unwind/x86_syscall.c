/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_syscall.c: entries of system calls that leave by a jump to rcx.
 *
 * `syscall` leaves the address behind it in rcx, and rsp alone.  Where programs run in
 * ring 0, as in many unikernels, sysret would take them out of it; so the entry jumps
 * to what it has kept of rcx.
 */
#include "unwind/x86_flow.h"
#include "unwind/x86_rule.h"

/* What the code from the start says of the jump. */
enum way {
	AS_ENTERED, /* with the rcx and the rsp that the function was entered with */
	UNKNOWN,    /* from another stack, or with more than the function has pushed */
	ELSEWHERE,  /* a return, or a call as the last step */
};

static enum way way_of(struct us_x86_flow *f, const struct us_code_place *at,
		       us_gva jump)
{
	struct us_code_place out = { .pc = jump, .start = at->start, .end = at->end };
	struct us_x86_state st;
	bool led = us_x86_from_start(f, &out, &st) == US_REACH_FLOW;
	if (!led || st.sp.sym != US_SYM_SP || st.sp.off > 0)
		return UNKNOWN;
	bool same = st.rcx.sym == US_SYM_RCX && st.sp.off == -st.word;
	return same ? AS_ENTERED : ELSEWHERE;
}

static bool from_start(struct us_x86_flow *f, const struct us_code_place *at,
		       const struct us_code_rule *start, struct us_code_rule *ret)
{
	struct us_x86_state st;
	*ret = *start;
	if (us_x86_from_start(f, at, &st) != US_REACH_FLOW || st.copied)
		return false;
	if (ret->base == US_BASE_NONE)
		us_x86_kept_at(f, &st, ret);
	if (ret->base != US_BASE_SP && ret->base != US_BASE_FP &&
	    ret->base != US_BASE_KEPT)
		return false;
	bool freed = st.sp.sym == US_SYM_SP && st.rcx_saved.off < st.sp.off;
	if (st.rcx_saved.sym == US_SYM_SP && !freed) {
		ret->ra = US_RA_SAVED;
		return us_code_slot(st.rcx_saved.off, &ret->ra_at);
	}
	ret->ra = US_RA_LINK;
	return !at->after_call && st.rcx.sym == US_SYM_RCX;
}

/* st: at the jump.  From the place on, the code shows where rcx and rsp come from. */
static bool to_jump(const struct us_x86_state *st, struct us_code_rule *ret)
{
	bool loads = st->rcx.sym == US_SYM_MEM_SP;
	*ret = (struct us_code_rule){ .base = US_BASE_SP, .fp = US_FP_LOST };
	if (!loads && st->rcx.sym != US_SYM_RCX)
		return false;
	if (st->sp.sym == US_SYM_SP && st->sp.off >= 0) {
		ret->cfa = st->sp.off + st->word;
		ret->ra = loads ? US_RA_SAVED : US_RA_LINK;
		if (loads && !us_code_slot(st->rcx.off - ret->cfa, &ret->ra_at))
			return false;
	} else if (st->sp.sym == US_SYM_WORD && st->sp.off == 0 && st->sp_at.off >= 0) {
		ret->cfa = (loads ? st->rcx.off : st->sp_at.off) + st->word;
		ret->ra = loads ? US_RA_BELOW : US_RA_LINK;
		ret->sp = US_SP_SAVED;
		if (!us_code_slot(st->sp_at.off - ret->cfa, &ret->sp_at))
			return false;
	} else {
		return false;
	}
	if (us_x86_state_fp_same(st))
		ret->fp = US_FP_SAME;
	else if (st->fp.sym == US_SYM_MEM_SP &&
		 us_code_slot(st->fp.off - ret->cfa, &ret->fp_at))
		ret->fp = US_FP_SAVED;
	return true;
}

bool us_x86_rule_of_syscall(struct us_x86_flow *f, const struct us_code_place *at,
			    enum us_code_exit exit, const struct us_code_rule *start,
			    struct us_code_rule *ret)
{
	bool popped = exit == US_EXIT_RET || exit == US_EXIT_BEHIND;
	if (f->word != 8 || !at->start || !f->rcx_jump || f->returns ||
	    (exit != US_EXIT_NONE && !popped) || !us_x86_leaves_by_rcx(f, at))
		return false;
	struct us_x86_state left = f->left;
	enum way way = way_of(f, at, f->rcx_jump);
	if (way == AS_ENTERED)
		return from_start(f, at, start, ret);
	bool found = way == UNKNOWN && !popped &&
		     (to_jump(&left, ret) ||
		      (from_start(f, at, start, ret) && ret->ra == US_RA_LINK));
	ret->unled = true;
	return found;
}
