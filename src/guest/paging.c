/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paging.c: see paging.h. */
#include "guest/paging.h"

#include <string.h>

/* Bits of an entry (Intel SDM volume 3, tables 4-4 to 4-6 and 4-8 to 4-20). */
#define PRESENT	   (1ULL << 0)
#define ACCESSED   (1ULL << 5)
#define DIRTY	   (1ULL << 6)
#define LARGE	   (1ULL << 7)
#define LARGE_PAT  (1ULL << 12)
#define ADDRESS_52 0x000ffffffffff000ULL

/* How one mode cuts an address.  shift[0] is the level that the root points to. */
struct us_walk {
	uint8_t n_level;
	uint8_t entry_size;
	uint8_t shift[5];
	uint8_t large; /* bit n set: an entry of level n may map a page itself */
	uint8_t va_bits;
	us_gpa root_mask;
};

static const struct us_walk walks[] = {
	[US_PAGING_X86_32] = { 2, 4, { 22, 12 }, 1 << 0, 32, 0xfffff000 },
	[US_PAGING_X86_PAE] = { 3, 8, { 30, 21, 12 }, 1 << 1, 32, 0xffffffe0 },
	[US_PAGING_X86_4] = { 4, 8, { 39, 30, 21, 12 }, 3 << 1, 48, ADDRESS_52 },
	[US_PAGING_X86_5] = { 5, 8, { 48, 39, 30, 21, 12 }, 3 << 2, 57, ADDRESS_52 },
};

void us_paging_init(struct us_paging *p, struct us_mem *mem)
{
	memset(p, 0, sizeof(*p));
	p->mem = mem;
	p->epoch = 1;
}

void us_paging_new_sample(struct us_paging *p)
{
	us_mem_new_sample(p->mem);
	if (++p->epoch == 0)
		us_paging_init(p, p->mem);
}

/* Long mode demands that the bits above the translated ones repeat the highest of
 * them; the narrower modes have no address above 4 GiB. */
static bool canonical(const struct us_walk *w, us_gva va)
{
	if (w->va_bits == 32)
		return va >> 32 == 0;
	int64_t top = (int64_t)va >> (w->va_bits - 1);
	return top == 0 || top == -1;
}

static bool read_entry(struct us_mem *m, us_gpa at, uint8_t size, uint64_t *ret)
{
	*ret = 0; /* x86 guests on x86 hosts: the low half is first */
	return us_mem_read(m, at, ret, size);
}

/* Where a large page starts; false if bits are set that must be zero. */
static bool large_frame(const struct us_walk *w, uint64_t entry, uint64_t size,
			us_gpa *ret)
{
	if (w->entry_size == 4) { /* bits 13 to 20 are 32 to 39 of the address */
		*ret = (entry & 0xffc00000) | (entry >> 13 & 0xff) << 32;
		return !(entry & 1ULL << 21);
	}
	*ret = entry & ADDRESS_52 & ~(size - 1);
	return !(entry & ADDRESS_52 & (size - 1) & ~LARGE_PAT);
}

static bool walk(struct us_paging *p, const struct us_walk *w, us_gva va,
		 struct us_tlb_slot *ret)
{
	us_gpa table = ret->root;
	unsigned bits = w->entry_size == 4 ? 10 : 9;

	for (unsigned level = 0; level < w->n_level; level++) {
		uint64_t entry, size = 1ULL << w->shift[level];
		uint64_t index = va >> w->shift[level] & ((1U << bits) - 1);
		/* The two index bits of PAE's first level: nothing is above them. */
		us_gpa at = table + index * w->entry_size;
		if (!read_entry(p->mem, at, w->entry_size, &entry) ||
		    !(entry & PRESENT))
			return false;
		bool last = level + 1U == w->n_level;
		bool large = !last && (entry & LARGE);
		if (large && !(w->large & 1U << level))
			return false; /* reserved */
		if (last || large) {
			ret->page = va & ~(size - 1);
			ret->size = size;
			ret->entry_at = at;
			ret->entry = entry;
			ret->frame = entry & ADDRESS_52;
			return last || large_frame(w, entry, size, &ret->frame);
		}
		table = entry & ADDRESS_52;
	}
	return false;
}

static bool still_true(struct us_paging *p, const struct us_walk *w,
		       struct us_tlb_slot *slot)
{
	uint64_t entry;
	if (slot->epoch == p->epoch)
		return true;
	if (!read_entry(p->mem, slot->entry_at, w->entry_size, &entry) ||
	    (entry ^ slot->entry) & ~(ACCESSED | DIRTY))
		return false;
	slot->epoch = p->epoch;
	return true;
}

static bool slot_has(const struct us_tlb_slot *s, us_gva va, us_gpa root, uint8_t mode)
{
	return va >= s->page && va - s->page < s->size && s->root == root &&
	       s->mode == mode;
}

static struct us_tlb_slot *translate(struct us_paging *p, const struct us_space *s,
				     us_gva va)
{
	const struct us_walk *w = &walks[s->mode];
	us_gpa root = s->root & w->root_mask;
	struct us_tlb_slot *slot = &p->tlb[(va >> 12 ^ va >> 18) % US_TLB_SLOTS];

	if (slot_has(slot, va, root, s->mode) && still_true(p, w, slot))
		return slot;
	struct us_tlb_slot fresh = { .root = root, .mode = s->mode, .epoch = p->epoch };
	if (!canonical(w, va) || !walk(p, w, va, &fresh))
		return NULL;
	*slot = fresh;
	return slot;
}

bool us_paging_translate(struct us_paging *p, const struct us_space *s, us_gva va,
			 us_gpa *ret_pa, uint64_t *ret_left)
{
	us_gpa pa = va;
	uint64_t left = va ? -va : UINT64_MAX;

	if (s->mode >= US_PAGING_UNKNOWN)
		return false;
	if (s->mode != US_PAGING_OFF) {
		const struct us_tlb_slot *slot = translate(p, s, va);
		if (!slot)
			return false;
		pa = slot->frame + (va - slot->page);
		left = slot->size - (va - slot->page);
	}
	*ret_pa = pa;
	if (ret_left)
		*ret_left = left;
	return true;
}

bool us_paging_read(struct us_paging *p, const struct us_space *s, us_gva va, void *buf,
		    size_t len)
{
	uint8_t *to = buf;
	if (s->mode >= US_PAGING_UNKNOWN)
		return us_mem_read_gva(p->mem, va, buf, len);
	if (len && va + (len - 1) < va)
		return false;
	while (len > 0) {
		us_gpa pa;
		uint64_t left;
		if (!us_paging_translate(p, s, va, &pa, &left))
			return false;
		size_t n = len < left ? len : left;
		if (!us_mem_read(p->mem, pa, to, n))
			return false;
		va += n;
		to += n;
		len -= n;
	}
	return true;
}
