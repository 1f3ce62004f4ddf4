/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_gate.c: x86: from the first or last instructions of an entry, where its code
 * cannot be followed, to the program.
 *
 * A kernel may enter through a page that is in all address spaces.  It then goes on
 * where the program's page tables do not lead, and copies what the processor pushed
 * from one stack to another.  This may be above the stack pointer, or where a register
 * points; for a system call, it is in registers.  It is accepted only in a function
 * that is known, from which no path leads to a ret, and only if it is a program: its
 * code and its stack have to be in pages that programs may use.
 */
#include "unwind/walk.h"

#define MAX_ABOVE 8 /* words that were pushed since */

static bool is_users(struct us_walk *w, us_gva va)
{
	return !us_walk_is_upper(va) && us_paging_is_user(w->paging, w->space, va);
}

/* A stack that is still empty begins where its memory ends. */
static bool is_users_stack(struct us_walk *w, us_gva sp)
{
	return sp && (is_users(w, sp) || is_users(w, sp - 1));
}

static bool is_users_code(struct us_walk *w, us_gva pc)
{
	uint8_t byte;
	return pc && is_users(w, pc) &&
	       us_paging_read(w->paging, w->space, pc, &byte, 1);
}

/* Is it from sp on, in the kernel's memory? */
static bool is_above(struct us_walk *w, us_gva sp, struct us_entry_frame *ret)
{
	if (!us_walk_is_upper(sp) || sp % w->word)
		return false;
	for (unsigned i = 0; i < MAX_ABOVE; i++)
		if (us_walk_entry_frame(w, sp + i * w->word, ret) &&
		    (ret->flags & US_PC_USER) && is_users_code(w, ret->pc) &&
		    is_users_stack(w, ret->sp))
			return true;
	return false;
}

/* The kernel itself was interrupted, on the same stack.  The entry's first function may
 * be only a push or two that lead into the next. */
static bool is_kernels(struct us_walk *w, struct us_entry_frame *ret)
{
	us_gva sp = w->reg[US_X86_RSP];
	uint8_t byte;
	for (unsigned i = 0; i < 3; i++)
		if (us_walk_entry_frame(w, sp + i * w->word, ret) &&
		    !(ret->flags & US_PC_USER) && us_walk_is_upper(ret->pc) &&
		    us_walk_is_in_place(w, ret) &&
		    us_paging_read(w->paging, w->space, ret->pc, &byte, 1))
			return true;
	return false;
}

static bool by_registers(struct us_walk *w, struct us_entry_frame *ret)
{
	for (unsigned i = 0; i < w->u->arch->n_reg; i++)
		if (i != US_X86_RSP && us_walk_knows(w, i) &&
		    is_above(w, w->reg[i], ret))
			return true;
	return false;
}

/* rcx and r11 are as syscall left them: the address behind it, and the flags. */
static bool by_syscall(struct us_walk *w, struct us_entry_frame *ret)
{
	us_gva pc = w->reg[US_X86_RCX], sp = w->reg[US_X86_RSP];
	uint64_t flags = w->reg[US_X86_R11];
	uint8_t b[2];
	if (!us_walk_knows(w, US_X86_RCX) || !us_walk_knows(w, US_X86_R11) ||
	    !us_x86_are_flags(flags) || pc < sizeof(b) || !is_users_code(w, pc) ||
	    !us_paging_read(w->paging, w->space, pc - sizeof(b), b, sizeof(b)) ||
	    b[0] != 0x0f || b[1] != 0x05)
		return false;
	*ret = (struct us_entry_frame){ .pc = pc, .flags = US_PC_USER };
	if (is_users_stack(w, sp))
		ret->sp = sp;
	return true;
}

bool us_step_gate(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	struct us_entry_frame f;
	bool leads_nowhere = site->exit == US_EXIT_NONE || us_site_is_entry(site) ||
			     us_site_is_syscall(site);
	if (w->u->arch->link || (w->flags & US_PC_USER) || w->after_call ||
	    !us_walk_is_upper(w->pc) || site->source != US_SITE_CODE ||
	    !us_site_start(site) || !leads_nowhere || !us_walk_knows(w, US_X86_RSP))
		return false;
	if (!is_kernels(w, &f) && !is_above(w, w->reg[US_X86_RSP], &f) &&
	    !by_registers(w, &f) && !by_syscall(w, &f))
		return false;
	ret->fp = w->reg[US_X86_RBP];
	ret->fp_known = us_walk_knows(w, US_X86_RBP) &&
			(!(f.flags & US_PC_USER) || !us_walk_is_upper(ret->fp));
	bool sp_known = f.sp;
	if (!sp_known)
		f.sp = ret->fp_known ? ret->fp : 0;
	us_walk_take_entry(w, &f, ret);
	ret->sp_known = sp_known;
	return true;
}
