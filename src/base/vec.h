/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vec.h: a growable array of any type, for the setup path.
 *
 *	struct { int *v; size_t n, cap; } a = { 0 };
 *	int *slot = us_vec_push(&a);	// NULL: out of memory, a is unchanged
 *
 * The new slot is zeroed.  Free with free(a.v).
 */
#ifndef US_BASE_VEC_H
#define US_BASE_VEC_H

#include <stddef.h>

/* Reserve space for one more element of size bytes; 0 or -ENOMEM. */
int us_vec_grow(void **v, size_t n, size_t *cap, size_t size);

#define us_vec_push(a)                                                                 \
	(us_vec_grow((void **)&(a)->v, (a)->n, &(a)->cap, sizeof(*(a)->v))             \
		 ? NULL                                                                \
		 : &(a)->v[(a)->n++])

#endif
