/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layers.c: see layers.h. */
#include "cmd/trace/layers.h"

#include "trace/functions.h"

#include <errno.h>
#include <string.h>

_Static_assert(US_MAX_IMAGES <= US_LAYERS, "layers");

/* Do these parts of two images differ where both are? */
static bool codes_differ(const struct us_image *a, const struct us_elf_code *x,
			 const struct us_image *b, const struct us_elf_code *y)
{
	uint64_t begin = x->start + a->bias, other = y->start + b->bias;
	uint64_t from = begin > other ? begin : other;
	uint64_t to = begin + x->filesz < other + y->filesz ? begin + x->filesz
							    : other + y->filesz;
	const uint8_t *of_a = us_elf_image_file(a->elf)->bytes + x->offset;
	const uint8_t *of_b = us_elf_image_file(b->elf)->bytes + y->offset;
	return from < to &&
	       memcmp(of_a + (from - begin), of_b + (from - other), to - from) != 0;
}

static bool images_differ(const struct us_image *a, const struct us_image *b)
{
	const struct us_elf_file *x = us_elf_image_file(a->elf);
	const struct us_elf_file *y = us_elf_image_file(b->elf);
	for (size_t k = 0; k < x->n_code; k++)
		for (size_t m = 0; m < y->n_code; m++)
			if (codes_differ(a, &x->code[k], b, &y->code[m]))
				return true;
	return false;
}

/* The first layer in which it differs from no image before it. */
static unsigned layer_of(const struct us_images *i, const unsigned *layer, size_t k)
{
	bool taken[US_MAX_IMAGES] = { false };
	unsigned first = 0;
	for (size_t m = 0; m < k; m++)
		if (!i->v[m].unproven && images_differ(&i->v[m], &i->v[k]))
			taken[layer[m]] = true;
	while (first < US_MAX_IMAGES - 1 && taken[first])
		first++;
	return first;
}

static uint64_t mix(uint64_t hash, uint64_t x)
{
	return (hash ^ x) * 0x9e3779b97f4a7c15 ^ hash >> 29;
}

static void move(struct us_images *i, size_t image, uint64_t distance)
{
	i->v[image].bias += distance;
	for (size_t k = 0; k < i->n_place; k++)
		if (i->place[k].image == image)
			i->place[k].bias += distance;
}

void us_layers_choose(struct us_images *i)
{
	unsigned layer[US_MAX_IMAGES] = { 0 }, most = 0;
	uint64_t hash = 1;
	for (size_t k = 0; k < i->n; k++) {
		if (i->v[k].unproven)
			continue;
		layer[k] = layer_of(i, layer, k);
		most = layer[k] > most ? layer[k] : most;
		hash = mix(hash, us_elf_image_code_hash(i->v[k].elf));
		hash = mix(hash, i->v[k].bias);
		hash = mix(hash, layer[k]);
	}
	i->layers = most ? hash | 1 : 0;
	for (size_t k = 0; k < i->n; k++)
		move(i, k, us_layer_address(0, layer[k]));
}

int us_layers_check(const struct us_images *i, uint64_t layers, struct us_err *e)
{
	if (i->layers == layers)
		return 0;
	us_fail(e, -EINVAL,
		"the plugin has other images than these, with different code at the "
		"same addresses");
	us_hint(e, "give the same -e, in the same order, as when QEMU was started");
	return -EINVAL;
}
