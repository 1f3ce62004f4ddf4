/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unwind.c: step from frame to frame, by the rules that the code itself gives. */
#include "unwind/unwind.h"

#include "unwind/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK_WINDOW   1280
#define BELOW	       128 /* of it below the word asked for: saved registers */
#define MAX_FRAME_SIZE (16 << 20)
#define MAX_SCAN       32 /* words of the stack looked at when there is no rule */
#define MAX_PUSHED     40 /* words between an interrupt's frame and its handler's */
#define MAX_TRIES      4  /* of them compared with the code, which is slow */

struct us_unwinder {
	struct us_sites *sites;
	us_gva window; /* what bytes holds */
	size_t window_len;
	uint8_t bytes[STACK_WINDOW];
};

/* One unwinding: the current frame, and why it cannot go on. */
struct walk {
	struct us_unwinder *u;
	struct us_paging *paging;
	const struct us_space *space;
	us_gva pc, sp, fp;
	us_gva r10; /* of the innermost frame */
	bool fp_known, r10_known, sp_known;
	bool framed;	 /* fp came by the chain of frame pointers */
	bool after_call; /* pc is a return address */
	uint8_t end;	 /* enum us_unwind_end */
	uint8_t exit;	 /* of the current site: enum us_x86_exit */
};

/* The caller's frame as a rule gives it. */
struct caller {
	us_gva pc, sp, fp;
	bool fp_known, sp_known, framed;
	bool direct;   /* the CALL before pc names its target ... */
	us_gva target; /* ... this */
	bool strong;   /* and it is the very function */
	uint8_t how;   /* enum us_frame_how */
};

int us_unwinder_new(enum us_arch arch, const struct us_code_map *map,
		    const struct us_cfi *cfi, struct us_unwinder **ret)
{
	if (arch != US_ARCH_X86_64 || cfi)
		return -ENOTSUP;
	struct us_unwinder *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->sites = us_sites_new(map);
	if (!u->sites) {
		free(u);
		return -ENOMEM;
	}
	*ret = u;
	return 0;
}

void us_unwinder_free(struct us_unwinder *u)
{
	if (!u)
		return;
	us_sites_free(u->sites);
	free(u);
}

void us_unwinder_set_map(struct us_unwinder *u, const struct us_code_map *map)
{
	us_sites_set_map(u->sites, map);
}

/* --- the stack --- */

static bool fill_window(struct walk *w, us_gva va)
{
	struct us_unwinder *u = w->u;
	us_gva page = va & ~4095ULL, from = va - page > BELOW ? va - BELOW : page;
	size_t len = page + 4096 - from;
	u->window_len = len < STACK_WINDOW ? len : STACK_WINDOW;
	u->window = from;
	if (us_paging_read(w->paging, w->space, from, u->bytes, u->window_len))
		return true;
	/* The backend may know less of the page than that. */
	u->window = va;
	u->window_len = 8;
	if (us_paging_read(w->paging, w->space, va, u->bytes, 8))
		return true;
	u->window_len = 0;
	return false;
}

static bool read_word(struct walk *w, us_gva va, uint64_t *ret)
{
	struct us_unwinder *u = w->u;
	us_gva off = va - u->window;
	if (off >= u->window_len || u->window_len - off < 8) {
		if (va > UINT64_MAX - 8 || !fill_window(w, va))
			return false;
		off = va - u->window;
		if (u->window_len - off < 8) /* over a page border */
			return us_paging_read(w->paging, w->space, va, ret, 8);
	}
	memcpy(ret, u->bytes + off, 8);
	return true;
}

/* --- one step --- */

/* Where the rule puts the CFA; false if that cannot be. */
static bool cfa_of(struct walk *w, const struct us_x86_rule *rule, us_gva *ret)
{
	us_gva base = w->sp;
	bool known = rule->base == US_BASE_SP && w->sp_known;
	if (rule->base == US_BASE_FP) {
		base = w->fp;
		known = w->fp_known;
	} else if (rule->base == US_BASE_R10) {
		base = w->r10;
		known = w->r10_known;
	}
	us_gva cfa = base + (us_gva)(int64_t)rule->cfa;
	if (!known)
		return false;
	if (cfa <= w->sp)
		w->end = US_END_CYCLE;
	*ret = cfa;
	return cfa % 8 == 0 && cfa > w->sp && cfa - w->sp <= MAX_FRAME_SIZE;
}

/* The caller's rsp.  Above the CFA if the stack was aligned; if that is not known, the
 * CFA is still a lower bound for all that follows. */
static void restore_sp(struct walk *w, const struct us_x86_rule *rule, us_gva cfa,
		       struct caller *ret)
{
	us_gva sp = cfa;
	bool known = true;
	if (rule->sp == US_SP_SAVED)
		known = read_word(w, cfa + (us_gva)(int64_t)rule->sp_at, &sp);
	if (rule->sp == US_SP_R10) {
		known = w->r10_known;
		sp = w->r10;
	}
	ret->sp_known = known && sp % 8 == 0 && sp >= cfa && sp - cfa < MAX_FRAME_SIZE;
	ret->sp = ret->sp_known ? sp : cfa;
}

static void restore_fp(struct walk *w, const struct us_x86_rule *rule, us_gva cfa,
		       struct caller *ret)
{
	ret->fp = w->fp;
	ret->fp_known = w->fp_known && rule->fp == US_FP_SAME;
	if (rule->fp == US_FP_SAVED)
		ret->fp_known = read_word(w, cfa + (us_gva)(int64_t)rule->fp_at,
					  &ret->fp);
	ret->framed = rule->base == US_BASE_FP || (w->framed && rule->fp == US_FP_SAME);
}

/* Could the CALL before ret->pc have led to the site? */
static bool is_caller(struct walk *w, const struct us_site *site, struct caller *ret)
{
	struct us_sites *sites = w->u->sites;
	const struct us_site *call = us_sites_find(sites, w->paging, w->space, ret->pc,
						   true);
	ret->direct = call->call == US_CALL_DIRECT;
	ret->target = call->target;
	ret->strong = ret->direct && site->start && ret->target == site->start;
	if (ret->strong || call->call == US_CALL_NONE)
		return ret->strong;
	/* What ends in iret is entered by an interrupt; and a thread that has not run
	 * yet has the start of a function where others have a return address. */
	if (site->exit == US_EXIT_IRET || call->at_start)
		return false;
	/* A CALL elsewhere can still lead here, by jumps at the end of functions. */
	return !ret->direct ||
	       us_sites_leads(sites, w->paging, w->space, ret->pc, site);
}

/* Apply a rule: true if there is a return address behind a CALL. */
static bool try_rule(struct walk *w, const struct us_site *site,
		     const struct us_x86_rule *rule, struct caller *ret)
{
	us_gva cfa;
	w->end = rule->base == US_BASE_ROOT ? US_END_ROOT : US_END_NO_RULE;
	if (!cfa_of(w, rule, &cfa))
		return false;
	if (!read_word(w, cfa - 8, &ret->pc)) {
		w->end = US_END_FAULT;
		return false;
	}
	if (ret->pc == 0)
		w->end = US_END_ROOT; /* set up so, where a thread begins */
	if (ret->pc == 0 || !is_caller(w, site, ret))
		return false;
	restore_sp(w, rule, cfa, ret);
	restore_fp(w, rule, cfa, ret);
	ret->how = site->guess		      ? US_HOW_GUESS
		   : rule->base == US_BASE_FP ? US_HOW_FP
					      : US_HOW_CODE;
	return true;
}

/* On failure w->end is that of the better rule. */
static bool try_rules(struct walk *w, const struct us_site *site, struct caller *ret)
{
	struct caller other;
	bool first = try_rule(w, site, &site->rule[0], ret);
	uint8_t end = w->end;
	if (first && ret->strong)
		return true;
	bool second = site->rule[1].base != US_BASE_NONE &&
		      try_rule(w, site, &site->rule[1], &other);
	w->end = end;
	if (second && (!first || other.strong))
		*ret = other;
	return first || second;
}

/*
 * The start of the site's function is in doubt.  If the code leads here from the
 * target of a CALL, that is the start, and the rule from there is the better one;
 * provided that it gives the CFA at which that CALL was found (0: any).
 */
static bool learn_start(struct walk *w, struct us_site *site, us_gva target, us_gva at)
{
	struct us_x86_rule rule[2];
	us_gva cfa;
	if (us_sites_from(w->u->sites, w->paging, w->space, site, target, rule) <=
	    US_REACH_NONE)
		return false;
	if (!cfa_of(w, &rule[0], &cfa) || (at && cfa != at))
		return false;
	site->guess = at != 0;
	us_sites_learn(w->u->sites, site, target, rule);
	return true;
}

static bool try_slot(struct walk *w, struct us_site *site, us_gva cfa, unsigned *tries)
{
	uint64_t word;
	us_gva target;
	if (!read_word(w, cfa - 8, &word) || word == 0 ||
	    us_sites_call_before(w->paging, w->space, word, &target) != US_CALL_DIRECT)
		return false;
	++*tries;
	return learn_start(w, site, target, cfa);
}

/* No rule holds: the frame pointer, or a word on the stack, may still be confirmed
 * by the CALL that it is behind. */
static bool scan(struct walk *w, struct us_site *site)
{
	unsigned tries = 0;
	bool fp = w->fp_known && w->fp % 8 == 0 && w->fp >= w->sp &&
		  w->fp - w->sp < MAX_FRAME_SIZE;
	if (fp && try_slot(w, site, w->fp + 16, &tries))
		return true;
	for (unsigned i = 1; i <= MAX_SCAN && tries < MAX_TRIES; i++)
		if (w->sp % 8 == 0 && try_slot(w, site, w->sp + 8 * i, &tries))
			return true;
	return false;
}

/*
 * Is there, at va, what a processor in 64-bit mode pushes at an interrupt (Intel SDM
 * volume 3, 6.14.2): rip, cs, rflags, rsp, ss?  Believed only if the stack was not
 * switched: then rsp points just above, before it was aligned to 16.
 */
static bool is_interrupt_frame(struct walk *w, us_gva va, uint64_t word[5])
{
	for (unsigned i = 0; i < 5; i++)
		if (!read_word(w, va + 8 * i, &word[i]))
			return false;
	uint64_t cs = word[1], flags = word[2], ss = word[4];
	bool selectors = cs >= 8 && cs < 0x10000 && ss < 0x10000 && !(cs & 3) &&
			 (!ss || !(ss & 3));
	bool sane = (flags & 2) && !(flags & 0x8028) && flags >> 22 == 0;
	return selectors && sane && (word[3] & ~15ULL) == va + 40;
}

/*
 * An entry from outside ends the chain of calls, not the stack: what it interrupted is
 * a frame of its own, as if it were the innermost.  rbp is taken to be still that of
 * the interrupted code; its own rules, and the CALL behind each, have to confirm it.
 */
static bool cross_interrupt(struct walk *w, struct us_stack *out)
{
	uint64_t word[5];
	for (unsigned i = 0; i < MAX_PUSHED && w->sp % 8 == 0; i++) {
		if (!is_interrupt_frame(w, w->sp + 8 * i, word))
			continue;
		out->how[out->n] = US_HOW_INTERRUPT;
		out->pc[out->n++] = word[0];
		w->pc = word[0];
		w->sp = word[3];
		w->sp_known = true;
		w->framed = w->r10_known = w->after_call = false;
		return true;
	}
	return false;
}

static bool find_caller(struct walk *w, struct caller *ret)
{
	static const struct us_x86_rule frame = {
		.cfa = 16, .fp_at = -16, .base = US_BASE_FP, .fp = US_FP_SAVED
	};
	/* A copy: a look-up of another address may take its place. */
	struct us_site site = *us_sites_find(w->u->sites, w->paging, w->space, w->pc,
					     w->after_call);
	bool ok = try_rules(w, &site, ret);
	uint8_t end = w->end;

	w->exit = site.exit;
	if (ok && (site.start || site.tried || !ret->direct))
		return true;
	if (!site.tried && site.rule[0].base != US_BASE_ROOT) {
		us_sites_tried(w->u->sites, &site);
		if (ok && learn_start(w, &site, ret->target, 0))
			return try_rules(w, &site, ret);
		if (!ok && scan(w, &site))
			ok = try_rules(w, &site, ret);
	}
	if (!ok && w->after_call && site.rule[0].base == US_BASE_NONE && w->fp)
		ok = try_rule(w, &site, &frame, ret);
	w->end = end;
	return ok;
}

static void unwind_64(struct walk *w, struct us_stack *out)
{
	struct caller next;
	while (out->n < US_MAX_FRAMES) {
		if (!find_caller(w, &next)) {
			if (w->exit == US_EXIT_IRET && cross_interrupt(w, out))
				continue;
			/* By convention the outermost frame has 0 for the next. */
			bool bottom = w->fp_known && w->fp == 0 && w->framed;
			out->end = bottom ? US_END_ROOT : w->end;
			return;
		}
		out->how[out->n] = next.how;
		out->pc[out->n++] = next.pc;
		w->pc = next.pc;
		w->sp = next.sp;
		w->fp = next.fp;
		w->fp_known = next.fp_known;
		w->sp_known = next.sp_known;
		w->framed = next.framed;
		w->r10_known = false;
		w->after_call = true;
	}
	out->end = US_END_DEPTH;
}

void us_unwind(struct us_unwinder *u, struct us_paging *p, const struct us_regs *regs,
	       struct us_stack *out)
{
	struct walk w = {
		.u = u,
		.paging = p,
		.space = &regs->space,
		.pc = regs->pc,
		.sp = regs->sp,
		.fp = regs->fp,
		.fp_known = true,
		.sp_known = true,
		.r10 = regs->gpr[US_X86_R10],
		.r10_known = regs->valid & 1U << US_X86_R10,
	};
	out->n = 1;
	out->pc[0] = regs->pc;
	out->how[0] = US_HOW_PC;
	out->end = US_END_MODE;
	u->window_len = 0;
	us_sites_begin(u->sites);
	if (regs->bits == 64)
		unwind_64(&w, out);
}

const char *us_unwind_end_name(enum us_unwind_end end)
{
	static const char *const names[US_N_END] = {
		[US_END_NONE] = "none",	  [US_END_ROOT] = "root",
		[US_END_DEPTH] = "depth", [US_END_FAULT] = "fault",
		[US_END_CYCLE] = "cycle", [US_END_NO_RULE] = "no rule",
		[US_END_MODE] = "mode",
	};
	return end < US_N_END ? names[end] : "unknown";
}

const char *us_frame_how_name(enum us_frame_how how)
{
	static const char *const names[] = {
		[US_HOW_PC] = "pc",	  [US_HOW_FP] = "frame pointer",
		[US_HOW_CODE] = "code",	  [US_HOW_CFI] = "cfi",
		[US_HOW_GUESS] = "guess", [US_HOW_INTERRUPT] = "interrupt frame",
	};
	return how < sizeof(names) / sizeof(*names) ? names[how] : "unknown";
}
