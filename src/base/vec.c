/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vec.c: see vec.h. */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int us_vec_grow(void **v, size_t n, size_t *cap, size_t size)
{
	if (n == *cap) {
		size_t bigger = *cap ? *cap * 2 : 8;
		if (bigger > SIZE_MAX / 2 / size)
			return -ENOMEM;
		void *p = realloc(*v, bigger * size);
		if (!p)
			return -ENOMEM;
		*v = p;
		*cap = bigger;
	}
	memset((char *)*v + n * size, 0, size);
	return 0;
}
