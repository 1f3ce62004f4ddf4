/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross.c: from a kernel's entry to what it interrupted.
 *
 * An entry from outside ends the chain of calls, but not the stack.  What it
 * interrupted, in the kernel or in a program, is a frame of its own, as if it were the
 * innermost.
 */
#include "unwind/walk.h"

#define MAX_PUSHED 40 /* words between an interrupt's frame and its handler's */
#define ALIGN	   16 /* of the stack, before an interrupt's frame is pushed, bytes */
#define CS_USED	   0xf000ffff /* of what 32-bit kernels keep with cs: Linux has flags */
#define FRED_ALIGN 64
#define FRED_MORE  16 /* bytes of the frame above ss */

bool us_x86_are_flags(uint64_t flags)
{
	return (flags & 2) && !(flags & 0x8028) && flags >> 22 == 0;
}

static bool is_sane(uint64_t cs, uint64_t flags)
{
	bool selector = cs >= 8 && ((cs & 3) == 0 || (cs & 3) == 3);
	return selector && us_x86_are_flags(flags);
}

/* In 32-bit code that stays in ring 0, the processor pushes no stack pointer that could
 * be compared, so there has to be code. */
static bool is_code(struct us_walk *w, us_gva pc)
{
	uint8_t byte;
	return pc >= 4096 && us_paging_read(w->paging, w->space, pc, &byte, 1);
}

/*
 * With FRED the unused bits of cs and ss say what kind of event it was; its type and
 * its vector are not both 0.  Two more words lie above, and the stack was aligned to 64
 * bytes (Intel FRED specification, 5.2).
 */
static bool is_event(uint64_t cs, uint64_t ss)
{
	static const uint64_t reserved = 0x00f0ff00fff80000;
	return ss >> 32 && !(ss & reserved) && cs >> 19 == 0;
}

/*
 * What a processor pushes at an interrupt (Intel SDM volume 3, 6.12.1 and 6.14.2): rip,
 * cs, rflags, rsp, ss.  In 32-bit mode it pushes the last two only if it came from ring
 * 3.
 */
bool us_walk_entry_frame(struct us_walk *w, us_gva va, struct us_entry_frame *ret)
{
	uint64_t word[5] = { 0 };
	for (unsigned i = 0; i < 3; i++)
		if (!us_walk_read(w, va + i * w->word, &word[i]))
			return false;
	bool user = (word[1] & 3) == 3;
	if (!is_sane(word[1] & 0xffff, word[2]) ||
	    (w->word == 4 && word[1] & (uint32_t)~CS_USED))
		return false;
	ret->pc = word[0];
	ret->flags = user ? US_PC_USER : 0;
	ret->narrow = false;
	ret->align = ALIGN;
	ret->top = ret->sp = va + 3U * w->word;
	if (w->word == 4 && !user)
		return is_code(w, word[0]);
	for (unsigned i = 3; i < 5; i++)
		if (!us_walk_read(w, va + i * w->word, &word[i]))
			return false;
	ret->sp = word[3];
	ret->top = va + 5U * w->word;
	bool event = w->word == 8 && is_event(word[1], word[4]);
	if (event) {
		word[1] &= 0xffff;
		word[4] &= 0xffff;
		ret->top += FRED_MORE;
		ret->align = FRED_ALIGN;
	}
	if (w->word == 8 && word[1] >= 0x10000)
		return false;
	ret->narrow = user && w->word == 8 && word[1] == w->u->narrow_cs &&
		      !(ret->pc >> 32) && !(ret->sp >> 32);
	return word[4] < 0x10000 && (user ? (word[4] & 3) == 3 : !(word[4] & 3));
}

bool us_walk_is_behind_trap(struct us_walk *w, us_gva pc)
{
	uint8_t b[8]; /* x86 uses two: int3; int n; syscall, sysenter */
	const struct us_link_machine *link = w->u->arch->link;
	struct us_site *site = us_sites_find(w->u->sites, pc, false, NULL);
	w->site = site; /* the next step needs it */
	if (link)
		return pc >= 8 && us_site_start(site) != pc &&
		       us_paging_read(w->paging, w->space, pc - 8, b, sizeof(b)) &&
		       link->trap_before(b);
	if (us_site_start(site) == pc || pc < 2 ||
	    !us_paging_read(w->paging, w->space, pc - 2, b, 2))
		return false;
	/* Compilers fill the gap before a function with int3. */
	if (b[1] == 0xcc)
		return us_site_start(site);
	return b[0] == 0xcd || (b[0] == 0x0f && (b[1] == 0x05 || b[1] == 0x34));
}

bool us_walk_is_in_place(const struct us_walk *w, const struct us_entry_frame *f)
{
	us_gva mask = f->align - 1U;
	return w->word == 4 ? f->sp == f->top : (f->sp & ~mask) == f->top;
}

void us_walk_take_entry(struct us_walk *w, const struct us_entry_frame *f,
			struct us_step *ret)
{
	ret->pc = f->pc;
	ret->sp = f->sp;
	ret->cfa = 0;
	ret->flags = f->flags;
	ret->narrow = f->narrow;
	ret->sp_known = ret->exact = true;
	ret->framed = ret->strong = ret->led = false;
	ret->call = NULL;
	ret->rule = NULL;
	ret->how = US_HOW_INTERRUPT;
	if (f->sp <= w->reg[US_X86_RSP])
		w->n_switch++;
}

bool us_step_by_exit(struct us_walk *w, const struct us_code_rule *rule,
		     struct us_step *ret)
{
	struct us_entry_frame f;
	if (!us_walk_cfa(w, rule, &ret->cfa) ||
	    !us_walk_entry_frame(w, ret->cfa - w->word, &f) || f.sp == 0 ||
	    (!us_walk_is_in_place(w, &f) && w->n_switch == US_MAX_SWITCHES))
		return false;
	us_gva cfa = ret->cfa;
	us_walk_fp(w, rule, ret);
	us_walk_take_entry(w, &f, ret);
	ret->cfa = cfa;
	return true;
}

/* Find the frame by its contents alone; in the kernel only if the stack was not
 * changed.  It is assumed that rbp is still that of the interrupted code.  That code's
 * rules, and the CALL before each return address, have to confirm it. */
static bool by_looks_from(struct us_walk *w, us_gva sp, struct us_step *ret)
{
	struct us_entry_frame f;
	for (unsigned i = 0; i < MAX_PUSHED; i++) {
		if (!us_walk_entry_frame(w, sp + w->word * i, &f))
			continue;
		bool user = (f.flags & US_PC_USER) && f.pc && !us_walk_is_upper(f.pc) &&
			    f.sp && !us_walk_is_upper(f.sp);
		if (!user && ((f.flags & US_PC_USER) || !us_walk_is_in_place(w, &f)))
			continue;
		ret->fp = w->reg[US_X86_RBP];
		ret->fp_known = us_walk_knows(w, US_X86_RBP);
		us_walk_take_entry(w, &f, ret);
		ret->cfa = sp + w->word * (i + 1);
		return true;
	}
	return false;
}

/* In 64-bit mode the processor aligns the stack before it pushes (Intel SDM volume 3,
 * 6.14.2), so its frame is more likely at an aligned address, whatever the handler has
 * done to rsp since. */
static bool by_looks(struct us_walk *w, struct us_step *ret)
{
	us_gva sp = w->reg[US_X86_RSP], above = (sp + 7) & ~7ULL;
	return (w->word == 8 && above != sp && by_looks_from(w, above, ret)) ||
	       by_looks_from(w, sp, ret);
}

/* A program continues behind this instruction; if its page is away, that is assumed. */
static bool is_behind_syscall(struct us_walk *w, us_gva pc)
{
	uint8_t b[2];
	if (pc < 2 || us_walk_is_upper(pc))
		return false;
	return !us_paging_read(w->paging, w->space, pc - 2, b, sizeof(b)) ||
	       (b[0] == 0x0f && b[1] == 0x05);
}

/* If the frame for iret is above, it has the stack pointer. */
static bool has_frame(struct us_walk *w, us_gva from, us_gva pc, us_gva *ret_sp)
{
	struct us_entry_frame f;
	for (unsigned i = 0; i < MAX_PUSHED; i++) {
		if (!us_walk_entry_frame(w, from + i * w->word, &f) || f.pc != pc ||
		    !(f.flags & US_PC_USER) || !f.sp || us_walk_is_upper(f.sp))
			continue;
		*ret_sp = f.sp;
		return true;
	}
	return false;
}

/* sysret goes to rcx, in ring 3; the code shows where rcx was kept. */
static bool by_sysret(struct us_walk *w, const struct us_code_rule *rule,
		      struct us_step *ret)
{
	struct us_entry_frame f = { .flags = US_PC_USER };
	if (!us_walk_cfa(w, rule, &ret->cfa) ||
	    !us_walk_read(w, ret->cfa - w->word, &f.pc) || !is_behind_syscall(w, f.pc))
		return false;
	us_walk_fp(w, rule, ret);
	bool known = rule->sp == US_SP_SAVED &&
		     us_walk_slot(w, ret->cfa, rule->sp_at, &f.sp) && f.sp &&
		     !us_walk_is_upper(f.sp);
	known = known || has_frame(w, ret->cfa - w->word, f.pc, &f.sp);
	/* If it is not known, rbp bounds the stack. */
	if (!known)
		f.sp = ret->fp_known ? ret->fp : 0;
	us_walk_take_entry(w, &f, ret);
	ret->sp_known = known;
	return true;
}

/* An entry may use rsp for other things before it points to the kernel's stack. */
static bool is_users_stack(struct us_walk *w, us_gva sp)
{
	const struct us_space *s = w->space;
	bool told = s->mode != US_PAGING_OFF && s->mode < US_PAGING_UNKNOWN;
	return !us_walk_is_upper(sp) && (!told || us_paging_is_user(w->paging, s, sp) ||
					 us_paging_is_user(w->paging, s, sp - 1));
}

/* A kernel in the lower half has its programs beside it: only the pages tell them
 * apart. */
static bool is_kernel_of(struct us_walk *w, us_gva program)
{
	const struct us_space *s = w->space;
	return us_walk_is_upper(w->pc) || (us_paging_is_user(w->paging, s, program) &&
					   !us_paging_is_user(w->paging, s, w->pc));
}

/* The first and last instructions of a system call run on the program's stack.  All
 * registers but rcx and r11 are still, or again, the program's. */
static bool before_switch(struct us_walk *w, struct us_step *ret)
{
	struct us_entry_frame f = { .pc = w->reg[US_X86_RCX],
				    .sp = w->reg[US_X86_RSP],
				    .flags = US_PC_USER };
	if (w->after_call || !us_walk_knows(w, US_X86_RCX) || !is_kernel_of(w, f.pc) ||
	    !is_users_stack(w, f.sp) || !is_behind_syscall(w, f.pc))
		return false;
	ret->fp = w->reg[US_X86_RBP];
	ret->fp_known = us_walk_knows(w, US_X86_RBP);
	us_walk_take_entry(w, &f, ret);
	return true;
}

/* On the kernel's stack, with registers not yet saved or already restored: rcx has not
 * changed since, if it is behind a system call. */
static bool by_rcx(struct us_walk *w, struct us_step *ret)
{
	struct us_entry_frame f = { .pc = w->reg[US_X86_RCX], .flags = US_PC_USER };
	uint8_t byte;
	if (w->after_call || !us_walk_knows(w, US_X86_RCX) || !is_kernel_of(w, f.pc) ||
	    !is_behind_syscall(w, f.pc) ||
	    !us_paging_read(w->paging, w->space, f.pc - 2, &byte, 1))
		return false;
	ret->fp = w->reg[US_X86_RBP];
	ret->fp_known = us_walk_knows(w, US_X86_RBP) && !us_walk_is_upper(ret->fp);
	if (ret->fp_known)
		f.sp = ret->fp;
	us_walk_take_entry(w, &f, ret);
	ret->sp_known = false;
	return true;
}

bool us_step_cross(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_code_rule *rule = &site->rule[1];
	if ((w->flags & US_PC_USER) || !us_site_is_entry(site))
		return false;
	bool found = site->exit == US_EXIT_SYSRET
			     ? before_switch(w, ret) || by_sysret(w, rule, ret) ||
				       by_rcx(w, ret)
			     : us_step_by_exit(w, rule, ret) ||
				       us_step_entered(w, site, ret);
	return found || by_looks(w, ret);
}
