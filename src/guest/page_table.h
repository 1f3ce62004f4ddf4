/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_table.h: what page-table walks have in common.
 *
 * The caller decides how an entry is read: from a mapping, by a system call, or in the
 * host's kernel.  The walks (page_table_x86.h, page_table_aarch64.h) are therefore
 * compiled both for uniscope and for its programs in the kernel, and use only their
 * arguments.
 */
#ifndef US_GUEST_PAGE_TABLE_H
#define US_GUEST_PAGE_TABLE_H

#include "guest/regs.h"

#define US_ALWAYS_INLINE static inline __attribute__((always_inline))

/* The page that holds an address, and the page-table entry that maps it. */
struct us_page_leaf {
	us_gva page;
	us_gpa frame;
	uint64_t size; /* bytes */
	us_gpa entry_at;
	uint64_t entry;
};

/* Read an entry of size (4 or 8) bytes; false: it cannot be read. */
typedef bool us_read_entry(void *ctx, us_gpa at, unsigned size, uint64_t *ret);

#endif
