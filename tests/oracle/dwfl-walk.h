/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwfl-walk.h: unwind a guest by libdwfl of elfutils, from the same registers and
 * through the same page tables as us_unwind().  The second opinion.
 */
#ifndef US_ORACLE_DWFL_WALK_H
#define US_ORACLE_DWFL_WALK_H

#include "base/err.h"
#include "guest/paging.h"

#define DWFL_MAX_FRAMES 256

struct dwfl_stack {
	unsigned n;
	bool whole; /* it ended where the tables say that nobody called */
	us_gva pc[DWFL_MAX_FRAMES];
	bool exact[DWFL_MAX_FRAMES]; /* pc is where it was broken off, not a return
					address */
	const char *why;	     /* if not whole: libdwfl's words */
};

struct dwfl_walk;

/* The only image: ELF with its tables, at the address that it was linked for. */
US_MUST_CHECK int dwfl_walk_open(const char *elf, struct us_paging *p,
				 struct dwfl_walk **ret, struct us_err *e);
void dwfl_walk_close(struct dwfl_walk *w); /* accepts NULL */

void dwfl_walk_unwind(struct dwfl_walk *w, const struct us_regs *regs,
		      struct dwfl_stack *out);

/* Does .eh_frame or .debug_frame say anything of this address? */
bool dwfl_walk_has_cfi(struct dwfl_walk *w, us_gva pc);
/* ... and that the caller's rbp is on the stack there? */
bool dwfl_walk_saves_rbp(struct dwfl_walk *w, us_gva pc);

#endif
