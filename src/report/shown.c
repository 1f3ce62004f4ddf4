/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shown.c: see shown.h. */
#include "report/shown.h"

#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int us_shown_begin(struct us_shown *s, size_t n)
{
	free(s->weight);
	s->weight = NULL;
	s->n = s->far.n = 0;
	s->last_us = 0;
	if (n <= s->room)
		return 0;
	n += n / 8; /* the next thread reuses it */
	free(s->v);
	s->v = malloc(n * sizeof(*s->v));
	s->room = s->v ? n : 0;
	return s->v ? 0 : -ENOMEM;
}

void us_shown_fini(struct us_shown *s)
{
	free(s->v);
	free(s->weight);
	free(s->far.v);
	*s = (struct us_shown){ 0 };
}

static bool has_weights(struct us_shown *s)
{
	if (s->weight)
		return true;
	s->weight = malloc(s->room * sizeof(*s->weight));
	for (size_t i = 0; s->weight && i < s->n; i++)
		s->weight[i] = 1;
	return s->weight != NULL;
}

int us_shown_add_rare(struct us_shown *s, uint64_t us, uint32_t node, uint32_t weight)
{
	if (us >= US_SHOWN_FAR) {
		struct us_shown_far *far = us_vec_push(&s->far);
		if (!far)
			return -ENOMEM;
		*far = (struct us_shown_far){ s->n, us };
		us = US_SHOWN_FAR;
	}
	if ((weight != 1 || s->weight) && !has_weights(s))
		return -ENOMEM;
	if (s->weight)
		s->weight[s->n] = weight;
	s->v[s->n++] = (struct us_shown_sample){ node, (uint32_t)us };
	return 0;
}

void us_shown_deltas(const struct us_shown *s, size_t from, size_t n, uint64_t *ret)
{
	size_t far = us_first_not(s->far.n, mid, s->far.v[mid].at < from);
	for (size_t i = 0; i < n; i++) {
		ret[i] = s->v[from + i].us;
		if (far < s->far.n && s->far.v[far].at == from + i)
			ret[i] = s->far.v[far++].us;
	}
}

void us_shown_weights(const struct us_shown *s, size_t from, size_t n, uint64_t *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = s->weight ? s->weight[from + i] : 1;
}
