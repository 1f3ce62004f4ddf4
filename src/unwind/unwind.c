/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unwind.c: step from frame to frame; which sources are asked, and which one counts. */
#include "unwind/unwind.h"

#include "unwind/walk.h"

#include <errno.h>
#include <stdlib.h>

/* System V psABI for x86-64, 3.2.1. */
#define X86_PRESERVED                                                                  \
	(1U << US_X86_RBX | 1U << US_X86_RBP | 1U << US_X86_R12 | 1U << US_X86_R13 |   \
	 1U << US_X86_R14 | 1U << US_X86_R15)

static const struct us_walk_arch archs[US_N_ARCH] = {
	[US_ARCH_X86_64] = { US_X86_RSP, US_X86_RBP, 16, X86_PRESERVED, NULL },
	[US_ARCH_AARCH64] = { US_AARCH64_SP, US_AARCH64_FP, 32, US_AARCH64_PRESERVED,
			      &us_link_aarch64 },
	[US_ARCH_RISCV64] = { US_RISCV_SP, US_RISCV_FP, 32, US_RISCV_PRESERVED,
			      &us_link_riscv },
};

static void use_map(struct us_unwinder *u, const struct us_code_map *map)
{
	u->narrow_cs = 0;
	for (; map && !u->narrow_cs; map = map->next)
		u->narrow_cs = map->narrow_cs;
}

int us_unwinder_new(enum us_arch arch, const struct us_code_map *map,
		    const struct us_cfi *cfi, struct us_unwinder **ret)
{
	if (arch >= US_N_ARCH)
		return -ENOTSUP;
	struct us_unwinder *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->arch = &archs[arch];
	u->sites = us_sites_new(u->arch->link);
	if (!u->sites) {
		free(u);
		return -ENOMEM;
	}
	us_sites_set_code(u->sites, map, cfi);
	use_map(u, map);
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

void us_unwinder_set_code(struct us_unwinder *u, const struct us_code_map *map,
			  const struct us_cfi *cfi)
{
	us_sites_set_code(u->sites, map, cfi);
	use_map(u, map);
	u->n_change++;
}

void us_unwinder_share_code(struct us_unwinder *u, struct us_paging *code)
{
	u->code = code;
	us_sites_share(u->sites);
}

unsigned us_unwinder_changes(const struct us_unwinder *u)
{
	return u->n_change;
}

/* Nobody called: this is known only after the search for the start. */
static bool ends_after_all(struct us_walk *w, struct us_site *site)
{
	return site->outer == US_OUTER_OWN ||
	       (site->outer == US_OUTER_JUMP && us_walk_is_root(w, site));
}

/* Ask the code, and then a table that is not trusted. */
static enum us_step_result by_code(struct us_walk *w, struct us_site *site,
				   struct us_step *ret)
{
	struct us_cfi_row row;
	if (site->source != US_SITE_CODE)
		us_sites_analyse(w->u->sites, site);
	bool link = w->u->arch->link;
	bool first = (!site->tried || site->exit == US_EXIT_LABEL) &&
		     site->rule[0].base != US_BASE_ROOT;
	if (us_step_syscall(w, site, true, ret))
		return US_STEP_YES;
	if (link ? us_step_link(w, site, ret) : us_step_code(w, site, ret)) {
		us_step_label_instead(w, site, ret);
		return US_STEP_YES;
	}
	uint8_t end = w->end;
	enum us_step_result found = US_STEP_NO;
	if (site->doubtful && us_sites_cfi(w->u->sites, site, &row))
		found = us_step_cfi(w, site, row.rule, row.saved, ret);
	w->end = end;
	if (found == US_STEP_NO &&
	    (link ? us_step_link_cross(w, site, ret) : us_step_cross(w, site, ret)))
		found = US_STEP_YES;
	if (found == US_STEP_NO &&
	    (us_step_entry(w, site, ret) || us_step_upcall(w, site, ret) ||
	     us_step_signal(w, site, ret) || us_step_syscall(w, site, false, ret) ||
	     us_step_gate(w, site, ret) || us_step_vector(w, site, ret) ||
	     us_step_outside(w, site, ret) || us_step_program(w, site, ret)))
		return US_STEP_YES;
	if (found == US_STEP_NO && us_walk_is_root(w, site))
		w->end = US_END_ROOT;
	else if (found == US_STEP_NO &&
		 ((first && us_step_label(w, site, ret)) ||
		  us_step_start(w, site, ret) || us_step_switch(w, site, ret)))
		return US_STEP_YES;
	if (found == US_STEP_NO && ends_after_all(w, site))
		w->end = US_END_ROOT;
	return found;
}

/* Does the code's answer count more than the table's? in_register: the code says that
 * the return address is in the link register again. */
static bool outweighs(const struct us_step *s, bool in_register,
		      enum us_step_result found, const struct us_step *table)
{
	switch (found) {
	case US_STEP_NO:
		return true;
	case US_STEP_ROOT: /* certainly a caller; or the program below an entry */
		return s->led || (s->exact && (s->flags & US_PC_USER));
	default:
		return s->strong || (in_register && !table->strong);
	}
}

/* Both lead to the same caller, with the same stack. */
static bool is_same_step(const struct us_step *a, const struct us_step *b)
{
	return !a->exact && !b->exact && a->pc == b->pc && a->sp_known &&
	       a->sp == b->cfa;
}

static void take_code(struct us_site *site, const struct us_site *code)
{
	unsigned generation = site->generation;
	*site = *code;
	site->generation = generation & 63;
}

/* Tables do not say that the return address is in another register for a while, even if
 * that one is not known this time. */
static bool moves_ra(const struct us_site *code)
{
	return code->source == US_SITE_CODE && code->rule[0].ra == US_RA_KEPT;
}

/*
 * The table's rule was not confirmed: it gave no caller, or one behind a CALL that does
 * not say where it goes.  In a prologue or epilogue, tables are wrong more often than
 * code; and code that was replaced at run time has no rules.  If the code knows better,
 * its answer is used from now on.  The exception is the outermost frame, which may be
 * right the next time.
 */
static enum us_step_result doubt(struct us_walk *w, struct us_site *site,
				 enum us_step_result found, struct us_step *ret)
{
	struct us_site other = *site;
	struct us_step step;
	uint8_t end = w->end;
	site->tried = found != US_STEP_ROOT;
	other.doubtful = false;
	step.moved = false;
	enum us_step_result better = by_code(w, &other, &step);
	bool in_register = w->u->arch->link && other.source == US_SITE_CODE &&
			   other.rule[0].ra == US_RA_LINK;
	bool known = better == US_STEP_YES && outweighs(&step, in_register, found, ret);
	if (known && found == US_STEP_YES && is_same_step(&step, ret))
		known = false; /* the table gives more registers */
	if (!known && (found != US_STEP_NO || w->end != US_END_ROOT)) {
		w->end = end;
		if (found == US_STEP_NO && moves_ra(&other))
			take_code(site, &other);
		us_sites_doubt(w->u->sites, site);
		return found;
	}
	*ret = step;
	if (found != US_STEP_ROOT)
		take_code(site, &other);
	us_sites_doubt(w->u->sites, site);
	return better;
}

/*
 * Is the table's answer sure?  Behind a CALL it is, if there is one.  In the middle of
 * a function it is not if the caller's CALL does not say where it goes.  Nor is it if
 * gcc says that registers were saved where rbp points, on a stack that it aligned: gcc
 * forgets that the epilogue pops rbp first.  Nor is it if the frame is outermost: Linux
 * says so of code that jumps through the stack.  With a link register the caller may be
 * right and its stack wrong: clang's tables for aarch64 and RISC-V treat a prologue as
 * a whole, and leave out epilogues.
 */
static bool is_sure(const struct us_walk *w, enum us_step_result found,
		    const struct us_step *s)
{
	if (found == US_STEP_ROOT)
		return w->after_call;
	if (found == US_STEP_YES && (s->exact || w->after_call))
		return true;
	if (found == US_STEP_NO || !s->strong || w->u->arch->link)
		return false;
	for (unsigned i = 0; i < s->rule->n_saved; i++)
		if (s->saved[i].how == US_CFI_AT_BASE)
			return false;
	return true;
}

static enum us_step_result find_caller(struct us_walk *w, struct us_step *ret)
{
	struct us_site *site = w->site;
	if (!site || site->pc != w->pc || site->after_call != w->after_call)
		site = us_sites_find(w->u->sites, w->pc, w->after_call, NULL);
	w->site = site;
	if (site->call == US_CALL_OUTERMOST)
		return US_STEP_ROOT;
	bool found_call;
	if (us_step_routine(w, site, &found_call, ret))
		return found_call ? US_STEP_YES : US_STEP_NO;
	if (site->source != US_SITE_CFI)
		return by_code(w, site, ret);
	enum us_step_result found = us_step_cfi(w, site, site->cfi.rule,
						site->cfi.saved, ret);
	return site->tried || is_sure(w, found, ret) ? found
						     : doubt(w, site, found, ret);
}

/*
 * A frame that no CALL, symbol or table confirms has to be code at least.  Linux makes
 * its init text non-executable after boot, and its idle task still returns there.
 */
static bool is_data(struct us_walk *w, const struct us_step *s)
{
	const struct us_site *site = s->call;
	if (s->exact)
		site = us_sites_find(w->u->sites, s->pc, false, NULL);
	return !us_site_is_known(site) && us_paging_is_data(w->paging, w->space, s->pc);
}

/* No processor gets there: bits 57 to 63 repeat bit 56 (Intel SDM volume 1, 3.3.7.1).
 * A frame that leads there is not what it seems to be. */
static bool is_nowhere(const struct us_walk *w, us_gva pc)
{
	return !w->u->arch->link && w->word == 8 &&
	       (us_gva)((int64_t)(pc << 7) >> 7) != pc;
}

/* From here on the stack is that of 32-bit code. */
static void narrow(struct us_walk *w)
{
	w->word = 4;
	w->floor = w->out->n;
	us_trail_leave(w);
	us_sites_narrow(w->u->sites);
	for (unsigned i = 0; i < 16; i++)
		w->reg[i] = us_walk_wrap(w, w->reg[i]);
}

static void change_space(struct us_walk *w, struct us_stack *out)
{
	w->space = w->next_space;
	w->next_space = NULL;
	w->floor = out->n;
	us_trail_leave(w);
	w->u->window_len = 0;
	us_sites_move(w->u->sites, w->space);
	out->root = w->space->root;
}

static void go_to(struct us_walk *w, const struct us_step *s)
{
	bool by_cfa = s->rule || s->how == US_HOW_INTERRUPT;
	bool by_sp = !by_cfa && s->sp_known && !s->moved;
	w->u->cfa[w->out->n - 1] = by_cfa ? s->cfa : by_sp ? s->sp : 0;
	w->callee = w->pc;
	w->callee_after_call = w->after_call;
	if (s->rule) {
		us_step_cfi_restore(w, s);
	} else {
		const struct us_walk_arch *a = w->u->arch;
		w->known = (uint32_t)s->sp_known << a->sp | (uint32_t)s->fp_known
								    << a->fp;
		w->reg[a->sp] = s->sp;
		w->reg[a->fp] = s->fp;
		if (a->link && s->ra_known) {
			w->reg[a->link->ra] = s->ra;
			w->known |= 1U << a->link->ra;
		}
		w->framed = s->framed;
	}
	w->pc = s->pc;
	w->site = s->exact ? NULL : s->call;
	w->after_call = !s->exact;
	w->flags = s->flags;
	if (s->narrow)
		narrow(w);
}

static void note_frame(struct us_walk *w, const struct us_step *s, struct us_stack *out)
{
	out->how[out->n] = s->how;
	out->flags[out->n] = s->flags;
	if (s->exact && !us_walk_is_behind_trap(w, s->pc))
		out->flags[out->n] |= US_PC_EXACT;
	out->pc[out->n++] = s->pc;
}

/* The last frame's address is not behind a CALL: its name is that of what is there. */
static void mark_exact(struct us_walk *w, struct us_stack *out)
{
	struct us_trail_frame *noted = w->u->trails.use.now;
	out->flags[out->n - 1] |= US_PC_EXACT;
	if (w->u->trails.use.trail && noted)
		noted->out_flags |= US_PC_EXACT;
}

/* Code was interrupted at the first instruction of a function of which nothing was
 * known.  The CALL that led there shows that the code before is another function's. */
static void note_start(struct us_walk *w, const struct us_step *caller,
		       struct us_stack *out)
{
	if (!w->after_call && out->n >= 2 && !caller->exact && caller->direct &&
	    caller->target == w->pc)
		mark_exact(w, out);
}

/* Find the caller and go there; false: out says why the stack ends. */
static bool go_up(struct us_walk *w, struct us_stack *out)
{
	struct us_step next;
	next.direct = next.moved = false;
	enum us_step_result found = find_caller(w, &next);
	if (found == US_STEP_ROOT) {
		out->end = US_END_ROOT;
		if (w->site->call == US_CALL_OUTERMOST)
			mark_exact(w, out);
		return false;
	}
	if (found == US_STEP_NO) {
		/* By convention the frame pointer of the outermost frame is 0. */
		const struct us_walk_arch *a = w->u->arch;
		bool bottom = us_walk_knows(w, a->fp) && w->framed &&
			      (a->link || us_walk_knows(w, a->sp)) &&
			      w->reg[a->fp] == 0;
		out->end = bottom ? US_END_ROOT : w->end;
		return false;
	}
	bool nowhere = is_nowhere(w, next.pc);
	if (!nowhere)
		us_known_step_keep(w, &next);
	note_start(w, &next, out);
	if (w->next_space)
		change_space(w, out);
	go_to(w, &next);
	if (nowhere || is_data(w, &next)) {
		out->end = US_END_NO_RULE;
		return false;
	}
	note_frame(w, &next, out);
	return true;
}

static void walk(struct us_walk *w, struct us_stack *out)
{
	struct us_trail_use *use = &w->u->trails.use;
	while (out->n < US_MAX_FRAMES) {
		if (use->trail && !us_trail_skips(use, out->n) &&
		    us_trail_meets(w, out))
			return;
		if (!us_known_step(w, out) && !go_up(w, out))
			return;
	}
	out->end = US_END_DEPTH;
}

/* The bytes of a word of the code; 0: code that is not unwound.  On a stack segment
 * that does not begin at 0, the saved frame pointers are not addresses. */
static unsigned word_of(const struct us_regs *r)
{
	bool flat = r->arch != US_ARCH_X86_64 || !(r->valid & 1U << US_X86_RSP) ||
		    r->sp == (uint32_t)r->gpr[US_X86_RSP];
	return r->bits == 64 ? 8 : r->bits == 32 && flat ? 4 : 0;
}

/* The vCPU has just entered: the interrupted code still has all its registers. */
static void leave_entry(struct us_walk *w, const struct us_regs *regs,
			struct us_stack *out)
{
	w->pc = regs->entered.pc;
	w->reg[w->u->arch->sp] = regs->entered.sp;
	w->flags = regs->entered.user ? US_PC_USER : 0;
	out->pc[1] = w->pc;
	out->how[1] = US_HOW_INTERRUPT;
	out->flags[1] = w->flags;
	out->n = 2;
	w->first = w->floor = 1;
	if (!us_walk_is_behind_trap(w, w->pc))
		out->flags[1] |= US_PC_EXACT;
}

/* Two calls of fixed size, so that the compiler inlines each. */
static void take_registers(struct us_walk *w, const struct us_regs *regs)
{
	if (w->u->arch->n_reg == 16)
		memcpy(w->reg, regs->gpr, 16 * sizeof(*w->reg));
	else
		memcpy(w->reg, regs->gpr, sizeof(w->reg));
}

void us_unwind(struct us_unwinder *u, struct us_paging *p, const struct us_regs *regs,
	       struct us_stack *out)
{
	unsigned word = word_of(regs);
	struct us_walk w;
	memset(&w, 0, offsetof(struct us_walk, reg));
	w.u = u;
	w.paging = p;
	w.space = &regs->space;
	w.pc = regs->pc;
	w.known = regs->valid | (uint32_t)!regs->sp_unknown << u->arch->sp |
		  1U << u->arch->fp;
	w.word = (uint8_t)word;
	w.flags = regs->user ? US_PC_USER : 0;
	w.regs = regs;
	w.out = out;
	take_registers(&w, regs);
	for (unsigned i = 0; word == 4 && i < u->arch->n_reg; i++)
		w.reg[i] = us_walk_wrap(&w, w.reg[i]);
	w.reg[u->arch->sp] = us_walk_wrap(&w, regs->sp);
	w.reg[u->arch->fp] = us_walk_wrap(&w, regs->fp);
	out->n = 1;
	out->pc[0] = regs->pc;
	out->how[0] = US_HOW_PC;
	out->flags[0] = w.flags;
	out->end = US_END_MODE;
	out->root = 0;
	u->window_len = 0;
	if (u->arch->link && regs->user)
		us_walk_note_program(u, p, &regs->space);
	us_sites_begin(u->sites, u->code ? u->code : p, &regs->space, word);
	if (word && regs->entered.valid && us_walk_is_entered(&w, regs))
		leave_entry(&w, regs, out);
	if (!word)
		return;
	us_trail_begin(&w);
	us_known_steps_begin(&w);
	walk(&w, out);
	us_trail_end(&w, out);
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

const char *us_unwind_end_words(enum us_unwind_end end)
{
	static const char *const words[US_N_END] = {
		[US_END_NONE] = "where no stack was taken",
		[US_END_ROOT] = "nowhere",
		[US_END_DEPTH] = "at 128 frames",
		[US_END_FAULT] = "at memory that could not be read",
		[US_END_CYCLE] = "where frame pointers do not lead up the stack",
		[US_END_NO_RULE] =
			"where neither symbols nor code tell the caller (-e FILE)",
		[US_END_MODE] = "in 16-bit or segmented code",
	};
	return end < US_N_END ? words[end] : "for an unknown reason";
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
