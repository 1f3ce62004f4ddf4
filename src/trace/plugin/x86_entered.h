/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_entered.h: was that an interrupt?  Decided from the stack at a function's entry,
 * and from the processor's interrupt table.
 */
#ifndef US_TRACE_X86_ENTERED_H
#define US_TRACE_X86_ENTERED_H

#include "trace/track.h"

#define US_X86_WORDS 6 /* an error code, and what an interrupt pushes */

struct us_x86_entered {
	uint64_t sp; /* before the function's first instruction */
	const struct us_track_entering *e;
	int gate;	/* 1: a gate leads to it; 0: none does; -1: not known */
	bool has_words; /* the words at sp are known */
	uint64_t word[US_X86_WORDS];
};

enum us_track_how us_x86_entered(const struct us_x86_entered *x);

/* Does a gate of this table, of 64-bit or 32-bit code, lead to pc? */
bool us_x86_has_gate(const uint8_t *table, size_t n, uint64_t pc);

#endif
