/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging.h: entries of page tables, as riscv64 has them (Privileged
 * Architecture, 10.3), and how large addresses are, which is set when a guest is
 * linked.
 */
#ifndef GUEST_PAGING_H
#define GUEST_PAGING_H

#include "machine.h"

extern const u64 address_bits; /* 39, 48, 57 */
extern const u64 large_pages;  /* 1: the image is mapped by large pages (2 MiB) */

#define PAGE_SHIFT     12
#define PAGE_SIZE      4096ul
#define ENTRY_VALID    1ul
#define ENTRY_PAGE     0xcful /* read, write, execute, accessed, dirty; a leaf */
#define ENTRY_RESERVED (1ul << 54)
#define ENTRY_GPA      0x00fffffffffff000
#define HUGE_GPA       ENTRY_GPA /* as high as an entry can say */

extern u64 top_table[512];

/* From a gpa to a gva in the image; 0 as long as nothing is translated. */
extern u64 image_to_gva;

HIDDEN u64 entry_of_table(u64 gpa)
{
	return gpa >> 2 | ENTRY_VALID;
}

HIDDEN u64 entry_of_page(u64 gpa)
{
	return gpa >> 2 | ENTRY_PAGE;
}

/* Large by the table that it is in. */
HIDDEN u64 entry_of_large_page(u64 gpa)
{
	return entry_of_page(gpa);
}

HIDDEN u64 reserved_entry(u64 entry)
{
	return entry | ENTRY_RESERVED;
}

HIDDEN u64 *table_of_entry(u64 entry)
{
	return (u64 *)((entry << 2 & ENTRY_GPA) + image_to_gva);
}

#endif
