/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi.h: where a caller's registers are, from tables that a compiler or kernel made.
 *
 * A rule says how to get from one frame to its caller's.  Its source may be DWARF call
 * frame information (DWARF 5, 6.4), Linux's ORC or a known interrupt frame; all look
 * alike.  A table holds an image's rules by address, in the file's own addresses, about
 * 6.4 bytes a row; cfi_build.h makes it once.  struct us_cfi says where in the guest
 * the tables apply.
 */
#ifndef US_UNWIND_CFI_H
#define US_UNWIND_CFI_H

#include "guest/regs.h"

#include <stddef.h>

/* How the canonical frame address (CFA) is computed.  It is the caller's stack pointer,
 * unless the rule says where that was saved. */
enum us_cfi_cfa {
	US_CFI_CFA_REG,	    /* register cfa_reg + cfa_off */
	US_CFI_CFA_MEM,	    /* the word at [register cfa_reg + cfa_off], plus cfa_add */
	US_CFI_CFA_MEM_MEM, /* the word at [that word + cfa_next], plus cfa_add */
	US_CFI_CFA_PLT,	    /* register cfa_reg + cfa_off, plus a word if (pc & 15) >=
			       cfa_add: an entry of a procedure linkage table (PLT) */
};

/* Where a register of the caller, or its pc, is. */
enum us_cfi_how {
	US_CFI_LOST,	/* unknown; for the pc: this is the outermost frame */
	US_CFI_AT_CFA,	/* in memory at CFA + off */
	US_CFI_AT_BASE, /* in memory at register base + off */
	US_CFI_IS_CFA,	/* the value is CFA + off */
	US_CFI_IS_BASE, /* the value is register base + off */
	US_CFI_IN_REG,	/* in the register whose number is off */
	US_CFI_BAD,	/* the table says it in a form that is not supported */
};

enum us_cfi_flag {
	/* An interrupt, trap or signal interrupted the caller: its pc is no return
	 * address (do not look it up at pc - 1), no CALL need precede it, and registers
	 * that functions may clobber are kept as well. */
	US_CFI_SIGNAL = 1,
	US_CFI_SIGNED = 2, /* arm64: the return address carries a signature (PAC) */
	US_CFI_LANDS = 4,  /* exceptions may land in it: their landing pads need not be
			      on a path from the function's start */
	US_CFI_GONE = 8,   /* the code has been freed: return addresses may still point
			      into it, but no function begins there any more */
};

struct us_cfi_saved {
	int32_t off;
	uint8_t reg; /* its DWARF number: enum us_x86_reg */
	uint8_t how; /* enum us_cfi_how */
	uint16_t pad;
};

#define US_CFI_MAX_SAVED 32

/*
 * Registers below are the architecture's DWARF numbers, less than US_CFI_MAX_SAVED.
 * All are registers of the frame at hand, not of its caller.  For registers that are
 * not saved: the stack pointer is the CFA; others are unchanged if the ABI preserves
 * them (or with US_CFI_SIGNAL), else lost.
 */
struct us_cfi_rule {
	int32_t cfa_off, cfa_add;
	int32_t pc_off; /* us_cfi_saved.off of the caller's pc */
	uint32_t first; /* index of the saved ones in the table */
	uint8_t cfa;	/* enum us_cfi_cfa */
	uint8_t cfa_reg;
	uint8_t pc;   /* enum us_cfi_how */
	uint8_t base; /* a register; 0 if not used */
	uint8_t n_saved;
	uint8_t flags;	  /* enum us_cfi_flag */
	int16_t cfa_next; /* of US_CFI_CFA_MEM_MEM, else 0 */
};

struct us_cfi_table;

void us_cfi_table_free(struct us_cfi_table *t); /* accepts NULL */

struct us_cfi_table_info {
	uint64_t start, end; /* addresses of the file; both 0: an empty table */
	size_t n_row, n_rule;
	size_t n_left_out; /* rows that did not fit */
	size_t bytes;	   /* size in memory */
	uint8_t word;	   /* size of a word on the stack, bytes: 8 or 4 */
	bool untrusted;	   /* prefer what the code says (see elf_cfi.h) */
};
void us_cfi_table_info(const struct us_cfi_table *t, struct us_cfi_table_info *ret);

/* What the table says of one address.  Points into the table. */
struct us_cfi_row {
	const struct us_cfi_rule *rule;
	const struct us_cfi_saved *saved; /* rule->n_saved of them */
	us_gva start; /* of the function, if it is known to be entered there; else 0:
			 parts that were split off (".cold") have none */
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
	const struct us_cfi *next; /* used where these have no rule; NULL: none */
	size_t n;
	struct us_cfi_place {
		us_gva start, end; /* in the guest */
		us_gva reach;	   /* the greatest end so far in the array */
		us_gpa root;	   /* of the address space, or US_CFI_ANY_ROOT */
		uint64_t bias;	   /* gva - address of the file */
		const struct us_cfi_table *table;
	} place[US_CFI_MAX_PLACES]; /* sorted by start */
};

/*
 * From now on the table applies at this bias, in the address space with this root.  Of
 * overlapping places, the one that starts last wins.  Not while us_unwind() runs; it
 * does not allocate, so it may be called between two samples.  -ENOSPC: too many
 * places; -ERANGE: its addresses would wrap round.  An empty table is no error.
 */
int us_cfi_place(struct us_cfi *c, const struct us_cfi_table *t, uint64_t bias,
		 us_gpa root);
/* Remove the table from all its places: before it is freed, or to move it. */
void us_cfi_remove(struct us_cfi *c, const struct us_cfi_table *t);

/*
 * Hot path.  The rule for pc; for a return address, pass it less 1, so that the CALL
 * counts.  root: as in struct us_space; flag bits and PCID are ignored.  A binary
 * search of a few steps.  False: no rule.
 */
bool us_cfi_find(const struct us_cfi *c, us_gpa root, us_gva pc,
		 struct us_cfi_row *ret);

#endif
