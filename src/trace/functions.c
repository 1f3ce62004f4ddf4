/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions.c: see functions.h. */
#include "trace/functions.h"

#include "base/search.h"

#include <errno.h>
#include <string.h>

bool us_functions_are_valid(const struct us_functions *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].start >= f->v[i].end)
			return false;
		if (i && f->v[i].start < f->v[i - 1].end)
			return false;
	}
	return true;
}

const struct us_function_range *us_functions_find(const struct us_functions *f,
						  uint64_t pc)
{
	size_t next = us_first_not(f->n, mid, f->v[mid].end <= pc);
	return next < f->n && f->v[next].start <= pc ? &f->v[next] : NULL;
}

static bool codes_are_valid(const struct us_functions *f, size_t size)
{
	for (size_t i = 0; i < f->n_code; i++) {
		const struct us_function_code *c = &f->code[i];
		if (c->start >= c->end || c->offset > size ||
		    c->end - c->start > size - c->offset)
			return false;
		if (i && c->start < f->code[i - 1].end)
			return false;
	}
	return true;
}

/* As the ranges are sorted by address, the layers' are one after the other, except that
 * the upper half of the first one comes last. */
static unsigned count_layers(const struct us_functions *f)
{
	unsigned n = 1;
	for (size_t i = 0; i < f->n; i++) {
		unsigned layer = us_layer_of(f->v[i].entry);
		if (layer >= n && layer < US_LAYERS)
			n = layer + 1;
	}
	return n;
}

int us_functions_parse(const uint8_t *file, size_t size, struct us_functions *ret)
{
	struct us_functions_head h;
	*ret = (struct us_functions){ 0 };
	if (size < sizeof(h))
		return -EBADMSG;
	memcpy(&h, file, sizeof(h));
	if (memcmp(h.magic, US_FUNCTIONS_MAGIC, sizeof(h.magic)))
		return memcmp(h.magic, US_FUNCTIONS_MAGIC, 6) ? -EBADMSG : -EPROTO;
	if (h.n > US_FUNCTIONS_MAX || h.n_code > US_FUNCTION_CODES ||
	    size - sizeof(h) < h.n * sizeof(*ret->v) + h.n_code * sizeof(*ret->code))
		return -EBADMSG;
	const void *ranges = file + sizeof(h);
	const void *codes = file + sizeof(h) + h.n * sizeof(*ret->v);
	*ret = (struct us_functions){ .v = ranges,
				      .n = h.n,
				      .code = codes,
				      .n_code = h.n_code,
				      .file = file,
				      .layers = h.layers };
	ret->n_layer = count_layers(ret);
	return us_functions_are_valid(ret) && codes_are_valid(ret, size) ? 0 : -EBADMSG;
}

const uint8_t *us_functions_bytes(const struct us_functions *f, uint64_t address,
				  uint64_t *ret_n)
{
	size_t i = us_first_not(f->n_code, mid, f->code[mid].end <= address);
	if (i == f->n_code || f->code[i].start > address)
		return NULL;
	*ret_n = f->code[i].end - address;
	return f->file + f->code[i].offset + (address - f->code[i].start);
}
