/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paging_aarch64.c: the tables of aarch64, read from guest memory. */
#include "guest/page_table_aarch64.h"
#include "guest/paging_walk.h"

static bool read_entry(void *ctx, us_gpa at, unsigned size, uint64_t *ret)
{
	return us_mem_read(ctx, at, ret, size);
}

bool us_page_walk_aarch64(struct us_mem *m, const struct us_space *s, us_gva va,
			  struct us_tlb_slot *ret)
{
	struct us_page_leaf leaf;
	if (!us_aarch64_page_walk(m, read_entry, s->control, ret->root, va, &leaf))
		return false;
	ret->page = leaf.page;
	ret->size = leaf.size;
	ret->entry_at = leaf.entry_at;
	ret->entry = leaf.entry;
	ret->frame = leaf.frame;
	return true;
}
