/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging_aarch64.c: stage 1 of EL1 and EL0 (Arm ARM, D8: VMSAv8-64).
 *
 * The number of levels follows from how many bits are translated (16 to 52) and from
 * the granule (4, 16 or 64 KiB).  What hypervisors do below (stage 2) is not seen here:
 * their memory is already the guest's.
 */
#include "guest/paging_walk.h"

#define VALID	     1
#define TABLE	     2 /* in the last level: a page */
#define ADDRESS_48   0x0000ffffffffffffULL
#define ADDRESS_50   0x0003ffffffffffffULL
#define IPS_52	     6
#define MIN_VA_BITS  16
#define LAST_LEVEL   3
#define TCR_DS	     (1ULL << 59)
#define TCR_IPS(tcr) ((tcr) >> 32 & 7)

/* How one half of the addresses is cut. */
struct cut {
	uint8_t page_bits; /* of the granule: 12, 14 or 16 */
	uint8_t va_bits;
	uint8_t n_level;
	bool ds;     /* FEAT_LPA2: bits 8 and 9 of an entry are 50 and 51 of it */
	bool wide;   /* FEAT_LPA: bits 12 to 15 are 48 to 51 */
	bool tagged; /* the uppermost byte of an address does not count */
};

static bool cut_of(const struct us_space *s, bool upper, struct cut *ret)
{
	const uint64_t tcr = s->control;
	static const uint8_t granules[2][4] = { { 12, 16, 14, 0 }, { 0, 14, 12, 16 } };
	ret->page_bits = granules[upper][tcr >> (upper ? 30 : 14) & 3];
	ret->va_bits = (uint8_t)us_aarch64_va_bits(s, upper);
	ret->ds = (tcr & TCR_DS) && ret->page_bits != 16;
	ret->wide = TCR_IPS(tcr) == IPS_52 && ret->page_bits == 16;
	ret->tagged = tcr >> (upper ? 38 : 37) & 1;
	bool off = tcr >> (upper ? 23 : 7) & 1; /* EPDn */
	uint8_t most = ret->ds || ret->page_bits == 16 ? 52 : 48;
	if (off || !ret->page_bits || ret->va_bits > most ||
	    ret->va_bits < MIN_VA_BITS || ret->va_bits <= ret->page_bits)
		return false;
	unsigned stride = ret->page_bits - 3U;
	ret->n_level = (uint8_t)((ret->va_bits - ret->page_bits + stride - 1) / stride);
	return true;
}

/* The bits above the translated ones repeat the one that tells the halves apart. */
static bool in_range(const struct cut *c, us_gva va, bool upper)
{
	int64_t v = (int64_t)(c->tagged ? va << 8 : va) >> (c->tagged ? 8 : 0);
	return v >> c->va_bits == (upper ? -1 : 0);
}

static us_gpa address_of(const struct cut *c, uint64_t entry)
{
	us_gpa low = ~0ULL << c->page_bits;
	if (c->ds)
		return (entry & ADDRESS_50 & low) | (entry >> 8 & 3) << 50;
	if (c->wide)
		return (entry & ADDRESS_48 & low) | (entry >> 12 & 15) << 48;
	return entry & ADDRESS_48 & low;
}

/* May an entry of the level map a block (Arm ARM, table D8-18 and those that follow)?
 */
static bool has_blocks(const struct cut *c, unsigned level)
{
	if (level == 2)
		return true;
	if (level == 1)
		return c->page_bits == 12 || c->ds || c->wide;
	return level == 0 && c->page_bits == 12 && c->ds;
}

/* Large entries are cut to their size: below it are bits with other meanings. */
static void set_page(struct us_tlb_slot *ret, us_gva va, us_gpa frame, uint64_t size)
{
	ret->page = va & ~(size - 1);
	ret->frame = frame & ~(size - 1);
	ret->size = size;
}

bool us_page_walk_aarch64(struct us_mem *m, const struct us_space *s, us_gva va,
			  struct us_tlb_slot *ret)
{
	struct cut c;
	bool upper = va >> 55 & 1;
	if (!cut_of(s, upper, &c) || !in_range(&c, va, upper))
		return false;
	us_gpa table = ret->root;
	unsigned stride = c.page_bits - 3U, bits = c.va_bits;
	for (unsigned left = c.n_level; left--;) {
		unsigned shift = c.page_bits + left * stride;
		uint64_t entry, n = 1ULL << (bits - shift);
		us_gpa at = (table & ~(n * 8 - 1)) + (va >> shift & (n - 1)) * 8;
		bits = shift;
		if (!us_mem_read(m, at, &entry, sizeof(entry)) || !(entry & VALID))
			return false;
		table = address_of(&c, entry);
		if (left && (entry & TABLE))
			continue;
		if (left ? left > LAST_LEVEL || !has_blocks(&c, LAST_LEVEL - left)
			 : !(entry & TABLE))
			return false; /* reserved */
		set_page(ret, va, table, 1ULL << shift);
		ret->entry_at = at;
		ret->entry = entry;
		return true;
	}
	return false;
}
