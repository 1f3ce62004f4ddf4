/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging.c: 4 KiB mappings in the page tables that boot.S has begun.
 */
#include "machine.h"

#define PAGE_SIZE	   4096
#define PAGE_PRESENT_WRITE 3
#define ENTRY_GPA	   0x000ffffffffff000
#define TABLES_MAX	   48

extern u64 pml4[512];

static u64 table_pool[TABLES_MAX][512] __attribute__((aligned(PAGE_SIZE)));
static u32 tables_used;
static u8 stack_memory[MAX_VCPUS][STACK_SLOTS][STACK_PAGES][PAGE_SIZE]
	__attribute__((aligned(PAGE_SIZE)));

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
		*entry = gpa_of(table_pool[tables_used++]) | PAGE_PRESENT_WRITE;
	}
	return (u64 *)((*entry & ENTRY_GPA) + IMAGE_BASE);
}

u64 *page_entry(u64 gva)
{
	u64 *table = pml4;

	for (int shift = 39; shift > 12; shift -= 9)
		table = table_below(&table[gva >> shift & 511]);
	return &table[gva >> 12 & 511];
}

void map_page(u64 gva, u64 gpa)
{
	*page_entry(gva) = gpa | PAGE_PRESENT_WRITE;
	flush_tlb_page(gva);
}

u64 stack_top(u32 vcpu, u32 slot)
{
	return STACK_AREA + ((u64)vcpu << STACK_VCPU_SHIFT) + (slot + 1) * STACK_SLOT;
}

/* Neighbouring pages of a stack are not neighbours in memory, so that a reader that
 * translates only once reads nonsense. */
void map_stacks(u32 vcpu)
{
	for (u32 slot = 0; slot < STACK_SLOTS; slot++)
		for (u32 page = 0; page < STACK_PAGES; page++)
			map_page(stack_top(vcpu, slot) - (page + 1) * PAGE_SIZE,
				 gpa_of(stack_memory[vcpu][slot][page]));
}
