/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions.h: the file that tells the plugin where the guest's functions are.
 * uniscope writes it from the symbols of the images.
 *
 *	char magic[8]; uint64_t n;
 *	struct us_function_range [n], sorted by start, none overlaps the next
 *
 * A function may have several ranges: gcc moves rarely executed code elsewhere
 * ("f.cold"), which is not a function of its own.  A table of interrupt stubs
 * (plugin/x86_stubs.h) has a range for each stub, and is one function.
 */
#ifndef US_TRACE_FUNCTIONS_H
#define US_TRACE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_FUNCTIONS_MAGIC "USFUNCS3" /* 8 bytes, no NUL */
#define US_FUNCTIONS_MAX   (1U << 24)

/* What is known about a function, and what to do with it: bits. */
enum us_function_choice {
	US_FUNCTION_TRACED = 1,	  /* write its entries and exits */
	US_FUNCTION_FROM = 2,	  /* its entry switches tracing on */
	US_FUNCTION_UNTIL = 4,	  /* its entry switches tracing off */
	US_FUNCTION_LOOPS = 8,	  /* its code jumps to its own first instruction */
	US_FUNCTION_VECTORS = 16, /* a table of entries at which interrupts begin */
};

struct us_function_range {
	uint64_t start, end; /* gva of the first byte, and after the last */
	uint64_t entry;	     /* gva of the function's first instruction */
	uint8_t code[8];     /* its first bytes in the image; 0: not known */
	uint64_t choice;     /* enum us_function_choice */
};

struct us_functions {
	const struct us_function_range *v; /* sorted */
	size_t n;
};

/* Are the ranges sorted, without overlap? */
bool us_functions_are_valid(const struct us_functions *f);
/* The range that contains pc, or NULL. */
const struct us_function_range *us_functions_find(const struct us_functions *f,
						  uint64_t pc);

#endif
