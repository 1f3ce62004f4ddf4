/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slide.c: see slide.h. */
#include "trace/plugin/slide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_code(const void *a, const void *b)
{
	uint64_t x = ((const struct us_slide_function *)a)->code;
	uint64_t y = ((const struct us_slide_function *)b)->code;
	return (x > y) - (x < y);
}

/* Functions that begin with the same code as another prove nothing. */
static void drop_alike(struct us_slide *s)
{
	size_t n = 0;
	for (size_t i = 0, next; i < s->n; i = next) {
		for (next = i + 1; next < s->n && s->v[next].code == s->v[i].code;)
			next++;
		if (next == i + 1)
			s->v[n++] = s->v[i];
	}
	s->n = n;
}

int us_slide_init(struct us_slide *s, const struct us_functions *f)
{
	*s = (struct us_slide){ .v = calloc(f->n + 1, sizeof(*s->v)) };
	if (!s->v)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++) {
		const struct us_function_range *r = &f->v[i];
		struct us_slide_function x = { .entry = r->entry };
		memcpy(&x.code, r->code, sizeof(x.code));
		if (x.code && r->start == r->entry && !us_layer_of(r->entry) &&
		    r->end - r->start >= sizeof(x.code))
			s->v[s->n++] = x;
	}
	qsort(s->v, s->n, sizeof(*s->v), by_code);
	drop_alike(s);
	return 0;
}

void us_slide_fini(struct us_slide *s)
{
	free(s->v);
	*s = (struct us_slide){ 0 };
}

/* One more function is at this distance; a new distance replaces the one with the
 * fewest. */
static struct us_slide_place *vote(struct us_slide *s, uint64_t distance)
{
	struct us_slide_place *least = s->place;
	for (unsigned i = 0; i < US_SLIDES; i++) {
		struct us_slide_place *p = &s->place[i];
		if (p->votes && p->distance == distance) {
			p->votes++;
			return p;
		}
		if (p->votes < least->votes)
			least = p;
	}
	*least = (struct us_slide_place){ distance, 1 };
	return least;
}

const struct us_slide_place *us_slide_see(struct us_slide *s, uint64_t pc,
					  const uint8_t code[static sizeof(uint64_t)])
{
	struct us_slide_function key = { 0 };
	memcpy(&key.code, code, sizeof(key.code));
	struct us_slide_function *f =
		s->n ? bsearch(&key, s->v, s->n, sizeof(*s->v), by_code) : NULL;
	if (!f || f->seen || (pc - f->entry) % US_SLIDE_PAGE)
		return NULL;
	f->seen = true;
	const struct us_slide_place *p = vote(s, pc - f->entry);
	return p->votes >= US_SLIDE_VOTES ? p : NULL;
}
