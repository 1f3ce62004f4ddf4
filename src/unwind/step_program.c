/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_program.c: from a kernel with page tables of its own to the program below it.
 *
 * The entry has put the program's registers where only the program's page tables lead.
 * Which program that is, nothing says: but it loaded the kernel's stack pointer from
 * there, and has not changed the frame pointer, which what it called has kept.  Both
 * are what they are in this stack in one space alone.
 */
#include "unwind/walk.h"

#define TRAP_BYTES                                                                     \
	4 /* of an instruction that enters the kernel, to go on behind it              \
	   */

void us_walk_note_program(struct us_unwinder *u, const struct us_space *space)
{
	for (unsigned i = 0; i < US_MAX_PROGRAMS; i++)
		if (u->program[i].root == space->root &&
		    u->program[i].mode == space->mode)
			return;
	u->program[u->n_program++ % US_MAX_PROGRAMS] = *space;
}

static bool read_word(struct us_walk *w, const struct us_space *s,
		      const struct us_link_entry *e, unsigned word, uint64_t *ret)
{
	return us_paging_read(w->paging, s, e->base + 8 * (us_gva)word, ret, 8);
}

static bool is_its_space(struct us_walk *w, const struct us_space *s,
			 const struct us_link_entry *e)
{
	const struct us_walk_arch *a = w->u->arch;
	uint64_t sp, fp;
	return s->mode == w->space->mode && s->root &&
	       read_word(w, s, e, e->sp_at, &sp) && sp == w->reg[a->sp] &&
	       read_word(w, s, e, e->at[a->fp], &fp) && fp == w->reg[a->fp];
}

/* NULL: none, or more than one. */
static const struct us_space *find_space(struct us_walk *w,
					 const struct us_link_entry *e)
{
	const struct us_space *found = NULL;
	for (unsigned i = 0; i < US_MAX_PROGRAMS; i++) {
		const struct us_space *s = &w->u->program[i];
		if (!is_its_space(w, s, e))
			continue;
		if (found)
			return NULL;
		found = s;
	}
	return found;
}

/* Where the program goes on was put there by what the entry called: into the one word
 * of all up to the last that the entry itself has nothing to do with. */
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

/* What the entry calls puts it there, sooner or later: before that, the word is of the
 * exception before. */
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
		    const struct us_link_entry *e, unsigned word, us_gva *ret)
{
	struct us_mem *m = w->paging->mem;
	enum us_link_kept kept = is_kept(w);
	struct us_entered at;
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

bool us_step_program(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	struct us_link_entry e;
	unsigned pc_word = 0;
	if (!a->link || (w->flags & US_PC_USER) || w->paging->stack ||
	    !us_walk_knows(w, a->sp) || !us_walk_knows(w, a->fp) ||
	    !us_sites_entry(w->u->sites, site, &e))
		return false;
	uint32_t both = 1U << a->sp | 1U << a->fp;
	if (!e.sp_loaded || (e.saved & both) != both || (e.changed >> a->fp & 1) ||
	    !find_pc_word(&e, &pc_word))
		return false;
	const struct us_space *s = find_space(w, &e);
	if (!s || !find_pc(w, s, &e, pc_word, &ret->pc) || !is_code(w, s, ret->pc) ||
	    !read_word(w, s, &e, e.at[a->sp], &ret->sp) ||
	    !read_word(w, s, &e, e.at[a->fp], &ret->fp))
		return false;
	ret->ra_known = (e.saved >> a->link->ra & 1) &&
			read_word(w, s, &e, e.at[a->link->ra], &ret->ra);
	ret->sp_known = ret->fp_known = ret->exact = true;
	ret->framed = ret->strong = ret->led = ret->narrow = false;
	ret->call = NULL;
	ret->rule = NULL;
	ret->flags = US_PC_USER;
	ret->how = US_HOW_INTERRUPT;
	w->next_space = s;
	return true;
}
