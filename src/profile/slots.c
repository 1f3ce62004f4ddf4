/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slots.c: see slots.h. */
#include "profile/slots.h"

#include <errno.h>
#include <stdlib.h>

static void put(struct us_slots *s, const struct us_slot *x)
{
	struct us_slot *to = us_slots_first(s, x->hash);
	while (to->number)
		to = us_slots_next(s, to);
	*to = *x;
}

int us_slots_make_room(struct us_slots *s, size_t n_number)
{
	if (n_number * 2 < s->n)
		return 0;
	struct us_slots bigger = { .n = s->n ? s->n * 2 : 1024 };
	bigger.v = calloc(bigger.n, sizeof(*bigger.v));
	if (!bigger.v)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].number)
			put(&bigger, &s->v[i]);
	free(s->v);
	*s = bigger;
	return 0;
}

void us_slots_fini(struct us_slots *s)
{
	free(s->v);
	*s = (struct us_slots){ 0 };
}
