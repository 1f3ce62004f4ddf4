/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * orc.h: Linux's own unwind tables (ORC), as rules for the unwinder.
 *
 * There are two tables.  orc_unwind_ip has sorted addresses, 4 bytes each, relative to
 * themselves.  orc_unwind has entries of 6 bytes: offsets of the stack pointer and of
 * rbp, and what they are relative to (arch/x86/include/asm/orc_types.h).
 *
 * The meaning of the bits has changed: 6.3 added one for exception frames, 6.4 made new
 * types, 7.0 renumbered the registers.  uniscope detects the version from the entries:
 * nearly all describe call frames whose base is rsp.
 */
#ifndef US_LINUX_ORC_H
#define US_LINUX_ORC_H

#include "linux/kallsyms.h"
#include "unwind/cfi_build.h"

#define US_ORC_ENTRY 6U /* bytes */
#define US_ORC_MOST  (4U << 20)
#define US_ORC_BLANK 8

/* The bytes of both tables; n entries in each. */
struct us_orc {
	const uint8_t *ip, *entry;
	us_gva ip_at; /* address of ip, which its entries are relative to */
	size_t n;
	/* Code that has been freed: a frame there is the outermost, because nothing
	 * there can be checked.  0, 0: none. */
	us_gva gone_start, gone_end;
	/* The code that the tables may be for: rows outside are left out.  All 0: any.
	 */
	struct us_orc_span {
		us_gva start, end;
	} only[2];
	/* Code in which "the end" only means that nothing is known: us_orc_blank(). */
	struct us_orc_span blank[US_ORC_BLANK];
	unsigned n_blank;
};

/* Note the function if its caller is known to the kernel by other means than these
 * tables, which say that it has none. */
void us_orc_blank(struct us_orc *o, const char *name, us_gva start, us_gva end);

struct us_orc_format {
	bool types_of_64;    /* type in three bits: none, end, call, regs, partial */
	bool signal_bit;     /* 6.3 only: the end is in bit 11, not in 10 */
	bool registers_of_7; /* numbered as in 7.0 */
};

/* The address that entry k is for. */
us_gva us_orc_place(const struct us_orc *o, size_t k);

/* False: these are not ORC entries. */
bool us_orc_detect(const struct us_orc *o, struct us_orc_format *ret);

/*
 * Find the kernel's tables by their symbols, or by their form if kallsyms has only
 * functions (no KALLSYMS_ALL).  The tables are trusted if they say of nine in ten
 * functions of the symbol table that the return address is on top of the stack at the
 * start.  -ENOENT: none.
 */
US_MUST_CHECK int us_orc_locate(struct us_linux_image *i, const struct us_kallsyms *k,
				struct us_orc *ret, struct us_orc_format *ret_format);

/* Add rows to b, at the tables' addresses; the last one is a gap.  Entries out of order
 * are left out.  -ENOMEM, -E2BIG. */
US_MUST_CHECK int us_orc_compile(const struct us_orc *o, const struct us_orc_format *f,
				 struct us_cfi_builder *b);

#endif
