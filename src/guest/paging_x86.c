/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paging_x86.c: the tables of x86 (Intel SDM volume 3, chapter 4). */
#include "guest/paging_walk.h"

/* Bits of an entry (Intel SDM volume 3, tables 4-4 to 4-6 and 4-8 to 4-20). */
#define PRESENT	   (1ULL << 0)
#define LARGE	   (1ULL << 7)
#define LARGE_PAT  (1ULL << 12)
#define ADDRESS_52 0x000ffffffffff000ULL

/* How one mode cuts an address.  shift[0] is the level that the root points to. */
struct cut {
	uint8_t n_level;
	uint8_t entry_size;
	uint8_t shift[5];
	uint8_t large; /* bit n set: an entry of level n may map a page itself */
	uint8_t va_bits;
};

static const struct cut cuts[] = {
	[US_PAGING_X86_32] = { 2, 4, { 22, 12 }, 1 << 0, 32 },
	[US_PAGING_X86_PAE] = { 3, 8, { 30, 21, 12 }, 1 << 1, 32 },
	[US_PAGING_X86_4] = { 4, 8, { 39, 30, 21, 12 }, 3 << 1, 48 },
	[US_PAGING_X86_5] = { 5, 8, { 48, 39, 30, 21, 12 }, 3 << 2, 57 },
};

/* Long mode demands that the bits above the translated ones repeat the highest of
 * them; the narrower modes have no address above 4 GiB. */
static bool canonical(const struct cut *w, us_gva va)
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
static bool large_frame(const struct cut *w, uint64_t entry, uint64_t size, us_gpa *ret)
{
	if (w->entry_size == 4) { /* bits 13 to 20 are 32 to 39 of the address */
		*ret = (entry & 0xffc00000) | (entry >> 13 & 0xff) << 32;
		return !(entry & 1ULL << 21);
	}
	*ret = entry & ADDRESS_52 & ~(size - 1);
	return !(entry & ADDRESS_52 & (size - 1) & ~LARGE_PAT);
}

bool us_page_walk_x86(struct us_mem *m, const struct us_space *s, us_gva va,
		      struct us_tlb_slot *ret)
{
	const struct cut *w = &cuts[s->mode];
	us_gpa table = ret->root;
	unsigned bits = w->entry_size == 4 ? 10 : 9;

	if (!canonical(w, va))
		return false;
	for (unsigned level = 0; level < w->n_level; level++) {
		uint64_t entry, size = 1ULL << w->shift[level];
		uint64_t index = va >> w->shift[level] & ((1U << bits) - 1);
		/* The two index bits of PAE's first level: nothing is above them. */
		us_gpa at = table + index * w->entry_size;
		if (!read_entry(m, at, w->entry_size, &entry) || !(entry & PRESENT))
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
