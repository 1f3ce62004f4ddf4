/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions.c: see functions.h. */
#include "trace/functions.h"

#include "base/search.h"

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
	size_t next = us_first_not(f->n, mid, f->v[mid].end <= pc);
	return next < f->n && f->v[next].start <= pc ? &f->v[next] : NULL;
}
