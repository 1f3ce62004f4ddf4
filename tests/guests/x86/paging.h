/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging.h: entries of page tables, as x86-64 with four levels has them.
 */
#ifndef GUEST_PAGING_H
#define GUEST_PAGING_H

#include "machine.h"

#define PAGE_SIZE	   4096ul
#define PAGE_PRESENT_WRITE 3
#define PAGE_LARGE	   0x80
#define ENTRY_GPA	   0x000ffffffffff000
#define HUGE_GPA	   ENTRY_GPA /* as high as an entry can say */

extern u64 top_table[512];

HIDDEN u64 entry_of_table(u64 gpa)
{
	return gpa | PAGE_PRESENT_WRITE;
}

HIDDEN u64 entry_of_page(u64 gpa)
{
	return gpa | PAGE_PRESENT_WRITE;
}

/* 2 MiB, in the last table but one. */
HIDDEN u64 entry_of_large_page(u64 gpa)
{
	return gpa | PAGE_LARGE | PAGE_PRESENT_WRITE;
}

/* An entry of the top-level table that the architecture does not allow. */
HIDDEN u64 reserved_entry(u64 entry)
{
	return entry | PAGE_LARGE;
}

HIDDEN u64 *table_of_entry(u64 entry)
{
	return (u64 *)((entry & ENTRY_GPA) - IMAGE_GPA + IMAGE_BASE);
}

#endif
