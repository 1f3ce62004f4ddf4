/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions.c: see functions.h. */
#include "trace/functions.h"

bool us_functions_are_valid(const struct us_functions *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].start >= f->v[i].end)
			return false;
		if (i && f->v[i].start < f->v[i - 1].end)
			return false;
	}
	return true;
}

const struct us_function_range *us_functions_find(const struct us_functions *f,
						  uint64_t pc)
{
	size_t low = 0, high = f->n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (f->v[mid].end <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->n && f->v[low].start <= pc ? &f->v[low] : NULL;
}
