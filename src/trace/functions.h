/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions.h: the file by which the plugin knows the guest's functions: where their
 * code is.  uniscope writes it, from the symbols of the images.
 *
 *	char magic[8]; uint64_t n;
 *	struct us_function_range [n], sorted by start, none overlaps the next
 *
 * A function may have several ranges: gcc moves what is rarely executed to another
 *place
 * ("f.cold"), which is no function of its own.
 */
#ifndef US_TRACE_FUNCTIONS_H
#define US_TRACE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_FUNCTIONS_MAGIC "USFUNCS3" /* 8 bytes, no NUL */
#define US_FUNCTIONS_MAX   (1U << 24)

/* What is known of a function, and what is done with it: bits. */
enum us_function_choice {
	US_FUNCTION_TRACED = 1,	  /* its entries and exits are written down */
	US_FUNCTION_FROM = 2,	  /* its entry switches that on */
	US_FUNCTION_UNTIL = 4,	  /* and off */
	US_FUNCTION_LOOPS = 8,	  /* its own code jumps to its first instruction */
	US_FUNCTION_VECTORS = 16, /* a table, at whose entries interrupts begin */
};

struct us_function_range {
	uint64_t start, end; /* gva of the first byte and behind the last */
	uint64_t entry;	     /* gva at which the function begins */
	uint8_t code[8];     /* the first bytes, as the image has them; 0: not known */
	uint64_t choice;     /* enum us_function_choice */
};

struct us_functions {
	const struct us_function_range *v; /* sorted */
	size_t n;
};

/* Is it sorted, and without overlap? */
bool us_functions_are_valid(const struct us_functions *f);
/* The range that has pc, or NULL. */
const struct us_function_range *us_functions_find(const struct us_functions *f,
						  uint64_t pc);

#endif
