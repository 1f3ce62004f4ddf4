/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paging_x86.c: the tables of x86, read from guest memory. */
#include "guest/page_table_x86.h"
#include "guest/paging_walk.h"

/* x86 guests on x86 hosts: the low half is first. */
static bool read_entry(void *ctx, us_gpa at, unsigned size, uint64_t *ret)
{
	*ret = 0;
	return us_mem_read(ctx, at, ret, size);
}

bool us_page_walk_x86(struct us_mem *m, const struct us_space *s, us_gva va,
		      struct us_tlb_slot *ret)
{
	struct us_page_leaf leaf;
	if (!us_x86_page_walk(m, read_entry, s->mode, ret->root, va, &leaf))
		return false;
	ret->page = leaf.page;
	ret->size = leaf.size;
	ret->entry_at = leaf.entry_at;
	ret->entry = leaf.entry;
	ret->frame = leaf.frame;
	return true;
}
