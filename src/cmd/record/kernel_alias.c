/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_alias.c: pages of a Linux guest's kernel that are at another address as well.
 * See kernel.h.
 *
 * With page-table isolation programs enter the kernel through a page that the tables of
 * user mode map, far from the kernel's image: the trampoline in aarch64's fixmap,
 * x86-64's _entry_trampoline until 4.20.  The kernel's tables show whose memory it is.
 */
#include "cmd/record/kernel.h"

#define PAGE 4096U
#define MOST 8 /* pages on either side: with more the whole kernel is there again */
#define NAME "[kernel entry]"

static us_gpa phys_of(const struct us_linux *tables, const struct us_live_sample *l,
		      us_gva va)
{
	us_gpa phys;
	return us_paging_translate(l->paging, &tables->space, va, &phys, NULL) ? phys
									       : 0;
}

/* The image's own address of the code in this page; 0: it is not the image's. */
static us_gva image_of(const struct us_kernel *k, const struct us_linux *tables,
		       const struct us_live_sample *l, us_gva page)
{
	const struct us_linux_place *p = &k->source.place;
	us_gpa phys = phys_of(tables, l, page);
	us_gpa first = phys ? phys_of(tables, l, p->start) : 0;
	if (!first || phys - first >= p->size ||
	    us_paging_is_data(l->paging, &tables->space, page))
		return 0;
	us_gva at = p->start + (phys - first);
	return phys_of(tables, l, at) == phys ? at : 0;
}

static bool find(const struct us_kernel *k, const struct us_linux *tables,
		 const struct us_live_sample *l, us_gva page,
		 struct us_kernel_alias *ret)
{
	us_gva at = image_of(k, tables, l, page), start = page, end = page + PAGE;
	if (!at)
		return false;
	while (page - start < MOST * PAGE &&
	       image_of(k, tables, l, start - PAGE) == at - (page - start) - PAGE)
		start -= PAGE;
	while (end - page < MOST * PAGE &&
	       image_of(k, tables, l, end) == at + (end - page))
		end += PAGE;
	*ret = (struct us_kernel_alias){ start, end, at - (page - start), 0 };
	return page - start < MOST * PAGE && end - page < MOST * PAGE;
}

static const struct us_kernel_alias *alias_at(const struct us_kernel *k,
					      unsigned number, us_gva pc)
{
	unsigned n = atomic_load_explicit(&k->n_alias, memory_order_acquire);
	for (unsigned i = 0; i < n; i++)
		if (k->alias[i].number == number && pc >= k->alias[i].start &&
		    pc < k->alias[i].end)
			return &k->alias[i];
	return NULL;
}

static bool was_tried(struct us_kernel *k, us_gva page)
{
	for (unsigned i = 0; i < US_KERNEL_ALIASES; i++)
		if (k->alias_tried[i] == page)
			return true;
	k->alias_tried[k->n_tried++ % US_KERNEL_ALIASES] = page;
	return false;
}

void us_kernel_look_for_alias(struct us_kernel *k, const struct us_live_sample *l)
{
	const struct us_regs *regs = &l->capture->regs;
	const struct us_linux_place *p = &k->source.place;
	unsigned number = atomic_load_explicit(&k->n, memory_order_acquire) - 1;
	unsigned n = atomic_load_explicit(&k->n_alias, memory_order_relaxed);
	us_gva page = regs->pc & ~(us_gva)(PAGE - 1);
	struct us_linux_name known;
	if (regs->user || !(regs->pc >> 63) || regs->pc - p->start < p->size ||
	    !k->source.mem || n == US_KERNEL_ALIASES || alias_at(k, number, regs->pc) ||
	    us_linux_find(k->read[number], regs->pc, &known) ||
	    was_tried(k, page | number) ||
	    !find(k, k->read[number], l, page, &k->alias[n]))
		return;
	k->alias[n].number = number;
	atomic_store_explicit(&k->n_alias, n + 1, memory_order_release);
}

/* A symbol table of functions alone has none for these pages, and the symbol before
 * them is of other code. */
bool us_kernel_alias_name(const struct us_kernel *k, unsigned number, us_gva pc,
			  struct us_linux_name *ret)
{
	const struct us_kernel_alias *a = alias_at(k, number, pc);
	struct us_linux_name n = { 0 };
	if (!a)
		return false;
	bool own = us_linux_find(k->read[number], pc - a->start + a->at, &n) &&
		   n.start >= a->at;
	us_gva to_end = n.end - a->at;
	*ret = (struct us_linux_name){ own ? a->start + (n.start - a->at) : a->start,
				       n.name && to_end < a->end - a->start
					       ? a->start + to_end
					       : a->end,
				       own ? n.name : NAME, US_LINUX_KERNEL };
	return true;
}
