/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_entry.h: where a kernel's entry keeps the registers of the program that it was
 * entered from, if that is memory at an address which its code names (a page for each
 * program, at the same address in the space of each).
 */
#ifndef US_UNWIND_LINK_ENTRY_H
#define US_UNWIND_LINK_ENTRY_H

#include "unwind/code_path.h"
#include "unwind/link_insn.h"

#define US_LINK_ENTRY_WORDS 64

struct us_link_entry {
	us_gva base;	/* of that memory */
	uint64_t words; /* bit k: this code reads or writes its word k */
	uint32_t saved; /* bit n: register n, unchanged, is in its word ... */
	uint8_t at[US_LINK_N_REG]; /* ... at[n] */
	uint32_t changed;	   /* bit n: register n is not what it was any more */
	uint8_t sp_at;		   /* the stack pointer was loaded from that word ... */
	bool sp_loaded;		   /* ... and has not changed since */
	uint8_t jump_at;	   /* it jumps to where that word says */
};

/*
 * Follow the code from the start of a function to pc, where it has to lead straight,
 * but for a CALL right before pc.  False: it does not.
 */
bool us_link_read_entry(const struct us_link_machine *m, struct us_code_path *path,
			us_gva start, us_gva pc, struct us_link_entry *ret);

/* The same to where it leaves by a jump to what was in a word of that memory.  False:
 * it does not. */
bool us_link_read_jump(const struct us_link_machine *m, struct us_code_path *path,
		       us_gva start, struct us_link_entry *ret);

#endif
