/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_program.c: from a kernel with page tables of its own to the program below it.
 *
 * The entry has put the program's registers where only the program's page tables lead.
 * Nothing says which program that is.  But the entry loaded the kernel's stack pointer
 * from there, and has not changed the frame pointer, which the functions that it called
 * have preserved.  Only in one address space are both what they are in this stack.
 */
#include "unwind/walk.h"

/* Bytes of an instruction that enters the kernel; the program goes on behind it. */
#define TRAP_BYTES 4

#define NO_VECTOR 1 /* asked for without success; no code is there */

static us_gva ask_vector(const struct us_paging *p)
{
	struct us_entered at = { 0 };
	if (p->stack || !p->mem->read_entered ||
	    !p->mem->read_entered(p->mem->ctx, &at) || !at.vector)
		return NO_VECTOR;
	return at.vector;
}

void us_walk_note_program(struct us_unwinder *u, struct us_paging *p,
			  const struct us_space *space)
{
	unsigned i = 0;
	while (i < US_MAX_PROGRAMS &&
	       (u->program[i].root != space->root || u->program[i].mode != space->mode))
		i++;
	if (i == US_MAX_PROGRAMS) {
		i = u->n_program++ % US_MAX_PROGRAMS;
		u->program[i] = *space;
		u->vector[i] = 0;
	}
	if (p && !u->vector[i])
		u->vector[i] = ask_vector(p);
}

/* What the entry has handed on. */
struct left {
	us_gva sp;
	uint64_t fp;
};

static bool read_word(struct us_walk *w, const struct us_space *s,
		      const struct us_link_entry *e, unsigned word, uint64_t *ret)
{
	return us_paging_read(w->paging, s, e->base + 8 * (us_gva)word, ret, 8);
}

static bool is_its_space(struct us_walk *w, const struct us_space *s,
			 const struct us_link_entry *e, const struct left *l)
{
	const struct us_walk_arch *a = w->u->arch;
	uint64_t sp, fp;
	return s->mode == w->space->mode && s->root &&
	       read_word(w, s, e, e->sp_at, &sp) && sp == l->sp &&
	       read_word(w, s, e, e->at[a->fp], &fp) && fp == l->fp;
}

/* NULL: none, or more than one. */
static const struct us_space *find_space(struct us_walk *w,
					 const struct us_link_entry *e)
{
	const struct us_walk_arch *a = w->u->arch;
	const struct left l = { w->reg[a->sp], w->reg[a->fp] };
	const struct us_space *found = NULL;
	for (unsigned i = 0; i < US_MAX_PROGRAMS; i++) {
		const struct us_space *s = &w->u->program[i];
		if (!is_its_space(w, s, e, &l))
			continue;
		if (found)
			return NULL;
		found = s;
	}
	return found;
}

/* What the entry called has stored where the program goes on.  It is in the only word,
 * of all up to the last, that the entry itself does not use. */
static bool find_pc_word(const struct us_link_entry *e, unsigned *ret)
{
	unsigned n = 0;
	for (unsigned k = 0; k < US_LINK_ENTRY_WORDS && e->words >> k; k++)
		if (!(e->words >> k & 1)) {
			*ret = k;
			n++;
		}
	return n == 1;
}

static bool is_code(struct us_walk *w, const struct us_space *s, us_gva pc)
{
	uint8_t byte;
	return pc && pc % w->u->arch->link->align == 0 && !us_walk_is_upper(pc) &&
	       !us_paging_is_data(w->paging, s, pc) &&
	       us_paging_read(w->paging, s, pc, &byte, 1);
}

/* What the entry calls stores it there, sooner or later.  Before that, the word is that
 * of the exception before. */
static enum us_link_kept is_kept(struct us_walk *w)
{
	struct us_sites *sites = w->u->sites;
	if (!w->after_call)
		return US_LINK_NOT_KEPT;
	if (!w->callee)
		return US_LINK_KEPT_PERHAPS;
	const struct us_site *callee = us_sites_find(sites, w->callee,
						     w->callee_after_call, w->site);
	return us_sites_kept(sites, callee);
}

static bool find_pc(struct us_walk *w, const struct us_space *s,
		    const struct us_link_entry *e, enum us_link_kept kept, us_gva *ret)
{
	struct us_mem *m = w->paging->mem;
	struct us_entered at;
	unsigned word;
	if (!find_pc_word(e, &word))
		return false;
	bool read = read_word(w, s, e, word, ret);
	if (kept == US_LINK_KEPT)
		return read;
	if (!m->read_entered || !m->read_entered(m->ctx, &at))
		return false;
	if (kept == US_LINK_KEPT_PERHAPS)
		return read && (!at.user || *ret - at.pc <= TRAP_BYTES);
	*ret = at.pc;
	return at.user;
}

static bool keeps_both(const struct us_walk *w, const struct us_link_entry *e)
{
	uint32_t fp = 1U << w->u->arch->fp, both = 1U << w->u->arch->sp | fp;
	return e->sp_loaded && (e->saved & both) == both && !(e->changed & fp);
}

/* Go on with the program in that space, from what the entry has saved there. */
static bool go_on(struct us_walk *w, const struct us_space *s,
		  const struct us_link_entry *e, enum us_link_kept kept,
		  struct us_step *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	if (!s || !find_pc(w, s, e, kept, &ret->pc) || !is_code(w, s, ret->pc) ||
	    !read_word(w, s, e, e->at[a->sp], &ret->sp) ||
	    !read_word(w, s, e, e->at[a->fp], &ret->fp))
		return false;
	ret->ra_known = (e->saved >> a->link->ra & 1) &&
			read_word(w, s, e, e->at[a->link->ra], &ret->ra);
	ret->sp_known = ret->fp_known = ret->exact = true;
	ret->framed = ret->strong = ret->led = ret->narrow = false;
	ret->call = NULL;
	ret->rule = NULL;
	ret->flags = US_PC_USER;
	ret->how = US_HOW_INTERRUPT;
	w->next_space = s;
	return true;
}

/* The site is in the entry, which has called the functions of this stack. */
static bool by_call(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	struct us_link_entry e;
	if (!us_walk_knows(w, a->sp) || !us_walk_knows(w, a->fp) ||
	    !us_sites_entry(w->u->sites, site, &e) || !keeps_both(w, &e))
		return false;
	return go_on(w, find_space(w, &e), &e, is_kept(w), ret);
}

/* The entry has jumped to this function, which therefore has no caller.  Where programs
 * enter the kernel is known of those that were seen running.  All has to fit exactly
 * one of them: the function's start, and both registers. */
static bool by_jump(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_unwinder *u = w->u;
	const struct us_space *found = NULL;
	struct us_link_entry e, entry;
	us_gva start = us_site_start(site), to;
	if (!start || !us_step_link_frame(w, site, ret))
		return false;
	const struct left l = { ret->cfa, ret->fp };
	for (unsigned i = 0; i < US_MAX_PROGRAMS; i++) {
		const struct us_space *s = &u->program[i];
		if (u->vector[i] <= NO_VECTOR ||
		    !us_sites_jump(u->sites, s, u->vector[i], &e) ||
		    !keeps_both(w, &e) || !read_word(w, s, &e, e.jump_at, &to) ||
		    to != start || !is_its_space(w, s, &e, &l))
			continue;
		if (found)
			return false;
		found = s;
		entry = e;
	}
	return found && go_on(w, found, &entry, us_sites_kept(u->sites, site), ret);
}

bool us_step_program(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	if (!w->u->arch->link || (w->flags & US_PC_USER) || w->paging->stack)
		return false;
	return by_call(w, site, ret) || by_jump(w, site, ret);
}
