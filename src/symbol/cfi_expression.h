/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi_expression.h: DWARF expressions in call frame information (DWARF 5, 2.5), if they
 * can be reduced to a form that a rule can express.
 *
 * Few are in use: gcc writes them for realigned stacks, the C library and Linux for
 * signal frames, linkers for procedure linkage tables, OCaml's runtime where it
 * switches stacks (OCaml 5: runtime/amd64.S).  They are evaluated with symbolic values;
 * what gives no known form is refused.
 */
#ifndef US_SYMBOL_CFI_EXPRESSION_H
#define US_SYMBOL_CFI_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum us_cfi_form {
	US_CFI_FORM_CONST,    /* off */
	US_CFI_FORM_REG,      /* register + off */
	US_CFI_FORM_CFA,      /* CFA + off */
	US_CFI_FORM_MEM,      /* word at [register + off], plus add */
	US_CFI_FORM_MEM_MEM,  /* word at [that word + next], plus add */
	US_CFI_FORM_PC,	      /* pc + off */
	US_CFI_FORM_PC_LOW,   /* pc & off */
	US_CFI_FORM_PC_STEP,  /* add if (pc & 15) >= off, else 0 */
	US_CFI_FORM_REG_STEP, /* register + off, and a word if (pc & 15) >= add */
};

struct us_cfi_value {
	int64_t off, next, add;
	uint8_t form; /* enum us_cfi_form */
	uint8_t reg;
};

struct us_cfi_expression {
	const uint8_t *bytes;
	size_t len;
	uint8_t word;	   /* size of a word on the stack, bytes */
	uint8_t pc_column; /* the register that stands for the pc */
	bool with_cfa;	   /* it starts with the CFA on its stack: a register's rule */
};

/* False: not supported. */
bool us_cfi_evaluate(const struct us_cfi_expression *x, struct us_cfi_value *ret);

#endif
