/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging.c: 4 KiB mappings in the page tables that boot.S has begun.
 */
#include "paging.h"

#define TABLES_MAX 48

static u64 table_pool[TABLES_MAX][512] __attribute__((aligned(PAGE_SIZE)));
static u32 tables_used;

u64 gpa_of(const volatile void *image_object)
{
	return (u64)image_object - IMAGE_BASE;
}

static u64 *table_below(u64 *entry)
{
	if (!(*entry & 1)) {
		if (tables_used == TABLES_MAX) {
			print_line("FATAL out of page tables");
			for (;;)
				__asm__ volatile("hlt");
		}
		*entry = entry_of_table(gpa_of(table_pool[tables_used++]));
	}
	return table_of_entry(*entry);
}

u64 *page_entry(u64 gva)
{
	u64 *table = top_table;

	for (int shift = 39; shift > 12; shift -= 9)
		table = table_below(&table[gva >> shift & 511]);
	return &table[gva >> 12 & 511];
}

void map_page(u64 gva, u64 gpa)
{
	*page_entry(gva) = entry_of_page(gpa);
	flush_tlb_page(gva);
}
