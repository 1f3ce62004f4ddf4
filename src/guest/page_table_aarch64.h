/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_table_aarch64.h: the walk of stage 1 of EL1 and EL0 (Arm ARM, D8: VMSAv8-64).
 *
 * The number of levels follows from the number of translated bits (16 to 52) and from
 * the granule (4, 16 or 64 KiB).  Stage 2, the hypervisor's translation, plays no part
 * here: the memory that is read is already guest-physical.  At most five entries are
 * read.
 */
#ifndef US_GUEST_PAGE_TABLE_AARCH64_H
#define US_GUEST_PAGE_TABLE_AARCH64_H

#include "guest/page_table.h"

#define US_AARCH64_VALID 1
#define US_AARCH64_TABLE 2 /* in the last level: a page */
/* Bits of an entry that the processor sets: accessed; read-only, which is cleared in a
 * dirty page. */
#define US_AARCH64_MOVING      (1ULL << 10 | 1ULL << 7)
#define US_AARCH64_ADDRESS_48  0x0000ffffffffffffULL
#define US_AARCH64_ADDRESS_50  0x0003ffffffffffffULL
#define US_AARCH64_IPS_52      6
#define US_AARCH64_MIN_VA_BITS 16
#define US_AARCH64_LAST_LEVEL  3
#define US_AARCH64_TTBR_CNP    1

/* How the addresses of one half are split into indexes. */
struct us_aarch64_cut {
	uint32_t page_bits; /* of the granule: 12, 14 or 16 */
	uint32_t va_bits;
	bool ds;   /* FEAT_LPA2: bits 8 and 9 of an entry are address bits 50 and 51 */
	bool wide; /* FEAT_LPA: bits 12 to 15 are address bits 48 to 51 */
	bool tagged; /* the top byte of an address is ignored */
};

/* Is the address in the half that TTBR1_EL1 translates? */
US_ALWAYS_INLINE bool us_aarch64_is_upper(us_gva va)
{
	return va >> 55 & 1;
}

/* How many bits of an address in that half are translated, by TCR_EL1: 64 - TnSZ. */
US_ALWAYS_INLINE uint32_t us_aarch64_tcr_bits(uint64_t tcr, bool upper)
{
	return 64 - (uint32_t)(tcr >> (upper ? 16 : 0) & 63);
}

/* The granule's bits.  TG0 and TG1 are encoded differently; each constant has one byte
 * for each value.  0: reserved. */
US_ALWAYS_INLINE uint32_t us_aarch64_page_bits(uint64_t tcr, bool upper)
{
	uint32_t sizes = upper ? 0x100c0e00 : 0x000e100c;
	return sizes >> 8 * (tcr >> (upper ? 30 : 14) & 3) & 31;
}

US_ALWAYS_INLINE bool us_aarch64_is_wide(uint64_t tcr)
{
	return (tcr >> 32 & 7) == US_AARCH64_IPS_52;
}

/* The table that TTBR0_EL1 or TTBR1_EL1 names.  With 52-bit addresses, the upper four
 * bits are stored in bits that the table's alignment leaves free. */
US_ALWAYS_INLINE us_gpa us_aarch64_root(uint64_t ttbr, uint64_t tcr, bool upper)
{
	bool ds = tcr >> 59 & 1;
	bool wide = us_aarch64_is_wide(tcr) &&
		    (us_aarch64_page_bits(tcr, upper) == 16 || ds);
	us_gpa at = ttbr & US_AARCH64_ADDRESS_48 &
		    ~(us_gpa)(wide ? 63 : US_AARCH64_TTBR_CNP);
	return wide ? at | (ttbr >> 2 & 15) << 48 : at;
}

US_ALWAYS_INLINE bool us_aarch64_cut_of(uint64_t tcr, bool upper,
					struct us_aarch64_cut *ret)
{
	bool off = tcr >> (upper ? 23 : 7) & 1; /* EPDn */
	ret->page_bits = us_aarch64_page_bits(tcr, upper);
	ret->va_bits = us_aarch64_tcr_bits(tcr, upper);
	ret->ds = (tcr >> 59 & 1) && ret->page_bits != 16;
	ret->wide = us_aarch64_is_wide(tcr) && ret->page_bits == 16;
	ret->tagged = tcr >> (upper ? 38 : 37) & 1;
	uint32_t most = ret->ds || ret->page_bits == 16 ? 52 : 48;
	return !off && ret->page_bits && ret->va_bits <= most &&
	       ret->va_bits >= US_AARCH64_MIN_VA_BITS && ret->va_bits > ret->page_bits;
}

/* The bits above the translated ones must repeat the bit that selects the half. */
US_ALWAYS_INLINE bool us_aarch64_in_range(const struct us_aarch64_cut *c, us_gva va,
					  bool upper)
{
	int64_t v = (int64_t)(c->tagged ? va << 8 : va) >> (c->tagged ? 8 : 0);
	return v >> c->va_bits == (upper ? -1 : 0);
}

US_ALWAYS_INLINE us_gpa us_aarch64_address(const struct us_aarch64_cut *c,
					   uint64_t entry)
{
	us_gpa low = ~0ULL << c->page_bits;
	if (c->ds)
		return (entry & US_AARCH64_ADDRESS_50 & low) | (entry >> 8 & 3) << 50;
	if (c->wide)
		return (entry & US_AARCH64_ADDRESS_48 & low) | (entry >> 12 & 15) << 48;
	return entry & US_AARCH64_ADDRESS_48 & low;
}

/* May an entry above `left` levels map a block (Arm ARM, table D8-18 and those that
 * follow)? */
US_ALWAYS_INLINE bool us_aarch64_has_blocks(const struct us_aarch64_cut *c,
					    uint32_t left)
{
	if (left == 1)
		return true;
	if (left == 2)
		return c->page_bits == 12 || c->ds || c->wide;
	return left == 3 && c->page_bits == 12 && c->ds;
}

/* How many levels are below the first. */
US_ALWAYS_INLINE uint32_t us_aarch64_levels_below(const struct us_aarch64_cut *c)
{
	uint32_t bits = c->va_bits - c->page_bits - 1, stride = c->page_bits - 3;
	uint32_t n = 0;
	for (uint32_t i = 0; i < US_AARCH64_LAST_LEVEL + 1; i++)
		if (bits >= (i + 1) * stride)
			n++;
	return n;
}

/*
 * root: from us_aarch64_root(), for the half that va is in.  False: nothing maps va, or
 * the tables are invalid.  Addresses of large entries are masked to their size: the
 * bits below it have other meanings.
 */
US_ALWAYS_INLINE bool us_aarch64_page_walk(void *ctx, us_read_entry *read, uint64_t tcr,
					   us_gpa root, us_gva va,
					   struct us_page_leaf *ret)
{
	struct us_aarch64_cut c;
	bool upper = us_aarch64_is_upper(va);
	us_gpa table = root;
	if (!us_aarch64_cut_of(tcr, upper, &c) || !us_aarch64_in_range(&c, va, upper))
		return false;
	uint32_t bits = c.va_bits, left = us_aarch64_levels_below(&c);
	for (unsigned level = 0; level < 5; level++) {
		uint32_t shift = c.page_bits + left * (c.page_bits - 3);
		uint64_t entry = 0, n = 1ULL << (bits - shift);
		us_gpa at = (table & ~(n * 8 - 1)) + (va >> shift & (n - 1)) * 8;
		bits = shift;
		if (!read(ctx, at, 8, &entry) || !(entry & US_AARCH64_VALID))
			return false;
		table = us_aarch64_address(&c, entry);
		if (left && (entry & US_AARCH64_TABLE)) {
			left--;
			continue;
		}
		if (left ? !us_aarch64_has_blocks(&c, left)
			 : !(entry & US_AARCH64_TABLE))
			return false; /* reserved */
		ret->size = 1ULL << shift;
		ret->page = va & ~(ret->size - 1);
		ret->frame = table & ~(ret->size - 1);
		ret->entry_at = at;
		ret->entry = entry;
		return true;
	}
	return false;
}

#endif
