/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/machine.h: the names that a stub gives an architecture's registers, and their
 * meaning; the interface between gdb/target.c and gdb/machine.c. */
#ifndef US_BACKEND_GDB_MACHINE_H
#define US_BACKEND_GDB_MACHINE_H

#include "backend/gdb/target.h"

struct us_gdb_name {
	const char *name;
	uint8_t id; /* enum us_gdb_reg */
};

struct us_gdb_machine {
	const char *processor; /* prefix of the description's <architecture> */
	uint8_t arch;	       /* enum us_arch */
	uint8_t sp, fp;	       /* indexes into us_regs.gpr */
	uint64_t controls; /* bit n: page tables cannot be walked without register n */
	const struct us_gdb_name *name;
	size_t n_name;
	/* v: values by enum us_gdb_reg.  Sets bits, user, and more if need be. */
	void (*decode)(bool wide, bool controls, const uint64_t *v, struct us_regs *r,
		       struct us_gdb_code *code);
	/* v: values by enum us_gdb_reg minus US_GDB_APART; all that controls names are
	 * there.  Sets the address space.  NULL: decode did that. */
	void (*set_space)(const uint64_t *v, const struct us_gdb_code *code,
			  struct us_regs *r);
	/* The same for regs.entered.  It is set if the vCPU is at an exception entry
	 * and all other registers are still unchanged.  NULL: not on this machine. */
	unsigned entry_align; /* bytes; entries are aligned to that */
	unsigned entry_table; /* bytes of all entries, if it may be set within one, too;
				 else 0 */
	uint64_t entry;	      /* bit n: register n is needed for it ... */
	uint64_t machine_entry;	       /* ... in M-mode */
	uint64_t el2_entry, el3_entry; /* ... and at these levels */
	uint64_t entry_also;	       /* ... or useful, if the stub has it */
	void (*set_entered)(const uint64_t *v, struct us_regs *r);
	/* What an exception interrupted last, wherever the vCPU is.  false: nothing is
	 * known. */
	bool (*left)(const uint64_t *v, const struct us_regs *r,
		     struct us_entered *ret);
};

const struct us_gdb_machine *us_gdb_machine_of(const char *processor); /* or NULL */

/* enum us_gdb_reg, or -1. m may be NULL. */
int us_gdb_register(const struct us_gdb_machine *m, const char *name);

#endif
