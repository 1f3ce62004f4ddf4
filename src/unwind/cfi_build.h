/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi_build.h: make a table of rules from any source.  Setup path.
 *
 *	us_cfi_builder_new(8, &b);
 *	us_cfi_builder_rule(b, &rule, saved, &id);
 *	us_cfi_builder_row(b, 0x1000, id, US_CFI_START);
 *	us_cfi_builder_row(b, 0x1040, US_CFI_NO_RULE, 0);
 *	us_cfi_builder_finish(b, &table);
 *	us_cfi_builder_free(b);
 *
 * A row applies from its address up to the next row's.  Rows may come in any order;
 * sorted ones are fastest.  Of the rows at one address, one with a rule wins over one
 * without, then the one added last.  Equal rules are stored once; a row that says the
 * same as the row before it is not stored.  If addresses span more than 4 GiB, or there
 * are more than 65,535 rules, the table has several parts.  What does not fit in 64
 * parts is left out.
 */
#ifndef US_UNWIND_CFI_BUILD_H
#define US_UNWIND_CFI_BUILD_H

#include "unwind/cfi.h"

#define US_CFI_MAX_ROWS	 (16U << 20)
#define US_CFI_MAX_RULES (1U << 20)
#define US_CFI_NO_RULE	 UINT32_MAX /* a gap: no rule from here on */

enum us_cfi_row_flag {
	US_CFI_START = 1,  /* a function is entered here */
	US_CFI_BORDER = 2, /* another function, or a part of one, begins here: the start
			      of the rows before does not apply; no start is known */
	US_CFI_FILL = 4,   /* applies only where rows without this flag have no rule */
};

struct us_cfi_builder;

/* word: size of a word on the stack in bytes, 8 or 4.  -ENOMEM. */
int us_cfi_builder_new(uint8_t word, struct us_cfi_builder **ret);
void us_cfi_builder_free(struct us_cfi_builder *b); /* accepts NULL */

/* Mark the table as untrusted: what the code says is preferred. */
void us_cfi_builder_distrust(struct us_cfi_builder *b);

/*
 * *ret_id: the rule's number, for rows.  saved: rule->n_saved of them, sorted by
 * register so that equal rules compare equal; rule->first is ignored.  -EINVAL: more
 * than US_CFI_MAX_SAVED; -E2BIG: more than US_CFI_MAX_RULES; -ENOMEM.
 */
int us_cfi_builder_rule(struct us_cfi_builder *b, const struct us_cfi_rule *rule,
			const struct us_cfi_saved *saved, uint32_t *ret_id);

/* flags: enum us_cfi_row_flag.  -E2BIG: more than US_CFI_MAX_ROWS; a few more gaps are
 * accepted, to end what was begun.  -ENOMEM. */
int us_cfi_builder_row(struct us_cfi_builder *b, uint64_t addr, uint32_t id,
		       unsigned flags);

/* *ret: the table, which the caller frees; the builder is empty again.  The last row
 * should be a gap.  It is taken for one in any case, because the end of its rule is not
 * known.  -ENOMEM. */
int us_cfi_builder_finish(struct us_cfi_builder *b, struct us_cfi_table **ret);

#endif
