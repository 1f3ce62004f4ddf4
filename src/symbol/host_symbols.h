/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host_symbols.h: the functions of this host's kernel, from /proc/kallsyms. */
#ifndef US_SYMBOL_HOST_SYMBOLS_H
#define US_SYMBOL_HOST_SYMBOLS_H

#include "base/err.h"
#include "guest/regs.h"

#include <stddef.h>

struct us_host_symbols {
	struct us_host_symbol {
		us_hva start;
		uint64_t size;
		uint32_t name,
			module; /* offsets in text; module 0: the kernel itself */
	} * v;			/* sorted by start, one for each address */
	size_t n, cap;
	char *text;
	size_t text_n, text_cap;
};

/* -EPERM: the kernel hides addresses from this process. */
US_MUST_CHECK int us_host_symbols_read(struct us_host_symbols *k, const char *path,
				       struct us_err *e);
void us_host_symbols_fini(struct us_host_symbols *k); /* accepts a zeroed one */

/* The function that covers pc, or NULL. */
const struct us_host_symbol *us_host_symbols_find(const struct us_host_symbols *k,
						  us_hva pc);
/* The function of this name, or NULL. */
const struct us_host_symbol *us_host_symbols_named(const struct us_host_symbols *k,
						   const char *name);

#endif
