/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions_write.h: the plugin's file of functions, from the symbols of images. */
#ifndef US_TRACE_FUNCTIONS_WRITE_H
#define US_TRACE_FUNCTIONS_WRITE_H

#include "symbol/symbol.h"

/* Write functions.h's file to fd. *ret_n: how many ranges it has; 0: the images have no
 * symbols. */
US_MUST_CHECK int us_functions_write(const struct us_symbols *s, int fd, size_t *ret_n,
				     struct us_err *e);

#endif
