/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stretches.c: see stretches.h. */
#include "profile/stretches.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void us_stretches_init(struct us_stretches *s)
{
	*s = (struct us_stretches){ .distance = 1 };
}

void us_stretches_fini(struct us_stretches *s)
{
	free(s->v);
	*s = (struct us_stretches){ 0 };
}

static void drop_every_other(struct us_stretches *s)
{
	for (size_t i = 1; i < US_STRETCHES_MAX / 2; i++)
		memcpy(s->v + i * US_STRETCH, s->v + 2 * i * US_STRETCH,
		       US_STRETCH * sizeof(*s->v));
	s->n /= 2;
	s->distance *= 2;
}

int us_stretches_add(struct us_stretches *s, const struct us_stretch_sample *x)
{
	uint64_t stretch = s->seen++ / US_STRETCH;
	if (stretch & (s->distance - 1))
		return 0;
	if (s->n == (size_t)US_STRETCH * US_STRETCHES_MAX) {
		drop_every_other(s);
		if (stretch & (s->distance - 1))
			return 0;
	}
	struct us_stretch_sample *slot = us_vec_push(s);
	if (!slot)
		return -ENOMEM;
	*slot = *x;
	return 0;
}
