/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi_program.h: run the programs of call frame information (DWARF 5, 6.4.2), which
 * turn instructions into rows of rules.
 */
#ifndef US_SYMBOL_CFI_PROGRAM_H
#define US_SYMBOL_CFI_PROGRAM_H

#include "symbol/cfi_records.h"
#include "unwind/cfi_build.h"

#define US_CFI_COLUMNS 33 /* registers 0 to 31, and one for a pc beyond them */

/* Facts of an architecture that its tables do not contain. */
struct us_cfi_machine {
	uint16_t machine; /* EM_* */
	uint8_t word;	  /* bytes of a word on the stack; 0: as the ELF's class */
	uint8_t stack_pointer;
	uint8_t n_column; /* number of registers that are tracked, from 0 */
	uint8_t link;	  /* the register that holds the return address ... */
	bool has_link;	  /* ... if there is one */
};

/* NULL: not supported. */
const struct us_cfi_machine *us_cfi_machine(uint16_t machine);

struct us_cfi_column {
	int64_t off;
	uint8_t how;  /* enum us_cfi_how, or more: cfi_program.c */
	uint8_t base; /* register, if off is relative to one */
};

struct us_cfi_state {
	int64_t cfa_off, cfa_next, cfa_add;
	uint8_t cfa; /* enum us_cfi_cfa, or more: cfi_program.c */
	uint8_t cfa_reg;
	bool signed_pc;
	uint64_t said; /* bit k: column[k] is set */
	struct us_cfi_column column[US_CFI_COLUMNS];
};

/* What stays the same for all FDEs of a section, and memory for one program. */
struct us_cfi_run {
	const struct us_cfi_records *records;
	const struct us_cfi_machine *machine;
	uint8_t word;
	struct us_cfi_builder *builder;
	struct us_elf_cfi_stats *stats;
	unsigned row_flags; /* enum us_cfi_row_flag, for each row */

	const struct us_cfi_cie *cie; /* whose program was run last */
	struct us_cfi_state initial;  /* and its result */
	bool initial_ok;
	uint64_t budget; /* CIE instructions left; many FDEs may cause runs */
};

/* Add the rows of one FDE, from its start up to end.  0, -ENOMEM, or -E2BIG: no space
 * is left for rows or rules. */
int us_cfi_run_fde(struct us_cfi_run *r, const struct us_cfi_fde *fde, uint64_t end);

#endif
