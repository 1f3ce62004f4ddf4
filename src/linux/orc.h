/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * orc.h: Linux's own unwind tables (ORC), as rules of the unwinder.
 *
 * Two tables: orc_unwind_ip, sorted, of places (4 bytes each, relative to themselves),
 * and orc_unwind, of 6 bytes each: offsets of the stack pointer and of rbp, and what
 * they are offsets from (arch/x86/include/asm/orc_types.h).  What the bits say has
 * changed: 6.3 added one for exception frames, 6.4 made new types, 7.0 gave the
 * registers other numbers.  Which it is, the entries show: nearly all are frames of
 * calls and have their base in rsp.
 */
#ifndef US_LINUX_ORC_H
#define US_LINUX_ORC_H

#include "linux/kallsyms.h"
#include "unwind/cfi_build.h"

#define US_ORC_ENTRY 6U /* bytes */
#define US_ORC_MOST  (4U << 20)

/* The bytes of both tables; n entries in each. */
struct us_orc {
	const uint8_t *ip, *entry;
	us_gva ip_at; /* address of ip: what its places are relative to */
	size_t n;
	/* Code that has been freed: what it called is looked at no further, for
	 * nothing there can be checked. 0, 0: none. */
	us_gva gone_start, gone_end;
};

struct us_orc_format {
	bool types_of_64;    /* type in three bits: none, end, call, regs, partial */
	bool signal_bit;     /* 6.3 alone: the end is in bit 11, not in 10 */
	bool registers_of_7; /* numbered as of 7.0 */
};

/* Address of entry k. */
us_gva us_orc_place(const struct us_orc *o, size_t k);

/* False: these are no entries. */
bool us_orc_detect(const struct us_orc *o, struct us_orc_format *ret);

/*
 * Find the kernel's tables: by their symbols, or, where kallsyms has functions only
 * (no KALLSYMS_ALL), by their form.  Trusted if nine of ten functions of the symbol
 * table begin with the return address on top of the stack.  -ENOENT: none.
 */
US_MUST_CHECK int us_orc_locate(struct us_linux_image *i, const struct us_kallsyms *k,
				struct us_orc *ret, struct us_orc_format *ret_format);

/* Add rows to b, at the tables' addresses; ends with a gap.  Places that do not rise
 * are left out.  -ENOMEM, -E2BIG. */
US_MUST_CHECK int us_orc_compile(const struct us_orc *o, const struct us_orc_format *f,
				 struct us_cfi_builder *b);

#endif
