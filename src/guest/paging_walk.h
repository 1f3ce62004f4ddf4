/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paging_walk.h: how to walk each paging mode; the interface between paging.c and the
 * architectures. */
#ifndef US_GUEST_PAGING_WALK_H
#define US_GUEST_PAGING_WALK_H

#include "guest/paging.h"

struct us_page_walk {
	/* Walk from ret->root down to the entry that maps va; fills in page, frame,
	 * size, entry_at and entry.  False: nothing maps va, or the tables are invalid.
	 */
	bool (*walk)(struct us_mem *m, const struct us_space *s, us_gva va,
		     struct us_tlb_slot *ret);
	us_gpa root_mask;
	uint64_t moving;    /* bits of an entry that the processor sets by itself */
	uint64_t code_mask; /* the bits of an entry ... */
	uint64_t data;	    /* ... that have this value if execution is forbidden */
	uint8_t entry_size; /* bytes */
	uint64_t user;	    /* of the last entry: user mode may use the page, too */
	/* The kernel may execute a page of user mode if the entry has the bit `shared`
	 * and not the bit `apart`. */
	uint64_t shared, apart;
	bool split; /* bit 55 of an address selects the root */
};

bool us_page_walk_x86(struct us_mem *m, const struct us_space *s, us_gva va,
		      struct us_tlb_slot *ret);
bool us_page_walk_aarch64(struct us_mem *m, const struct us_space *s, us_gva va,
			  struct us_tlb_slot *ret);
bool us_page_walk_riscv(struct us_mem *m, const struct us_space *s, us_gva va,
			struct us_tlb_slot *ret);

#endif
