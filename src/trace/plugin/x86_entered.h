/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_entered.h: was that an interrupt?  By what lies on the stack where a function is
 * entered, and by the processor's table of interrupts.
 */
#ifndef US_TRACE_X86_ENTERED_H
#define US_TRACE_X86_ENTERED_H

#include "trace/track.h"

#define US_X86_WORDS 6 /* an error code, and what an interrupt pushes */

struct us_x86_entered {
	uint64_t sp; /* before the function's first instruction */
	const struct us_track_entering *e;
	int gate;	/* a gate leads there: 1; none does: 0; not known: -1 */
	bool has_words; /* these, at sp, are known */
	uint64_t word[US_X86_WORDS];
};

enum us_track_how us_x86_entered(const struct us_x86_entered *x);

/* Does a gate of this table, of 64-bit or of 32-bit code, lead to pc? */
bool us_x86_has_gate(const uint8_t *table, size_t n, uint64_t pc);

#endif
