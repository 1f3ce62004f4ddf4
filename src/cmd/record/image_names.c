/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_names.c: see image_names.h. */
#include "cmd/record/image_names.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

struct sampled {
	const struct us_images *images;
	struct us_place place[US_MAX_PLACES];
	size_t n_place;
	uint8_t *seen[US_MAX_IMAGES]; /* for each symbol of the image; NULL: none */
	bool failed;		      /* out of memory */
};

static void note(struct sampled *s, size_t image, us_gva address)
{
	struct us_elf_image *elf = s->images->v[image].elf;
	const struct us_elf_symbol *symbol = us_elf_image_find(elf, address);
	size_t n;
	if (!symbol)
		return;
	const struct us_elf_symbol *all = us_elf_image_symbols(elf, &n);
	if (!s->seen[image])
		s->seen[image] = calloc(n, 1);
	if (s->seen[image])
		s->seen[image][symbol - all] = 1;
	else
		s->failed = true;
}

/* A program counter of a stack.  In which address space is not known here: a name too
 * many does no harm. */
static bool note_all(void *ctx, us_gva pc, struct us_named *ret)
{
	struct sampled *s = ctx;
	(void)ret;
	for (size_t k = 0; k < s->n_place; k++) {
		const struct us_place *p = &s->place[k];
		if (p->match != US_MATCH_NO && us_images_counts(s->images, p))
			note(s, p->image, pc - p->bias);
	}
	return false;
}

static int write_image(const struct sampled *s, size_t image, uint32_t number,
		       struct us_writer *w, struct us_err *e)
{
	struct {
		struct us_program_name *v;
		size_t n, cap;
	} names = { 0 };
	size_t n;
	const struct us_elf_symbol *all = us_elf_image_symbols(s->images->v[image].elf,
							       &n);
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!s->seen[image][i])
			continue;
		struct us_program_name *slot = us_vec_push(&names);
		if (slot)
			*slot = (struct us_program_name){ .file = number,
							  .address = all[i].addr,
							  .size = all[i].size,
							  .name = all[i].name };
		else
			r = us_fail(e, -ENOMEM, "record names: out of memory");
	}
	if (r == 0)
		r = us_writer_image_names(w, names.v, names.n, e);
	free(names.v);
	return r;
}

/* By the number of the first of the image's modules: us_images_module(). */
static int write_all(struct sampled *s, struct us_writer *w, struct us_err *e)
{
	int r = 0;
	for (size_t k = 0; k < s->n_place && r == 0; k++) {
		size_t image = s->place[k].image;
		if (!s->seen[image] || !us_images_counts(s->images, &s->place[k]))
			continue;
		r = write_image(s, image, (uint32_t)k + 1, w, e);
		free(s->seen[image]);
		s->seen[image] = NULL;
	}
	return r;
}

int us_images_write_names(const struct us_images *i, struct us_writer *w,
			  struct us_err *e)
{
	struct sampled *s = calloc(1, sizeof(*s));
	if (!s)
		return us_fail(e, -ENOMEM, "record names: out of memory");
	s->images = i;
	s->n_place = us_images_places(i, s->place);
	us_writer_name_by(w, &(struct us_namer){ note_all, s });
	int r = us_writer_flush(w, e);
	us_writer_name_by(w, &(struct us_namer){ 0 });
	if (r == 0 && s->failed)
		r = us_fail(e, -ENOMEM, "record names: out of memory");
	if (r == 0)
		r = write_all(s, w, e);
	for (size_t k = 0; k < US_MAX_IMAGES; k++)
		free(s->seen[k]);
	free(s);
	return r;
}
