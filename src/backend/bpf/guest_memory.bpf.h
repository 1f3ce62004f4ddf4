/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_memory.bpf.h: a guest's memory, read in the thread that runs it.
 *
 * Guest memory is mapped in the VMM, and the VMM's address space is the current one.  A
 * page that is not present (swapped, ballooned, never touched) is not fetched: the read
 * fails.  Translations are cached; one from an earlier sample is used only if its entry
 * is unchanged.
 *
 * The kernel verifies functions that are not static once, not once for each call.  The
 * verifier then knows of their pointers only that they may be NULL.
 */
#ifndef US_BACKEND_BPF_GUEST_MEMORY_H
#define US_BACKEND_BPF_GUEST_MEMORY_H

#if defined(__TARGET_ARCH_x86)
#include "backend/bpf/space_x86.bpf.h"
#else
#include "backend/bpf/space_aarch64.bpf.h"
#endif

/* The unit of windows and of the cache; a guest's own pages may be larger. */
#define PAGE	4096ULL
#define NOWHERE 0ULL

/* Where the VMM has a byte of guest-physical memory; NOWHERE: no slot has it. */
__noinline uint64_t hva_of_gpa(uint32_t guest, uint64_t pa)
{
	struct us_bpf_guest *g = bpf_map_lookup_elem(&guests, &guest);
	if (!g)
		return NOWHERE;
	const struct us_bpf_slots *s = &g->slots[g->active & 1];
	for (unsigned i = 0; i < US_BPF_MAX_REGIONS; i++) {
		if (i >= s->n)
			break;
		const struct us_bpf_region *r = &s->region[i];
		if (pa - r->start < r->size)
			return r->hva + (pa - r->start);
	}
	return NOWHERE;
}

/* What a walk needs, and the last entry that it read. */
struct walk_memory {
	uint32_t guest;
	uint64_t entry_hva;
};

static __always_inline bool read_entry(void *ctx, us_gpa at, unsigned size,
				       uint64_t *ret)
{
	struct walk_memory *m = ctx;
	uint32_t narrow = 0;
	m->entry_hva = hva_of_gpa(m->guest, at);
	if (!m->entry_hva)
		return false;
	if (size == 8)
		return bpf_probe_read_user(ret, 8, (const void *)m->entry_hva) == 0;
	if (bpf_probe_read_user(&narrow, 4, (const void *)m->entry_hva))
		return false;
	*ret = narrow;
	return true;
}

static __always_inline bool still_true(const struct scratch *s, struct cached_page *c)
{
	uint64_t entry = 0;
	if (c->checked == s->number)
		return true;
	long r = c->entry_size == 8
			 ? bpf_probe_read_user(&entry, 8, (const void *)c->entry_hva)
			 : bpf_probe_read_user(&entry, 4, (const void *)c->entry_hva);
	if (r || (entry ^ c->entry) & ~ENTRY_MOVING)
		return false;
	c->checked = s->number;
	return true;
}

/* Walk the page tables and fill the cache; NOWHERE: va is not mapped to memory. */
__noinline uint64_t walk_page(struct scratch *s, uint64_t page)
{
	struct us_page_leaf leaf = { 0 };
	if (!s)
		return NOWHERE;
	struct walk_memory m = { .guest = s->guest };
	if (!walk_tables(&m, read_entry, s, page, &leaf))
		return NOWHERE;
	uint64_t hva = hva_of_gpa(s->guest, leaf.frame + (page - leaf.page));
	if (!hva)
		return NOWHERE;
	uint64_t root = root_of(s, page);
	struct cached_page *c =
		&s->cache[(page >> 12 ^ root >> 12) & (CACHE_SLOTS - 1)];
	c->page = page;
	c->root = root;
	c->hva = hva;
	c->entry_hva = m.entry_hva;
	c->entry = leaf.entry;
	c->entry_size = entry_size(s);
	c->generation = s->generation;
	c->guest = s->guest;
	c->checked = s->number;
	return hva;
}

/* Where the VMM has the page that starts at this gva, in the address space of s. */
__noinline uint64_t hva_of_page(struct scratch *s, uint64_t page)
{
	if (!s)
		return NOWHERE;
	if (s->mode == US_PAGING_OFF)
		return hva_of_gpa(s->guest, page);
	uint64_t root = root_of(s, page);
	struct cached_page *c =
		&s->cache[(page >> 12 ^ root >> 12) & (CACHE_SLOTS - 1)];
	if (c->page == page && c->root == root && c->guest == s->guest &&
	    c->generation == s->generation && c->hva && still_true(s, c))
		return c->hva;
	return walk_page(s, page);
}

/* Is this a page of kernel code?  Only 64-bit tables tell. */
__noinline int is_code_of_kernel(struct scratch *s, us_gva at)
{
	uint64_t page = at & ~(PAGE - 1);
	if (!s || !(at >> 63) || s->mode == US_PAGING_OFF || entry_size(s) != 8 ||
	    !hva_of_page(s, page))
		return 0;
	const struct cached_page *c =
		&s->cache[(page >> 12 ^ root_of(s, page) >> 12) & (CACHE_SLOTS - 1)];
	return c->page == page && may_hold_code(c->entry);
}

/* Two words that may lie on both sides of a page border. */
static __always_inline bool read_words(struct scratch *s, us_gva at, uint64_t *ret)
{
	uint64_t in_page = at & (PAGE - 1);
	uint64_t hva = hva_of_page(s, at - in_page);
	if (!hva)
		return false;
	if (in_page <= PAGE - 16)
		return !bpf_probe_read_user(ret, 16, (const void *)(hva + in_page));
	/* Read both sides, then take the two words out of these 32 bytes: the address
	 * may be unaligned, and a word may be in both pages. */
	uint64_t next = hva_of_page(s, at - in_page + PAGE), t[4];
	if (!next || bpf_probe_read_user(t, 16, (const void *)(hva + PAGE - 16)) ||
	    bpf_probe_read_user(t + 2, 16, (const void *)next))
		return false;
	uint32_t bits = (in_page & 15) * 8, up = 64 - (bits & 63);
	uint64_t low = bits < 64 ? t[0] : t[1], mid = bits < 64 ? t[1] : t[2];
	uint64_t high = bits < 64 ? t[2] : t[3];
	if (up == 64) {
		ret[0] = low;
		ret[1] = mid;
	} else {
		ret[0] = low >> (64 - up) | mid << up;
		ret[1] = mid >> (64 - up) | high << up;
	}
	return true;
}

#endif
