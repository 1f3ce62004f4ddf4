/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi.h: where a caller's registers are, by tables that a compiler or kernel made.
 *
 * A rule says how to get from one frame to its caller's.  It does not tell whether it
 * came from DWARF call frame information (DWARF 5, 6.4), from Linux's ORC or from a
 * known interrupt frame.  A table is an image's rules by address: about 6.4 bytes a
 * row, made once by cfi_build.h, in the file's own addresses.  struct us_cfi holds
 * the places where the guest has tables.
 */
#ifndef US_UNWIND_CFI_H
#define US_UNWIND_CFI_H

#include "guest/regs.h"

#include <stddef.h>

/* How the canonical frame address is made.  It is the caller's stack pointer, unless
 * the rule says where that was saved. */
enum us_cfi_cfa {
	US_CFI_CFA_REG, /* register cfa_reg + cfa_off */
	US_CFI_CFA_MEM, /* the word at [register cfa_reg + cfa_off], plus cfa_add */
	US_CFI_CFA_PLT, /* register cfa_reg + cfa_off, plus a word if (pc & 15) >=
			   cfa_add: an entry of a procedure linkage table */
};

/* Where the caller has a register, or its pc. */
enum us_cfi_how {
	US_CFI_LOST,	/* unknown; of the pc: nobody called, the outermost frame */
	US_CFI_AT_CFA,	/* in memory at CFA + off */
	US_CFI_AT_BASE, /* in memory at register base + off */
	US_CFI_IS_CFA,	/* the value is CFA + off */
	US_CFI_IS_BASE, /* the value is register base + off */
	US_CFI_IN_REG,	/* in the register whose number is off */
	US_CFI_BAD,	/* the table says it in a way that is not understood */
};

enum us_cfi_flag {
	/* An interrupt, trap or signal broke the caller off: its pc is no return
	 * address (do not look it up at pc - 1), no CALL need precede it, and what the
	 * ABI lets functions destroy is kept too. */
	US_CFI_SIGNAL = 1,
	US_CFI_SIGNED = 2, /* arm64: the return address carries a signature (PAC) */
	US_CFI_LANDS = 4,  /* exceptions may land in it: no path from the start of the
			      function need lead to where they do */
	US_CFI_GONE = 8,   /* the code has been freed: it was called from there, but
			      nothing begins there any more */
};

struct us_cfi_saved {
	int32_t off;
	uint8_t reg; /* DWARF's number of it: enum us_x86_reg */
	uint8_t how; /* enum us_cfi_how */
	uint16_t pad;
};

#define US_CFI_MAX_SAVED 32

/*
 * Registers below are DWARF numbers of the architecture, under US_CFI_MAX_SAVED.  All
 * are those of the frame at hand, not of its caller.  What is not among the saved:
 * the stack pointer is the CFA; others are unchanged if the ABI preserves them (or if
 * US_CFI_SIGNAL), else lost.
 */
struct us_cfi_rule {
	int32_t cfa_off, cfa_add;
	int32_t pc_off; /* the off of the caller's pc */
	uint32_t first; /* of the saved ones; the table's own */
	uint8_t cfa;	/* enum us_cfi_cfa */
	uint8_t cfa_reg;
	uint8_t pc;   /* enum us_cfi_how */
	uint8_t base; /* register; 0 if nothing asks for it */
	uint8_t n_saved;
	uint8_t flags; /* enum us_cfi_flag */
	uint16_t pad;
};

struct us_cfi_table;

void us_cfi_table_free(struct us_cfi_table *t); /* accepts NULL */

struct us_cfi_table_info {
	uint64_t start, end; /* addresses of the file; both 0: an empty table */
	size_t n_row, n_rule;
	size_t n_left_out; /* rows for which there was no room */
	size_t bytes;	   /* of memory */
	uint8_t word;	   /* bytes of a word on the stack: 8 or 4 */
	bool untrusted;	   /* the code is to be believed first (see elf_cfi.h) */
};
void us_cfi_table_info(const struct us_cfi_table *t, struct us_cfi_table_info *ret);

/* What is known at one address.  Points into the table. */
struct us_cfi_row {
	const struct us_cfi_rule *rule;
	const struct us_cfi_saved *saved; /* rule->n_saved of them */
	us_gva start; /* of the function, if it is known to be where one is entered;
			 else 0: parts that were split off (".cold") have none */
	uint8_t word; /* as above */
	bool untrusted;
};

/* Look up an address of the file.  False: no rule there. */
bool us_cfi_table_find(const struct us_cfi_table *t, uint64_t addr,
		       struct us_cfi_row *ret);

#define US_CFI_MAX_PLACES 256
#define US_CFI_ANY_ROOT	  0 /* in all address spaces */

/* The tables of one guest and where they are.  Zeroed: none.  Owns no table. */
struct us_cfi {
	const struct us_cfi *next; /* asked where these have no rule; NULL: none */
	size_t n;
	struct us_cfi_place {
		us_gva start, end; /* in the guest */
		us_gva reach;	   /* the greatest end up to here */
		us_gpa root;	   /* of the address space, or US_CFI_ANY_ROOT */
		uint64_t bias;	   /* gva - address of the file */
		const struct us_cfi_table *table;
	} place[US_CFI_MAX_PLACES]; /* sorted by start */
};

/*
 * The table holds at this bias, in the address space with this root.  Of places that
 * overlap, the one that starts last wins.  Not while us_unwind() runs; does not
 * allocate, so it may be called between two samples.  -ENOSPC: too many places;
 * -ERANGE: its addresses would wrap round.  An empty table is no error.
 */
int us_cfi_place(struct us_cfi *c, const struct us_cfi_table *t, uint64_t bias,
		 us_gpa root);
/* Take the table from all its places; before it is freed, or to move it. */
void us_cfi_remove(struct us_cfi *c, const struct us_cfi_table *t);

/*
 * Hot path.  The rule for pc (for a return address, pass it less 1, so that the CALL
 * counts); root as in struct us_space, flag bits and PCID are ignored.  One binary
 * search, of a few steps.  False: no rule.
 */
bool us_cfi_find(const struct us_cfi *c, us_gpa root, us_gva pc,
		 struct us_cfi_row *ret);

#endif
