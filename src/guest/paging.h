/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paging.h: translates guest-virtual to guest-physical addresses, and reads through
 * them.
 *
 * It walks the guest's own page tables: Intel SDM volume 3, chapter 4; Arm ARM, D8;
 * RISC-V privileged architecture, chapter 4.  Tables are not trusted: the depth is
 * bounded, and an entry that is not present or points outside RAM ends the walk.  A
 * cycle costs at most five reads.
 *
 * Translations are cached over samples.  In a later sample a cached one is used only
 * after its last-level entry was read again and found unchanged (except for the
 * accessed and dirty bits), so that a guest that remaps its stacks does not give wrong
 * frames.  One case is not detected: a guest that replaces a whole table by changing an
 * upper entry, under the same root, and leaves the old table's bytes as they were.
 */
#ifndef US_GUEST_PAGING_H
#define US_GUEST_PAGING_H

#include "guest/memory.h"
#include "guest/stack_copy.h"

#define US_TLB_SLOTS 64

struct us_paging {
	struct us_mem *mem;
	/* If the guest continues to run during unwinding: the copy of its stack, for
	 * the unwinder.  The reads below are of memory as it is now. */
	struct us_stack_copy *stack;
	uint32_t epoch;
	struct us_tlb_slot {
		us_gva page;	  /* first byte of the page */
		us_gpa frame;	  /* its guest-physical address */
		us_gpa entry_at;  /* the last-level entry that maps it ... */
		uint64_t entry;	  /* ... and what it held */
		us_gpa root;	  /* of the walk, flag bits removed */
		uint64_t control; /* as in struct us_space */
		uint64_t size;	  /* of the page: 4 KiB to 4 TiB */
		uint32_t epoch;
		uint8_t mode;
	} tlb[US_TLB_SLOTS];
};

void us_paging_init(struct us_paging *p, struct us_mem *mem);

/* The guest has run since the last read: cached words and entries must be checked
 * again.  Calls us_mem_new_sample() too. */
void us_paging_new_sample(struct us_paging *p);

/* Translate one address; *ret_left (may be NULL) gets the bytes left in the page.
 * The result may lie outside RAM (a device). False with US_PAGING_UNKNOWN. CR4.PSE
 * is not known here: with 32-bit paging a set page-size bit always counts. */
bool us_paging_translate(struct us_paging *p, const struct us_space *s, us_gva va,
			 us_gpa *ret_pa, uint64_t *ret_left);

/* The cached translation that us_paging_translate() uses: valid for this sample, and as
 * long as the entry does not change.  NULL: no translation, or none through page
 * tables. */
const struct us_tlb_slot *us_paging_slot(struct us_paging *p, const struct us_space *s,
					 us_gva va);

/*
 * Is va mapped by an entry that forbids execution (SDM volume 3, 4.6.1; on aarch64, in
 * EL0 and in EL1)?  Then no program counter points there.  False if it is not known.
 * Only the last entry counts: with page-table isolation, Linux forbids execution of all
 * user pages in the kernel's root.
 */
bool us_paging_is_data(struct us_paging *p, const struct us_space *s, us_gva va);

/* Does the page's last entry allow access from user mode? */
bool us_paging_is_user(struct us_paging *p, const struct us_space *s, us_gva va);
/* And does it keep the kernel from executing what is there?  So it is on RISC-V, and on
 * aarch64 if it says so or if user mode may write there (Arm ARM D8.4: PXN).  False on
 * x86, where that is up to the processor's mode. */
bool us_paging_is_user_only(struct us_paging *p, const struct us_space *s, us_gva va);

/* Let the next read of the word at va fetch it again: see us_mem_forget(). */
void us_paging_forget(struct us_paging *p, const struct us_space *s, us_gva va);

/* Read len bytes at va, across page borders if need be; false if any byte is missing;
 * *buf is then undefined.  Never allocates. */
bool us_paging_read(struct us_paging *p, const struct us_space *s, us_gva va, void *buf,
		    size_t len);

#endif
