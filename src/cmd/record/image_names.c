/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_names.c: see image_names.h. */
#include "cmd/record/image_names.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

struct us_image_names {
	const struct us_images *images;
	struct named_place {
		size_t image;
		uint64_t bias;
		uint32_t number;
	} place[US_MAX_PLACES];
	size_t n_place;
	uint8_t *seen[US_MAX_IMAGES]; /* for each symbol of the image; NULL: none */
	bool failed;		      /* out of memory */
};

int us_image_names_new(const struct us_images *i, struct us_image_names **ret,
		       struct us_err *e)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return us_fail(e, -ENOMEM, "record names: out of memory");
	(*ret)->images = i;
	return 0;
}

void us_image_names_free(struct us_image_names *n)
{
	for (size_t k = 0; n && k < US_MAX_IMAGES; k++)
		free(n->seen[k]);
	free(n);
}

void us_image_names_place(struct us_image_names *n, size_t image, uint64_t bias,
			  uint32_t number)
{
	if (n->n_place < US_MAX_PLACES)
		n->place[n->n_place++] = (struct named_place){ image, bias, number };
}

static void note(struct us_image_names *names, size_t image, us_gva address)
{
	struct us_elf_image *elf = names->images->v[image].elf;
	const struct us_elf_symbol *symbol = us_elf_image_find(elf, address);
	size_t n;
	if (!symbol)
		return;
	const struct us_elf_symbol *all = us_elf_image_symbols(elf, &n);
	if (!names->seen[image])
		names->seen[image] = calloc(n, 1);
	if (names->seen[image])
		names->seen[image][symbol - all] = 1;
	else
		names->failed = true;
}

/* In which address space is not known here: a name too many does no harm. */
void us_image_names_see(struct us_image_names *n, us_gva pc)
{
	for (size_t k = 0; k < n->n_place; k++)
		note(n, n->place[k].image, pc - n->place[k].bias);
}

static int write_image(const struct us_image_names *of, size_t image, uint32_t number,
		       struct us_writer *w, struct us_err *e)
{
	struct {
		struct us_program_name *v;
		size_t n, cap;
	} names = { 0 };
	size_t n;
	const struct us_elf_symbol *all = us_elf_image_symbols(of->images->v[image].elf,
							       &n);
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!of->seen[image][i])
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

int us_image_names_write(const struct us_image_names *n, struct us_writer *w,
			 struct us_err *e)
{
	bool written[US_MAX_IMAGES] = { false };
	int r = 0;
	if (n->failed)
		return us_fail(e, -ENOMEM, "record names: out of memory");
	for (size_t k = 0; k < n->n_place && r == 0; k++) {
		size_t image = n->place[k].image;
		if (!n->seen[image] || written[image])
			continue;
		r = write_image(n, image, n->place[k].number, w, e);
		written[image] = true;
	}
	return r;
}

/* A program counter of a stack, for the writer, which gets no name for it. */
static bool see(void *ctx, us_gva pc, struct us_named *ret)
{
	(void)ret;
	us_image_names_see(ctx, pc);
	return false;
}

/* Under the numbers that us_images_module() gives. */
static void add_places(struct us_image_names *n)
{
	struct us_place place[US_MAX_PLACES];
	size_t n_place = us_images_places(n->images, place);
	for (size_t k = 0; k < n_place; k++)
		if (place[k].match != US_MATCH_NO &&
		    us_images_counts(n->images, &place[k]))
			us_image_names_place(n, place[k].image, place[k].bias,
					     (uint32_t)k + 1);
}

int us_images_write_names(const struct us_images *i, struct us_writer *w,
			  struct us_err *e)
{
	struct us_image_names *n;
	int r = us_image_names_new(i, &n, e);
	if (!n)
		return r;
	add_places(n);
	us_writer_name_by(w, &(struct us_namer){ see, n });
	r = us_writer_flush(w, e);
	us_writer_name_by(w, &(struct us_namer){ 0 });
	if (r == 0)
		r = us_image_names_write(n, w, e);
	us_image_names_free(n);
	return r;
}
