/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paging_riscv.c: Sv39, Sv48, Sv57 (RISC-V privileged architecture, 4.3 to 4.6). */
#include "guest/paging_walk.h"

#define VALID	  1
#define R	  2
#define W	  4
#define X	  8
#define PPN	  ((1ULL << 44) - 1)
#define RESERVED  (0x1fULL << 54) /* bits 59 and 60 are in use by now */
#define NAPOT	  (1ULL << 63)	  /* Svnapot: one of 16 entries of a larger page */
#define NAPOT_64K 8

static bool canonical(us_gva va, unsigned bits)
{
	return (int64_t)(va << (64 - bits)) >> (64 - bits) == (int64_t)va;
}

/* The page of a leaf entry; false if the entry raises a fault. */
static bool set_page(struct us_tlb_slot *ret, us_gva va, uint64_t entry, unsigned shift)
{
	us_gpa frame = (entry >> 10 & PPN) << 12;
	ret->size = 1ULL << shift;
	if (entry & NAPOT) {
		if (shift != 12 || (entry >> 10 & 15) != NAPOT_64K)
			return false;
		ret->size = 1ULL << 16;
		frame &= ~(ret->size - 1);
	}
	ret->frame = frame;
	ret->page = va & ~(ret->size - 1);
	return !(frame & (ret->size - 1)) && ((entry & R) || !(entry & W));
}

bool us_page_walk_riscv(struct us_mem *m, const struct us_space *s, us_gva va,
			struct us_tlb_slot *ret)
{
	unsigned n_level = 3U + s->mode - US_PAGING_RISCV_39;
	us_gpa table = ret->root;
	if (!canonical(va, 12 + 9 * n_level))
		return false;
	for (unsigned left = n_level; left--;) {
		unsigned shift = 12 + 9 * left;
		us_gpa at = table + (va >> shift & 511) * 8;
		uint64_t entry;
		if (!us_mem_read(m, at, &entry, sizeof(entry)) || !(entry & VALID) ||
		    (entry & RESERVED))
			return false;
		if (entry & (R | W | X)) {
			ret->entry_at = at;
			ret->entry = entry;
			return set_page(ret, va, entry, shift);
		}
		if (entry & NAPOT)
			return false;
		table = (entry >> 10 & PPN) << 12;
	}
	return false;
}
