/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_stubs.h: tables of interrupt stubs, as kernels generate them for the entries of
 * the IDT: each pushes its vector and jumps to code that all have in common.
 *
 *	.rept 256; .align 16; push $0; push $i; jmp common; .endr
 *
 * Often one symbol covers the whole table, or none does, so its form has to tell where
 * interrupts enter.
 */
#ifndef US_TRACE_X86_STUBS_H
#define US_TRACE_X86_STUBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_STUBS_MAX 256 /* entries of an IDT */

/* Code of n bytes at gva pc.  A part of it, from `from` to `to`, is searched; the rest
 * tells what that part jumps to. */
struct us_stub_code {
	const uint8_t *v;
	size_t n;
	uint64_t pc;
	size_t from, to;
};

struct us_stubs {
	unsigned n;
	uint64_t start[US_STUBS_MAX]; /* gva of each stub */
	uint64_t end;		      /* gva after the last one */
	uint64_t target;	      /* gva that they jump to */
	bool first; /* nothing precedes the table in the searched part */
};

/* The first table in this part; false: there is none. */
bool us_x86_find_stubs(const struct us_stub_code *c, struct us_stubs *ret);

#endif
