/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions.h: the file that tells the plugin where the guest's functions are.
 * uniscope writes it from the symbols of the images.
 *
 *	struct us_functions_head
 *	struct us_function_range [n], sorted by start, none overlaps the next
 *	struct us_function_code  [n_code], likewise
 *	the bytes of that code
 *
 * Programs may have different code at the same addresses.  Each image whose code
 *differs from that of one before it, at addresses of both, is in another layer: all its
 * addresses are moved by a multiple of US_LAYER, here, in counts and in recordings.
 *
 * A function may have several ranges: compilers move some of its code elsewhere
 * ("f.cold": function_part.h), which is not a function of its own.  A table of
 * interrupt stubs (plugin/x86_stubs.h) has a range for each stub, and is one function.
 */
#ifndef US_TRACE_FUNCTIONS_H
#define US_TRACE_FUNCTIONS_H

#include "guest/layer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_FUNCTIONS_MAGIC "USFUNCS4" /* 8 bytes, no NUL */
#define US_FUNCTIONS_MAX   (1U << 24)
#define US_FUNCTION_CODES  (1U << 16) /* at most */

struct us_functions_head {
	char magic[8];
	uint64_t n, n_code;
	uint64_t layers; /* identifies the choice of layers; 0: there is only one */
};

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

/* Code of an image as it is in the image. */
struct us_function_code {
	uint64_t start, end;
	uint64_t offset; /* of its bytes in the file of functions */
};

struct us_functions {
	const struct us_function_range *v; /* sorted */
	size_t n;
	const struct us_function_code *code; /* sorted */
	size_t n_code;
	const uint8_t *file; /* what the offsets are in */
	uint64_t layers;     /* as in the head */
	unsigned n_layer;    /* 0: as 1 */
};

/* Are the ranges sorted, without overlap? */
bool us_functions_are_valid(const struct us_functions *f);
/* Takes the file of functions, size bytes, which stay the caller's and in place.  0 or
 * -EBADMSG; -EPROTO: another version's. */
int us_functions_parse(const uint8_t *file, size_t size, struct us_functions *ret);
/* The image's bytes at address, *ret_n of them; NULL: not known. */
const uint8_t *us_functions_bytes(const struct us_functions *f, uint64_t address,
				  uint64_t *ret_n);
/* The range that contains pc, or NULL. */
const struct us_function_range *us_functions_find(const struct us_functions *f,
						  uint64_t pc);

#endif
