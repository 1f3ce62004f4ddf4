/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reserve.h: room for tables of a fixed size, whose pages come into being when they are
 * touched: what counts calls does not allocate while the guest runs. */
#ifndef US_TRACE_RESERVE_H
#define US_TRACE_RESERVE_H

#include <stddef.h>
#include <sys/mman.h>

/* Zeroed; munmap() gives it back.  NULL: there are no addresses left. */
static inline void *us_reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

#endif
