/* SPDX-License-Identifier: GPL-2.0-or-later */
/* function_starts.c: see function_starts.h. */
#include "symbol/function_starts.h"

#include "symbol/function_part.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_PADDING 64 /* bytes: to the next function, where it is aligned */

/* Where code without a symbol begins behind this one; 0: there is none.  A size of 1
 * stands for one that nobody knows. */
static us_gva end_of(const struct us_elf_symbol *sym, uint64_t next)
{
	us_gva end = sym->addr + sym->size;
	return sym->size > 1 && next > end && next - end >= MOST_PADDING ? end : 0;
}

int us_function_starts_take(struct us_function_starts *s,
			    const struct us_elf_symbol *sym, size_t n,
			    uint64_t text_end)
{
	*s = (struct us_function_starts){ 0 };
	s->start = calloc(2 * n + 1, sizeof(*s->start));
	s->part = calloc(2 * n + 1, sizeof(*s->part));
	if (!s->start || !s->part) {
		free(s->start);
		free(s->part);
		*s = (struct us_function_starts){ 0 };
		return -ENOMEM;
	}
	for (size_t k = 0; k < n; k++) {
		s->start[s->n++] = sym[k].addr;
		if (us_is_function_part(sym[k].name))
			s->part[s->n_part++] = sym[k].addr;
		us_gva end = end_of(&sym[k], k + 1 < n ? sym[k + 1].addr : text_end);
		if (end)
			s->part[s->n_part++] = s->start[s->n++] = end;
	}
	return 0;
}
