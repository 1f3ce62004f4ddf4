/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cyclic.c: page tables that contain themselves, and entries that point outside of RAM,
 * with frame pointers that make a reader walk them.
 */
#include "machine.h"
#include "paging.h"
#include "phases.h"

#define NO_RAM 0x0000007ffffff000 /* a gpa beyond any machine's RAM here */

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

static u64 frame[] = { FP(SELF_TABLE + 8 * SELF), (u64)after_call };

static const struct phase phases[] = {
	{ "sane", 0 },
	{ "table-of-itself", FP(SELF_TABLE) },
	{ "table-entry-of-itself", FP(SELF_TABLE + 8 * SELF) },
	{ "tables-of-the-stack", FP(SELF_STACK) },
	{ "frame-then-table", FP(frame) },
	{ "page-outside-ram", FP(REGION(0) + 0x10) },
	{ "page-at-the-end", FP(REGION(0) + 0x1010) },
	{ "table-outside-ram", FP(REGION(1) + 0x10) },
	{ "directory-outside-ram", FP(REGION(2) + 0x10) },
	{ "top-table-outside-ram", FP(REGION(3) + 0x10) },
	{ "large-page-outside-ram", FP(REGION(4) + 0x10) },
	{ "reserved-bits", FP(REGION(5) + 0x10) },
};

static u64 *top_entry(u64 gva)
{
	return &top_table[gva >> 39 & 511];
}

static u64 *directory_of(u64 gva)
{
	return table_of_entry(table_of_entry(*top_entry(gva))[0]);
}

void guest_setup(void)
{
	top_table[SELF] = entry_of_table(gpa_of(top_table));

	map_page(REGION(0), NO_RAM);
	map_page(REGION(0) + 0x1000, HUGE_GPA);

	page_entry(REGION(1));
	directory_of(REGION(1))[0] = entry_of_table(NO_RAM);

	page_entry(REGION(2));
	table_of_entry(*top_entry(REGION(2)))[0] = entry_of_table(NO_RAM);

	*top_entry(REGION(3)) = entry_of_table(NO_RAM);

	page_entry(REGION(4));
	directory_of(REGION(4))[0] = entry_of_large_page(0x7fffe00000);

	page_entry(REGION(5));
	*top_entry(REGION(5)) = reserved_entry(*top_entry(REGION(5)));

	phases_set(phases, ARRAY_LEN(phases));
}
