/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cyclic.c: page tables that contain themselves, and entries that point outside of RAM,
 * with frame pointers that make a reader walk them.
 */
#include "machine.h"
#include "phases.h"

#define PRESENT_WRITE 3
#define LARGE	      0x80
#define NO_RAM	      0x0000007ffffff000 /* a gpa beyond any machine's RAM here */
#define HUGE_GPA      0x000ffffffffff000 /* as high as an entry can say */

/* The top-level table is entry SELF of itself: the address with SELF at all four levels
 * is the table as data, and each less is a level below. */
#define SELF	   300ul
#define SELF_SIGN  0xffff000000000000
#define SELF_TABLE (SELF_SIGN | SELF << 39 | SELF << 30 | SELF << 21 | SELF << 12)
#define SELF_STACK                                                                     \
	(SELF_SIGN | SELF << 39 | (STACK_AREA >> 39 & 511) << 30 |                     \
	 (STACK_AREA >> 30 & 511) << 21 | (STACK_AREA >> 21 & 511) << 12)

/* One region each, with its own entry of the top-level table. */
#define REGION(n) (0xffffa00000000000 + ((u64)(n) << 39))

extern u64 pml4[512];

static u64 frame[] = { SELF_TABLE + 8 * SELF, (u64)after_call };

static const struct phase phases[] = {
	{ "sane", 0 },
	{ "table-of-itself", SELF_TABLE },
	{ "table-entry-of-itself", SELF_TABLE + 8 * SELF },
	{ "tables-of-the-stack", SELF_STACK },
	{ "frame-then-table", (u64)frame },
	{ "page-outside-ram", REGION(0) + 0x10 },
	{ "page-at-the-end", REGION(0) + 0x1010 },
	{ "table-outside-ram", REGION(1) + 0x10 },
	{ "directory-outside-ram", REGION(2) + 0x10 },
	{ "top-table-outside-ram", REGION(3) + 0x10 },
	{ "large-page-outside-ram", REGION(4) + 0x10 },
	{ "reserved-bits", REGION(5) + 0x10 },
};

static u64 *pml4_entry(u64 gva)
{
	return &pml4[gva >> 39 & 511];
}

static u64 *next_table(u64 entry)
{
	return (u64 *)((entry & HUGE_GPA) + IMAGE_BASE);
}

void guest_setup(void)
{
	u64 *directory;

	pml4[SELF] = gpa_of(pml4) | PRESENT_WRITE;

	map_page(REGION(0), NO_RAM);
	map_page(REGION(0) + 0x1000, HUGE_GPA);

	page_entry(REGION(1));
	directory = next_table(next_table(*pml4_entry(REGION(1)))[0]);
	directory[0] = NO_RAM | PRESENT_WRITE;

	page_entry(REGION(2));
	next_table(*pml4_entry(REGION(2)))[0] = NO_RAM | PRESENT_WRITE;

	*pml4_entry(REGION(3)) = NO_RAM | PRESENT_WRITE;

	page_entry(REGION(4));
	directory = next_table(next_table(*pml4_entry(REGION(4)))[0]);
	directory[0] = 0x7fffe00000 | LARGE | PRESENT_WRITE;

	page_entry(REGION(5));
	*pml4_entry(REGION(5)) |= LARGE; /* must be 0 at this level */

	phases_set(phases, ARRAY_LEN(phases));
}
