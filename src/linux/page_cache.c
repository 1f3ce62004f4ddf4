/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_cache.c: see page_cache.h. */
#include "linux/page_cache.h"

#include "linux/arch.h"

#include <string.h>

#define ENOUGH	   2 /* pages that agree */
#define MOST_LEVEL 11
#define MOST_FRAME (1ULL << 40)
#define MOST_FOLIO (1U << 18) /* pages of a large folio: a GiB */

/* Entries of an xarray by their low bits (include/linux/xarray.h). */
#define KIND(entry) ((entry)&3)
#define IS_NODE	    2
#define LEAST_NODE  4096 /* below this, it is the number of another slot */

bool us_page_cache_layout(const struct us_btf *b, struct us_page_cache_layout *l)
{
	struct us_btf_member mapping, head, shift, slots, index;
	if (!us_btf_path(b, "file", "f_mapping", &mapping) ||
	    !us_btf_path(b, "address_space", "i_pages.xa_head", &head) ||
	    !us_btf_path(b, "xa_node", "shift", &shift) ||
	    !us_btf_path(b, "xa_node", "slots", &slots) ||
	    (!us_btf_path(b, "folio", "index", &index) &&
	     !us_btf_path(b, "page", "index", &index)))
		return false;
	*l = (struct us_page_cache_layout){
		.mapping = mapping.offset,
		.head = head.offset,
		.shift = shift.offset,
		.slots = slots.offset,
		.n_slot = slots.size / 8,
		.index = index.offset,
		.page_size = us_btf_size(b, us_btf_struct(b, "page")),
	};
	return l->n_slot && !(l->n_slot & (l->n_slot - 1)) && l->page_size;
}

static bool read_word(const struct us_page_cache *c, us_gva at, uint64_t *ret)
{
	return at >> 63 && us_paging_read(c->p, c->s, at, ret, sizeof(*ret));
}

bool us_page_cache_open(struct us_page_cache *c, const struct us_page_cache_layout *l,
			struct us_paging *p, const struct us_space *s, us_gva file)
{
	uint64_t mapping;
	*c = (struct us_page_cache){
		.l = l, .p = p, .s = s, .page = us_linux_page_size(s)
	};
	return read_word(c, file + l->mapping, &mapping) &&
	       read_word(c, mapping + l->head, &c->head);
}

/* Find a node's entry for that index. */
static bool descend(const struct us_page_cache *c, us_gva node, uint64_t index,
		    uint64_t *ret)
{
	uint8_t shift;
	us_gva slots = node + c->l->slots;
	if (!(node >> 63) ||
	    !us_paging_read(c->p, c->s, node + c->l->shift, &shift, 1) || shift > 63)
		return false;
	uint64_t slot = index >> shift;
	if (c->head != node + IS_NODE)
		slot &= c->l->n_slot - 1;
	if (slot >= c->l->n_slot || !read_word(c, slots + 8 * slot, ret))
		return false;
	if (KIND(*ret) != IS_NODE || *ret >= LEAST_NODE)
		return true;
	/* This page is part of a folio, whose entry is in another slot. */
	slot = *ret >> 2;
	return slot < c->l->n_slot && read_word(c, slots + 8 * slot, ret) &&
	       KIND(*ret) != IS_NODE;
}

/* The struct page of a page of the file. */
static bool find_page(const struct us_page_cache *c, uint64_t index, us_gva *ret)
{
	uint64_t entry = c->head, first = 0;
	for (unsigned k = 0; KIND(entry) == IS_NODE; k++)
		if (k == MOST_LEVEL || entry < LEAST_NODE ||
		    !descend(c, entry - IS_NODE, index, &entry))
			return false;
	if (!entry || KIND(entry) || !(entry >> 63) ||
	    !read_word(c, entry + c->l->index, &first) || first > index ||
	    index - first >= MOST_FOLIO)
		return false;
	*ret = entry + (index - first) * c->l->page_size;
	return true;
}

void us_page_cache_expect(struct us_page_cache *c, us_gva base)
{
	c->base = base;
	c->n_learned = base != 0;
	c->torn = false;
}

us_gva us_page_cache_base(const struct us_page_cache *c)
{
	return c->torn || c->n_learned < ENOUGH ? 0 : c->base;
}

void us_page_cache_learn(struct us_page_cache *c, uint64_t index, us_gpa at)
{
	us_gva page;
	if (!find_page(c, index, &page))
		return;
	us_gva base = page - at / c->page * c->l->page_size;
	if (c->n_learned && base != c->base)
		c->torn = true;
	c->base = base;
	c->n_learned++;
}

static bool read_part(struct us_page_cache *c, uint64_t offset, void *buf, size_t len)
{
	us_gva page;
	if (!find_page(c, offset / c->page, &page) || page < c->base)
		return false;
	uint64_t frame = (page - c->base) / c->l->page_size;
	if (frame * c->l->page_size != page - c->base || frame >= MOST_FRAME)
		return false;
	return us_mem_read(c->p->mem, frame * c->page + offset % c->page, buf, len);
}

bool us_page_cache_read(struct us_page_cache *c, uint64_t offset, void *buf, size_t len)
{
	uint8_t *to = buf;
	if (!us_page_cache_base(c))
		return false;
	while (len) {
		size_t part = c->page - (size_t)(offset % c->page);
		part = part < len ? part : len;
		if (!read_part(c, offset, to, part))
			return false;
		to += part;
		offset += part;
		len -= part;
	}
	return true;
}
