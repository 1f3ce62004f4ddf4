/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code_map.c: see code_map.h. */
#include "unwind/code_map.h"

#include "base/search.h"

bool us_code_map_is_part(const struct us_code_map *m, us_gva start)
{
	size_t i = us_first_not(m->n_part, mid, m->part[mid] < start);
	return i < m->n_part && m->part[i] == start;
}

static bool is_cut(const struct us_code_map *m, us_gva at)
{
	size_t i = us_first_not(m->n, mid, m->start[mid] < at);
	if (i == m->n || m->start[i] != at)
		return false;
	return us_code_map_is_part(m, at) ||
	       (i && us_code_map_is_part(m, m->start[i - 1]));
}

bool us_code_map_is_cut(const struct us_code_map *map, us_gpa root, us_gva pc)
{
	for (const struct us_code_map *m = map; m; m = m->next)
		if ((!m->root || m->root == root) && is_cut(m, pc - m->bias))
			return true;
	return false;
}
