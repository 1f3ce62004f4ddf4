/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/perf_images.c: see perf_images.h. */
#include "import/perf_images.h"

#include "base/vec.h"
#include "store/limits.h"
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is needed of a file, which is closed again: there may be thousands. */
struct us_perf_image {
	struct us_elf_code *code;
	size_t n_code;
	uint8_t build_id[US_BUILD_ID_MAX];
	uint8_t build_id_len;
};

bool us_perf_area_has_file(const struct us_perf_area *a)
{
	return a->path[0] == '/' && a->path[1] != '/' &&
	       strlen(a->path) < US_STORE_MAX_PATH;
}

static int look_at_file(const char *path, struct us_perf_image *ret)
{
	struct us_elf_image *image = NULL;
	size_t len = 0;
	if (us_elf_image_open(path, &image, NULL))
		return 0;
	const struct us_elf_file *f = us_elf_image_file(image);
	const uint8_t *id = us_elf_image_build_id(image, &len);
	ret->code = calloc(f->n_code + 1, sizeof(*ret->code));
	if (ret->code && f->n_code)
		memcpy(ret->code, f->code, f->n_code * sizeof(*ret->code));
	ret->n_code = ret->code ? f->n_code : 0;
	if (len && len <= sizeof(ret->build_id)) {
		memcpy(ret->build_id, id, len);
		ret->build_id_len = (uint8_t)len;
	}
	us_elf_image_close(image);
	return ret->code ? 0 : -ENOMEM;
}

static const struct us_perf_image *image_at(struct us_perf_images *x, const char *path)
{
	uint32_t number = us_name_set_at(&x->paths, path);
	if (number == US_NAME_NONE)
		return NULL;
	if (number == x->n) {
		struct us_perf_image *slot = us_vec_push(x);
		if (!slot || look_at_file(path, slot))
			return NULL;
	}
	return number < x->n ? &x->v[number] : NULL;
}

/* The distance of a file from its linked addresses; a maps a part of it. */
static uint64_t bias_of(const struct us_perf_image *f, const struct us_perf_area *a)
{
	uint64_t len = a->end - a->start;
	for (size_t i = 0; i < f->n_code; i++) {
		const struct us_elf_code *c = &f->code[i];
		if (c->offset >= a->offset && c->offset - a->offset < len)
			return a->start + (c->offset - a->offset) - c->start;
	}
	/* What a later mapping left of it may begin in the middle of the code. */
	for (size_t i = 0; i < f->n_code; i++) {
		const struct us_elf_code *c = &f->code[i];
		if (a->offset > c->offset && a->offset - c->offset < c->filesz)
			return a->start - (a->offset - c->offset) - c->start;
	}
	return a->start - a->offset;
}

int us_perf_images_write(struct us_perf_images *x, const struct us_perf_area *a,
			 us_gpa root, struct us_writer *w, struct us_err *e)
{
	struct us_module m = { .start = a->start,
			       .end = a->end,
			       .root = root,
			       .build_id_len = a->build_id_len,
			       .path = a->path };
	if (x->n_module == US_PERF_MOST_MODULES) {
		us_limit_reached(x->limits, US_LIMIT_IMPORTED, US_PERF_MOST_MODULES);
		return 0;
	}
	const struct us_perf_image *f = image_at(x, a->path);
	if (!f)
		return us_fail(e, -ENOMEM, "import: out of memory");
	m.bias = bias_of(f, a);
	m.number = ++x->n_module;
	if (a->build_id_len)
		memcpy(m.build_id, a->build_id, a->build_id_len);
	if (a->build_id_len && f->build_id_len == a->build_id_len &&
	    !memcmp(f->build_id, a->build_id, a->build_id_len))
		m.match = US_MATCH_YES;
	return us_writer_module(w, &m, e);
}

void us_perf_images_fini(struct us_perf_images *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->v[i].code);
	free(x->v);
	us_name_set_fini(&x->paths);
}
