/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging.c: page tables of any granule and any size of addresses.  build_tables() runs
 * while nothing is translated, at the gpa of the code.
 */
#include "paging.h"

#define TABLE_MEMORY 0x200000 /* bytes */
#define TABLE_ALIGN  0x10000  /* the largest page */
#define LARGE_SHIFT  21

#define MAIR_NORMAL_DEVICE 0x04ff /* attribute 0: write-back; 1: device, nGnRE */
/* Tables are read through the cache and shared. */
#define TCR_TABLES_LOW	(3ul << 12 | 1ul << 10 | 1ul << 8)
#define TCR_TABLES_HIGH (3ul << 28 | 1ul << 26 | 1ul << 24)
#define PA_BITS_48	5

/* What boot.S loads into the registers of these names. */
struct translation {
	u64 mair, tcr, ttbr0, ttbr1;
} translation;

u64 image_to_gva;
u64 stack_area;

u64 top_table[8192] __attribute__((aligned(TABLE_ALIGN)));
static u64 low_table[8192] __attribute__((aligned(TABLE_ALIGN)));
static u8 table_pool[TABLE_MEMORY] __attribute__((aligned(TABLE_ALIGN)));
static u64 pool_used;

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
		if (pool_used + PAGE_SIZE > TABLE_MEMORY) {
			print_line("FATAL out of page tables");
			for (;;)
				__asm__ volatile("wfi");
		}
		*entry = entry_of_table(gpa_of(table_pool + pool_used));
		pool_used += PAGE_SIZE;
	}
	return table_of_entry(*entry);
}

/* The entry of a page of 1 << to bytes. */
static u64 *entry_in(u64 *table, u64 gva, u64 to)
{
	u64 bits = page_shift - 3;
	u64 below_top = (address_bits - page_shift - 1) / bits;
	u64 shift = page_shift + below_top * bits;
	u64 mask = (1ul << (address_bits - shift)) - 1;

	for (; shift > to; shift -= bits) {
		table = table_below(&table[gva >> shift & mask]);
		mask = (1ul << bits) - 1;
	}
	return &table[gva >> shift & mask];
}

u64 *page_entry(u64 gva)
{
	return entry_in(top_table, gva, page_shift);
}

void map_page(u64 gva, u64 gpa)
{
	*page_entry(gva) = entry_of_page(gpa);
	flush_tlb_page(gva);
}

void map_device(u64 gva, u64 gpa)
{
	*page_entry(gva) = (entry_of_page(gpa) & ~ENTRY_SHARED) | ENTRY_DEVICE;
	flush_tlb_page(gva);
}

static u64 control(void)
{
	u64 pa_bits = read_system_register("id_aa64mmfr0_el1") & 15;
	u64 unused = 64 - address_bits;
	u64 granule = page_shift == 12	 ? 2ul << 30
		      : page_shift == 14 ? 1ul << 30 | 2ul << 14
					 : 3ul << 30 | 1ul << 14;

	return (pa_bits < PA_BITS_48 ? pa_bits : PA_BITS_48) << 32 | granule |
	       TCR_TABLES_HIGH | TCR_TABLES_LOW | unused << 16 | unused;
}

/* With what this image was built for.  The MMU is still off. */
static int processor_can(void)
{
	u64 granule_of_16k = read_system_register("id_aa64mmfr0_el1") >> 20 & 15;
	u64 large_addresses = read_system_register("s3_0_c0_c7_2") >> 16 & 15;

	return (page_shift != 14 || granule_of_16k) &&
	       (address_bits <= 48 || page_shift != 16 || large_addresses);
}

static void refuse(void)
{
	for (const char *at = "UNSUPPORTED pages of this size\n"; *at; at++)
		*(volatile u32 *)uart_gpa = (u8)*at;
	for (;;)
		__asm__ volatile("wfi");
}

/* The image where it is, and in the higher half; and the serial port. */
void build_tables(void);
void build_tables(void)
{
	u64 start = (u64)_start & -PAGE_SIZE, end = (u64)_start + image_size;
	u64 up = IMAGE_BASE - IMAGE_GPA;

	if (!processor_can())
		refuse();
	for (u64 gpa = start; gpa < end; gpa += PAGE_SIZE) {
		*entry_in(low_table, gpa, page_shift) = entry_of_page(gpa);
		if (!large_pages)
			*page_entry(gpa + up) = entry_of_page(gpa);
	}
	for (u64 gpa = IMAGE_GPA; large_pages && gpa < end; gpa += 1ul << LARGE_SHIFT)
		*entry_in(top_table, gpa + up, LARGE_SHIFT) = entry_of_large_page(gpa);
	map_device(UART_BASE, uart_gpa);
	stack_area = -(1ul << (address_bits - 1));
	translation = (struct translation){
		.mair = MAIR_NORMAL_DEVICE,
		.tcr = control(),
		.ttbr0 = (u64)low_table,
		.ttbr1 = (u64)top_table,
	};
}
