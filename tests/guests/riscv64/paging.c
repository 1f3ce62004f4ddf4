/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging.c: page tables of three, four or five levels.  build_tables() runs while
 * nothing is translated, at the gpa of the code.
 */
#include "paging.h"

#define TABLES_MAX  64
#define LARGE_SHIFT 21
#define LEVEL_BITS  9
#define MODE_SHIFT  60
#define MODE_SV39   8ul /* with a level more: one more */

u64 boot_satp; /* loaded by boot.S */
u64 image_to_gva;
u64 stack_area;

u64 top_table[512] __attribute__((aligned(PAGE_SIZE)));
static u64 table_pool[TABLES_MAX][512] __attribute__((aligned(PAGE_SIZE)));
static u32 tables_used;

extern char _start[];
extern const u64 image_size; /* in memory */

/* In an image that has moved, all addresses are of where it has moved to. */
u64 gpa_of(const volatile void *image_object)
{
	u64 gpa = (u64)image_object - image_to_gva;

	return gpa >= IMAGE_GPA + SLIDE_BASE ? gpa - image_slide : gpa;
}

static u64 *table_below(u64 *entry)
{
	if (!(*entry & ENTRY_VALID)) {
		if (tables_used == TABLES_MAX) {
			print_line("FATAL out of page tables");
			for (;;)
				__asm__ volatile("wfi");
		}
		*entry = entry_of_table(gpa_of(table_pool[tables_used++]));
	}
	return table_of_entry(*entry);
}

/* The entry of a page of 1 << to bytes. */
static u64 *entry_in(u64 gva, u64 to)
{
	u64 *table = top_table;
	u64 shift = address_bits - LEVEL_BITS;

	for (; shift > to; shift -= LEVEL_BITS)
		table = table_below(&table[gva >> shift & 511]);
	return &table[gva >> shift & 511];
}

u64 *page_entry(u64 gva)
{
	return entry_in(gva, PAGE_SHIFT);
}

void map_page(u64 gva, u64 gpa)
{
	*page_entry(gva) = entry_of_page(gpa);
	flush_tlb_page(gva);
}

/* The image where it is, and in the higher half; and the serial port. */
void build_tables(void);
void build_tables(void)
{
	u64 start = (u64)_start, end = start + image_size;
	u64 up = IMAGE_BASE - IMAGE_GPA, mode;

	for (u64 gpa = start; gpa < end; gpa += PAGE_SIZE) {
		map_page(gpa, gpa);
		if (!large_pages)
			map_page(gpa + up, gpa);
	}
	for (u64 gpa = start; large_pages && gpa < end; gpa += 1ul << LARGE_SHIFT)
		*entry_in(gpa + up, LARGE_SHIFT) = entry_of_large_page(gpa);
	map_page(UART_BASE, UART_GPA);
	stack_area = -(1ul << (address_bits - 1));
	mode = MODE_SV39 + (address_bits - 39) / LEVEL_BITS;
	boot_satp = mode << MODE_SHIFT | (u64)top_table >> PAGE_SHIFT;
}
