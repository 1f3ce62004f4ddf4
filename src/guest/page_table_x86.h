/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_table_x86.h: the walk of x86's page tables (Intel SDM volume 3, chapter 4).  It
 * reads at most five entries.
 */
#ifndef US_GUEST_PAGE_TABLE_X86_H
#define US_GUEST_PAGE_TABLE_X86_H

#include "guest/page_table.h"

/* Bits of an entry (Intel SDM volume 3, tables 4-4 to 4-6 and 4-8 to 4-20). */
#define US_X86_PRESENT	  (1ULL << 0)
#define US_X86_LARGE	  (1ULL << 7)
#define US_X86_LARGE_PAT  (1ULL << 12)
#define US_X86_MOVING	  (3ULL << 5) /* accessed, dirty: set by the processor */
#define US_X86_ADDRESS_52 0x000ffffffffff000ULL

/* The page-table root in CR3, without flags and PCID. */
US_ALWAYS_INLINE us_gpa us_x86_root(enum us_paging_mode mode, uint64_t cr3)
{
	switch (mode) {
	case US_PAGING_X86_32:
		return cr3 & 0xfffff000;
	case US_PAGING_X86_PAE:
		return cr3 & 0xffffffe0;
	default:
		return cr3 & US_X86_ADDRESS_52;
	}
}

US_ALWAYS_INLINE unsigned us_x86_levels(enum us_paging_mode mode)
{
	switch (mode) {
	case US_PAGING_X86_32:
		return 2;
	case US_PAGING_X86_PAE:
		return 3;
	case US_PAGING_X86_4:
		return 4;
	case US_PAGING_X86_5:
		return 5;
	default:
		return 0;
	}
}

/* Long mode demands that the bits above the translated ones repeat the highest of
 * them; the narrower modes have no address above 4 GiB. */
US_ALWAYS_INLINE bool us_x86_canonical(unsigned levels, us_gva va)
{
	if (levels < 4)
		return va >> 32 == 0;
	unsigned unused = levels == 4 ? 16 : 7;
	return (us_gva)((int64_t)(va << unused) >> unused) == va;
}

/* Where a large page starts; false if bits are set that must be zero. */
US_ALWAYS_INLINE bool us_x86_large_frame(unsigned levels, uint64_t entry, uint64_t size,
					 us_gpa *ret)
{
	if (levels == 2) { /* bits 13 to 20 are 32 to 39 of the address */
		*ret = (entry & 0xffc00000) | (entry >> 13 & 0xff) << 32;
		return !(entry & 1ULL << 21);
	}
	*ret = entry & US_X86_ADDRESS_52 & ~(size - 1);
	return !(entry & US_X86_ADDRESS_52 & (size - 1) & ~US_X86_LARGE_PAT);
}

/* root: from us_x86_root().  False: nothing maps va, or the tables are invalid. */
US_ALWAYS_INLINE bool us_x86_page_walk(void *ctx, us_read_entry *read,
				       enum us_paging_mode mode, us_gpa root, us_gva va,
				       struct us_page_leaf *ret)
{
	unsigned levels = us_x86_levels(mode);
	unsigned bits = levels == 2 ? 10 : 9, entry_size = levels == 2 ? 4 : 8;
	us_gpa table = root;

	if (!levels || !us_x86_canonical(levels, va))
		return false;
	for (unsigned level = 0; level < 5 && level < levels; level++) {
		unsigned left = levels - 1 - level, shift = 12 + bits * left;
		uint64_t entry = 0, size = 1ULL << shift;
		/* PAE's first level has two index bits; the bits above them are 0. */
		uint64_t index = va >> shift & ((1U << bits) - 1);
		us_gpa at = table + index * entry_size;
		if (!read(ctx, at, entry_size, &entry) || !(entry & US_X86_PRESENT))
			return false;
		table = entry & US_X86_ADDRESS_52;
		if (left && !(entry & US_X86_LARGE))
			continue;
		if (left > (levels < 4 ? 1 : 2))
			return false; /* reserved */
		ret->page = va & ~(size - 1);
		ret->size = size;
		ret->entry_at = at;
		ret->entry = entry;
		ret->frame = table;
		return !left || us_x86_large_frame(levels, entry, size, &ret->frame);
	}
	return false;
}

#endif
