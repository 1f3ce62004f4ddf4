/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_entry.h: where a kernel's entry saves the registers of the program, for kernels
 * that save them in memory at a constant address (a page for each program, at the same
 * address in each program's space).
 */
#ifndef US_UNWIND_LINK_ENTRY_H
#define US_UNWIND_LINK_ENTRY_H

#include "unwind/code_path.h"
#include "unwind/link_insn.h"

#define US_LINK_ENTRY_WORDS 64

struct us_link_entry {
	us_gva base;		   /* of that memory */
	uint64_t words;		   /* bit k: the code reads or writes word k */
	uint32_t saved;		   /* bit n: register n, unchanged, is in word ... */
	uint8_t at[US_LINK_N_REG]; /* ... at[n] */
	uint32_t changed;	   /* bit n: register n has been changed */
	uint8_t sp_at;		   /* the stack pointer was loaded from that word ... */
	bool sp_loaded;		   /* ... and has not changed since */
	uint8_t jump_at;	   /* it jumps to the address in that word */
};

/*
 * Follow the code from the start of a function to pc.  It must be straight, except for
 * a CALL right before pc; false: it is not.
 */
bool us_link_read_entry(const struct us_link_machine *m, struct us_code_path *path,
			us_gva start, us_gva pc, struct us_link_entry *ret);

/* The same up to a jump to an address that was in a word of that memory.  False: there
 * is none. */
bool us_link_read_jump(const struct us_link_machine *m, struct us_code_path *path,
		       us_gva start, struct us_link_entry *ret);

#endif
