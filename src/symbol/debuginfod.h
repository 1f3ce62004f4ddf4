/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debuginfod.h: debugging information from a server, by build-id (debuginfod(8)).
 *
 * The library of elfutils is loaded at the first request, and only if the user wants
 * it: by naming servers in DEBUGINFOD_URLS, or on the command line, which sets that
 * variable.  The library keeps files in its cache, where debug_file.h finds them
 * without the library.
 */
#ifndef US_SYMBOL_DEBUGINFOD_H
#define US_SYMBOL_DEBUGINFOD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the user's environment name servers? */
bool us_debuginfod_named(void);

struct us_debuginfod; /* a connection, and the failed requests */

US_MUST_CHECK int us_debuginfod_new(struct us_debuginfod **ret); /* 0 or -ENOMEM */
void us_debuginfod_free(struct us_debuginfod *d);		 /* accepts NULL */

/*
 * The path of the file with the symbols of this build.  -ENOENT: no server has it;
 * -ENOTSUP: the library is missing, or no server is named; others: it could not be
 * fetched, *e says why.
 */
US_MUST_CHECK int us_debuginfod_find(struct us_debuginfod *d, const uint8_t *id,
				     size_t len, char *ret, size_t size,
				     struct us_err *e);

#endif
