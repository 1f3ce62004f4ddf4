/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging.h: entries of page tables, as aarch64 has them (Arm ARM, D8.3); how large
 * pages and addresses are, and where devices are, which is set when a guest is linked.
 */
#ifndef GUEST_PAGING_H
#define GUEST_PAGING_H

#include "machine.h"

extern const u64 page_shift; /* 12, 14, 16 */
extern const u64 address_bits;
extern const u64 large_pages; /* 1: the image is mapped by large pages (2 MiB) */

/* Where the machine has its devices, at the start of a page. */
extern const u64 uart_gpa;
extern const u64 gic_distributor_gpa;
extern const u64 gic_cpu_gpa;	 /* version 2 */
extern const u64 gic_redist_gpa; /* version 3: of the first vCPU */
#define GIC_REDIST_GPA(cpu) (gic_redist_gpa + (cpu)*0x20000)

#define PAGE_SIZE    (1ul << page_shift)
#define ENTRY_VALID  1ul
#define ENTRY_TABLE  2ul /* and a page, on the last level */
#define ENTRY_DEVICE (1ul << 2)
#define ENTRY_SHARED (3ul << 8)
#define ENTRY_USED   (1ul << 10)
#define ENTRY_GPA    0x0000fffffffff000
#define HUGE_GPA     ENTRY_GPA /* as high as an entry can say */

extern u64 top_table[]; /* of the higher half */

/* From a gpa to a gva in the image; 0 as long as nothing is translated. */
extern u64 image_to_gva;

HIDDEN u64 entry_of_table(u64 gpa)
{
	return gpa | ENTRY_TABLE | ENTRY_VALID;
}

HIDDEN u64 entry_of_large_page(u64 gpa)
{
	return gpa | ENTRY_VALID | ENTRY_USED | ENTRY_SHARED;
}

HIDDEN u64 entry_of_page(u64 gpa)
{
	return entry_of_large_page(gpa) | ENTRY_TABLE;
}

/* An entry of the top-level table that the architecture does not allow: a block. */
HIDDEN u64 reserved_entry(u64 entry)
{
	return entry & ~ENTRY_TABLE;
}

HIDDEN u64 *table_of_entry(u64 entry)
{
	return (u64 *)((entry & ENTRY_GPA) + image_to_gva);
}

void map_device(u64 gva, u64 gpa);

#endif
