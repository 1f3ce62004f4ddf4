/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reserve.h: memory for tables of a fixed size, whose pages are allocated when they are
 * touched.  Code that counts calls must not allocate while the guest runs. */
#ifndef US_TRACE_RESERVE_H
#define US_TRACE_RESERVE_H

#include <stddef.h>
#include <sys/mman.h>

/* Zeroed; free it with munmap().  NULL: out of address space. */
static inline void *us_reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

#endif
