/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/stacks.c: see xen/stacks.h. */
#include "backend/xen/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE   4096
#define MARGIN 256
#define FIRST  256 /* sufficient copies in a row that are wanted at first */
#define LAST   65536
#define FORGET 64 /* each sample reduces an unused need by this part */

int us_xen_stacks_init(struct us_xen_stacks *s, struct us_mem *mem,
		       struct us_xen_pages *pages, unsigned n_vcpu, struct us_err *e)
{
	us_paging_init(&s->paging, mem);
	s->pages = pages;
	s->vcpu = calloc(n_vcpu, sizeof(*s->vcpu));
	if (!s->vcpu)
		return us_fail(e, -ENOMEM, "out of memory");
	s->n = n_vcpu;
	for (unsigned i = 0; i < n_vcpu; i++) {
		s->vcpu[i] = (struct us_xen_stack){ .need = US_XEN_STACK_MOST,
						    .wanted = FIRST };
		s->vcpu[i].bytes = malloc(US_XEN_STACK_MOST);
		if (!s->vcpu[i].bytes)
			return us_fail(e, -ENOMEM, "out of memory");
	}
	return 0;
}

void us_xen_stacks_fini(struct us_xen_stacks *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->vcpu[i].bytes);
	free(s->vcpu);
	*s = (struct us_xen_stacks){ 0 };
}

void us_xen_stacks_new_sample(struct us_xen_stacks *s)
{
	us_paging_new_sample(&s->paging);
}

/* Copy as far as memory is mapped; the stack may end at a page boundary. */
static uint32_t copy(struct us_xen_stacks *s, const struct us_regs *regs, uint8_t *to,
		     uint32_t size)
{
	uint32_t n = 0;
	while (n < size && regs->sp <= UINT64_MAX - size) {
		us_gva at = regs->sp + n;
		uint32_t some = PAGE - at % PAGE;
		if (some > size - n)
			some = size - n;
		if (!us_paging_read(&s->paging, &regs->space, at, to + n, some))
			break;
		n += some;
	}
	return n;
}

static bool same_space(const struct us_space *a, const struct us_space *b)
{
	return a->root == b->root && a->root_upper == b->root_upper &&
	       a->control == b->control && a->mode == b->mode;
}

/* In the page of the previous sample, if sp is still in it and the page-table entry is
 * unchanged; else NULL. */
static const uint8_t *bytes_at(struct us_xen_stacks *s, struct us_xen_stack_page *g,
			       const struct us_regs *regs)
{
	if (regs->sp - g->va >= PAGE || g->change != s->pages->n_change ||
	    !g->entry_at || memcmp(g->entry_at, &g->entry, sizeof(g->entry)) ||
	    !same_space(&g->space, &regs->space))
		return NULL;
	us_xen_page_use(s->pages, g->bytes);
	us_xen_page_use(s->pages, g->entries);
	return g->bytes->bytes + (regs->sp - g->va);
}

/* Remember the page of sp.  Its address was just translated. */
static void note_page(struct us_xen_stacks *s, struct us_xen_stack_page *g,
		      const struct us_regs *regs)
{
	const struct us_tlb_slot *slot = us_paging_slot(&s->paging, &regs->space,
							regs->sp);
	us_gva va = regs->sp & ~(us_gva)(PAGE - 1);
	g->entry_at = NULL;
	if (!slot || slot->entry_at % PAGE > PAGE - sizeof(g->entry))
		return;
	g->entries = us_xen_pages_find(s->pages, slot->entry_at);
	g->bytes = us_xen_pages_find(s->pages, slot->frame + (va - slot->page));
	if (!g->entries || !g->bytes || !g->entries->bytes ||
	    g->entries->frame != slot->entry_at / PAGE)
		return;
	g->entry_at = g->entries->bytes + slot->entry_at % PAGE;
	memcpy(&g->entry, g->entry_at, sizeof(g->entry));
	g->va = va;
	g->space = regs->space;
	g->change = s->pages->n_change;
}

/* What was needed, plus some margin; less if the end of this very stack is known. */
static uint32_t size_of(const struct us_xen_stack *v, us_gva sp)
{
	uint32_t size = v->need + v->need / 4 + MARGIN;
	if (size > US_XEN_STACK_MOST)
		size = US_XEN_STACK_MOST;
	us_gva left = ((v->end - 1) | (PAGE - 1)) - sp;
	return v->end > sp && left < size ? (uint32_t)left + 1 : size;
}

bool us_xen_stacks_copy(struct us_xen_stacks *s, unsigned vcpu,
			const struct us_regs *regs, struct us_stack_copy *ret)
{
	struct us_xen_stack *v = &s->vcpu[vcpu];
	uint32_t size = v->size = size_of(v, regs->sp), len = size;
	bool in_page = size <= PAGE - regs->sp % PAGE;
	const uint8_t *from = in_page ? bytes_at(s, &v->page, regs) : NULL;
	if (from)
		memcpy(v->bytes, from, size);
	else
		len = copy(s, regs, v->bytes, size);
	if (in_page && !from)
		note_page(s, &v->page, regs);
	us_stack_copy_begin(ret, regs->sp, v->bytes, len);
	ret->held = v->streak < v->wanted;
	return !ret->held;
}

/* The furthest end in the last FORGET to 2 * FORGET samples. */
static void learn_end(struct us_xen_stack *v, us_gva sp, us_gva end)
{
	if (v->end <= sp || v->end - sp > US_XEN_STACK_MOST)
		v->end = v->next_end = end; /* another stack */
	if (end > v->end)
		v->end = end;
	if (end > v->next_end)
		v->next_end = end;
	if (++v->n_end < FORGET)
		return;
	v->end = v->next_end;
	v->next_end = end;
	v->n_end = 0;
}

void us_xen_stacks_learn(struct us_xen_stacks *s, unsigned vcpu,
			 const struct us_stack_copy *c)
{
	struct us_xen_stack *v = &s->vcpu[vcpu];
	if (c->deepest >= v->need)
		v->need = c->deepest;
	else
		v->need -= (v->need - c->deepest) / FORGET;
	learn_end(v, c->window[0].base, c->window[0].base + c->deepest);
	/* Where the copy ended with the mapped memory, nothing is missing. */
	uint64_t missed = c->missed_at - c->window[0].base;
	if (!c->missed || (missed >= c->window[0].len && missed < v->size)) {
		v->streak += v->streak < v->wanted;
		return;
	}
	v->end = 0;
	/* The stack may be deeper than those before. */
	if (missed < US_XEN_STACK_MOST)
		v->need = (uint32_t)missed;
	if (!c->held && v->wanted < LAST)
		v->wanted *= 4;
	v->streak = 0;
}
