/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/machine.h: what a stub calls the registers of an architecture, and what they say;
 * between gdb/target.c and gdb/machine.c. */
#ifndef US_BACKEND_GDB_MACHINE_H
#define US_BACKEND_GDB_MACHINE_H

#include "backend/gdb/target.h"

struct us_gdb_name {
	const char *name;
	uint8_t id; /* enum us_gdb_reg */
};

struct us_gdb_machine {
	const char *processor; /* how the description's <architecture> begins */
	uint8_t arch;	       /* enum us_arch */
	uint8_t sp, fp;	       /* of us_regs.gpr */
	uint64_t controls;     /* bit n: without register n no page table is walked */
	const struct us_gdb_name *name;
	size_t n_name;
	/* From values by enum us_gdb_reg: bits, user, and more if need be. */
	void (*decode)(bool wide, bool controls, const uint64_t *v, struct us_regs *r,
		       struct us_gdb_code *code);
	/* From those apart, by enum us_gdb_reg less US_GDB_APART; all that controls
	 * names are there.  NULL: decode did that. */
	void (*set_space)(const uint64_t *v, const struct us_gdb_code *code,
			  struct us_regs *r);
	/* The same for regs.entered, which is set if the vCPU is at an entry, and all
	 * that was there before is as it was.  NULL: there is none such. */
	unsigned entry_align;	/* bytes; entries are aligned to that */
	unsigned entry_table;	/* bytes of all of them, if it may be set within one,
				   too; else 0 */
	uint64_t entry;		/* bit n: register n is needed for it ... */
	uint64_t machine_entry; /* ... in M-mode */
	uint64_t entry_also;	/* ... or of use, if the stub has it */
	void (*set_entered)(const uint64_t *v, struct us_regs *r);
	/* Wherever it is: what was broken off last.  false: there is none such. */
	bool (*left)(const uint64_t *v, const struct us_regs *r,
		     struct us_entered *ret);
};

const struct us_gdb_machine *us_gdb_machine_of(const char *processor); /* or NULL */

/* enum us_gdb_reg, or -1. m may be NULL. */
int us_gdb_register(const struct us_gdb_machine *m, const char *name);

#endif
