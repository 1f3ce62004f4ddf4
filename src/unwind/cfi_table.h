/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi_table.h: the inside of a table; shared by cfi.c and cfi_build.c. */
#ifndef US_UNWIND_CFI_TABLE_H
#define US_UNWIND_CFI_TABLE_H

#include "unwind/cfi.h"

#define US_CFI_PART_GAP	  UINT16_MAX /* the index that means "no rule" */
#define US_CFI_PART_RULES UINT16_MAX

/* At most 4 GiB of addresses, and as many rules as 16 bits can number. */
struct us_cfi_part {
	uint64_t start, end;
	uint32_t *off;	/* of row k from start; sorted, off[0] is 0 */
	uint16_t *rule; /* of row k */
	uint32_t n;
	/* bucket[k]: how many rows have off < k << shift; n_bucket + 1 of them. */
	uint32_t *bucket;
	uint32_t n_bucket;
	uint8_t shift;
	uint64_t *border; /* bit k: row k begins a function or a part of one ... */
	uint64_t *entry;  /* ... and is where that is entered */
	bool has_entry;	  /* some bit of entry is set: never in ORC tables */
	struct us_cfi_rule *rules;
	uint32_t n_rule;
};

struct us_cfi_table {
	struct us_cfi_part *part; /* sorted by start */
	size_t n_part;
	struct us_cfi_saved *saved;
	size_t n_saved;
	size_t n_left_out; /* rows */
	uint8_t word;
	bool untrusted;
};

#endif
