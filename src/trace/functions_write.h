/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions_write.h: writes the plugin's file of functions from the symbols of
 * images. */
#ifndef US_TRACE_FUNCTIONS_WRITE_H
#define US_TRACE_FUNCTIONS_WRITE_H

#include "symbol/symbol.h"

/* Chooses what to do with a function, by its names: bits of enum us_function_choice. */
struct us_function_chooser {
	uint64_t (*choose)(void *ctx, const struct us_function *f);
	void *ctx;
	bool loops; /* find US_FUNCTION_LOOPS */
};

/* Write the file of functions.h to fd.  chooser NULL: all functions are traced. layers:
 * for its head; the images' biases have them.  *ret_n: number of functions; 0: the
 * images have no symbols. */
US_MUST_CHECK int us_functions_write(const struct us_symbols *s,
				     const struct us_function_chooser *chooser,
				     uint64_t layers, int fd, size_t *ret_n,
				     struct us_err *e);

#endif
