/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi_build.h: make a table of rules, from any source.  Setup path.
 *
 *	us_cfi_builder_new(8, &b);
 *	us_cfi_builder_rule(b, &rule, saved, &id);
 *	us_cfi_builder_row(b, 0x1000, id, US_CFI_START);
 *	us_cfi_builder_row(b, 0x1040, US_CFI_NO_RULE, 0);
 *	us_cfi_builder_finish(b, &table);
 *	us_cfi_builder_free(b);
 *
 * A row holds from its address up to the next one's.  Rows may come in any order;
 * sorted ones are fastest.  Of rows at one address a rule goes before none, and the
 * one added last before others.  Equal rules are kept once, rows that say the same as
 * the one before them not at all.  Addresses may span more than 4 GiB, and there may be
 * more than 65,535 rules: the table then has several parts.  What 64 parts
 * do not hold is left out.
 */
#ifndef US_UNWIND_CFI_BUILD_H
#define US_UNWIND_CFI_BUILD_H

#include "unwind/cfi.h"

#define US_CFI_MAX_ROWS	 (16U << 20)
#define US_CFI_MAX_RULES (1U << 20)
#define US_CFI_NO_RULE	 UINT32_MAX /* what is here has no rule: a gap */

enum us_cfi_row_flag {
	US_CFI_START = 1,  /* a function is entered here */
	US_CFI_BORDER = 2, /* another function, or a part of one: the start of what
			      stands before does not hold here; none is known */
	US_CFI_FILL = 4,   /* holds only where rows without this have no rule */
};

struct us_cfi_builder;

/* word: bytes of a word on the stack, 8 or 4.  -ENOMEM. */
int us_cfi_builder_new(uint8_t word, struct us_cfi_builder **ret);
void us_cfi_builder_free(struct us_cfi_builder *b); /* accepts NULL */

/* What the table says may be wrong: the code is to be believed first. */
void us_cfi_builder_distrust(struct us_cfi_builder *b);

/*
 * The rule's number for rows.  saved: rule->n_saved of them, sorted by register so
 * that equal rules look equal; rule->first is ignored.  -EINVAL: more than
 * US_CFI_MAX_SAVED; -E2BIG: more than US_CFI_MAX_RULES; -ENOMEM.
 */
int us_cfi_builder_rule(struct us_cfi_builder *b, const struct us_cfi_rule *rule,
			const struct us_cfi_saved *saved, uint32_t *ret_id);

/* flags: enum us_cfi_row_flag.  -E2BIG: more than US_CFI_MAX_ROWS; a few gaps are
 * taken beyond, to end what was begun.  -ENOMEM. */
int us_cfi_builder_row(struct us_cfi_builder *b, uint64_t addr, uint32_t id,
		       unsigned flags);

/* The table, to be freed by the caller; the builder is empty again.  The last row
 * should be a gap: where its rule would end is not known, so it is taken for one.
 * -ENOMEM. */
int us_cfi_builder_finish(struct us_cfi_builder *b, struct us_cfi_table **ret);

#endif
