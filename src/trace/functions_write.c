/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions_write.c: see functions_write.h. */
#include "trace/functions_write.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbol/elf_file.h"
#include "trace/functions.h"
#include "trace/plugin/arch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct named_range {
	struct us_function_range r;
	const struct us_elf_image *image;
	uint64_t bias;
};

struct ranges {
	const struct us_function_chooser *chooser;
	struct named_range *v;
	size_t n, cap;
	bool failed;
};

/* The image's bytes at gva start, at most *ret_n; NULL: none. */
static const uint8_t *code_of(const struct named_range *x, uint64_t start,
			      uint64_t *ret_n)
{
	const struct us_elf_file *file = us_elf_image_file(x->image);
	uint64_t addr = start - x->bias;
	const struct us_elf_code *c = us_elf_file_code(file, addr);
	uint64_t at = c ? addr - c->start : 0;
	if (!c || at >= c->filesz)
		return NULL;
	*ret_n = c->filesz - at;
	return file->bytes + c->offset + at;
}

static void add_code(struct named_range *x)
{
	uint64_t n;
	const uint8_t *code = code_of(x, x->r.start, &n);
	if (code && n >= sizeof(x->r.code))
		memcpy(x->r.code, code, sizeof(x->r.code));
}

static void add_range(void *ctx, const struct us_function *f)
{
	struct ranges *all = ctx;
	struct named_range *x = us_vec_push(all);
	if (!x) {
		all->failed = true;
		return;
	}
	x->r.start = f->start;
	x->r.entry = f->entry;
	x->r.end = f->start + f->size;
	x->image = f->image;
	x->bias = f->bias;
	x->r.choice = all->chooser ? all->chooser->choose(all->chooser->ctx, f)
				   : US_FUNCTION_TRACED;
	add_code(x);
}

static int compare_starts(const void *a, const void *b)
{
	const struct named_range *x = a, *y = b;
	if (x->r.start != y->r.start)
		return x->r.start < y->r.start ? -1 : 1;
	return x->r.end < y->r.end ? -1 : x->r.end > y->r.end;
}

/* The function of x's image that begins at x's entry; NULL: it is not among them. */
static const struct named_range *function_of(const struct ranges *all,
					     const struct named_range *x)
{
	size_t next = us_first_not(all->n, mid, all->v[mid].r.start < x->r.entry);
	for (; next < all->n && all->v[next].r.start == x->r.entry; next++)
		if (all->v[next].image == x->image && all->v[next].bias == x->bias)
			return &all->v[next];
	return NULL;
}

static void join_parts(struct ranges *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct named_range *x = &all->v[i];
		if (x->r.entry == x->r.start)
			continue;
		const struct named_range *f = function_of(all, x);
		if (f)
			x->r.choice = f->r.choice;
		else
			x->r.entry = x->r.start;
	}
}

/* Nested and overlapping ones end where the next begins. */
static void make_disjoint(struct ranges *all)
{
	size_t n = 0;
	for (size_t i = 0; i < all->n; i++) {
		struct named_range x = all->v[i];
		if (x.r.start >= x.r.end)
			continue;
		if (n && all->v[n - 1].r.start == x.r.start)
			n--;
		else if (n && all->v[n - 1].r.end > x.r.start)
			all->v[n - 1].r.end = x.r.start;
		all->v[n++] = x;
	}
	all->n = n;
}

/* Its architecture, and its code of *ret_n bytes; NULL: one of them is not known. */
static const struct us_plugin_arch *arch_of(const struct named_range *x,
					    const uint8_t **ret_code, uint64_t *ret_n)
{
	const struct us_elf_file *file = us_elf_image_file(x->image);
	const struct us_plugin_arch *a = us_plugin_arch_of_machine(file->machine);
	uint64_t size = x->r.end - x->r.start;
	*ret_n = 0;
	*ret_code = a ? code_of(x, x->r.start, ret_n) : NULL;
	if (!*ret_code)
		return NULL;
	*ret_n = *ret_n < size ? *ret_n : size;
	return a;
}

static bool may_loop(const struct named_range *x)
{
	const uint8_t *code;
	uint64_t n;
	const struct us_plugin_arch *a = arch_of(x, &code, &n);
	return a && us_plugin_may_jump_to(a, code, n, x->r.start, x->r.entry);
}

static void find_vectors(const struct ranges *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct us_function_range *r = &all->v[i].r;
		const uint8_t *code;
		uint64_t n;
		const struct us_plugin_arch *a = arch_of(&all->v[i], &code, &n);
		if (a && r->entry == r->start &&
		    us_plugin_is_vectors(a, code, n, r->start))
			r->choice |= US_FUNCTION_VECTORS;
	}
}

/* The code that has x, and x as the part to search. */
static bool stub_code_of(const struct named_range *x, struct us_stub_code *ret)
{
	const struct us_elf_file *file = us_elf_image_file(x->image);
	uint64_t addr = x->r.start - x->bias;
	const struct us_elf_code *c = us_elf_file_code(file, addr);
	if (!c || addr - c->start >= c->filesz)
		return false;
	uint64_t from = addr - c->start, size = x->r.end - x->r.start;
	uint64_t left = c->filesz - from;
	*ret = (struct us_stub_code){ file->bytes + c->offset, c->filesz,
				      c->start + x->bias, from,
				      from + (size < left ? size : left) };
	return true;
}

/* What is left of x begins at start, and is cut there. */
static void cut(struct ranges *out, struct named_range *x, uint64_t start,
		uint64_t entry, uint64_t choice)
{
	if (start > x->r.start) {
		struct named_range *part = us_vec_push(out);
		if (part) {
			*part = *x;
			part->r.end = start;
		}
		out->failed |= !part;
	}
	x->r.start = start;
	x->r.entry = entry;
	x->r.choice = choice;
	memset(x->r.code, 0, sizeof(x->r.code));
	if (start < x->r.end)
		add_code(x);
}

/*
 * Give each stub of a table a range, and the table's function to all of them.  That is
 * the symbol's if the table begins with it or continues such a table; else the symbol
 * is of other code, and the table a function of its own, with what it jumps to behind
 * it.
 */
static void cut_stubs(struct ranges *out, struct named_range *x,
		      const struct us_plugin_arch *a)
{
	const struct us_function_range whole = x->r;
	uint64_t entry = whole.entry;
	struct us_stub_code c;
	struct us_stubs stubs;
	if (!stub_code_of(x, &c))
		return;
	while (a->find_stubs(&c, &stubs)) {
		if (stubs.first)
			x->r.choice |= US_FUNCTION_VECTORS;
		else
			entry = stubs.start[0];
		bool own = entry != whole.entry;
		uint64_t choice = own ? whole.choice & US_FUNCTION_TRACED
				      : whole.choice;
		for (unsigned i = 0; i < stubs.n; i++)
			cut(out, x, stubs.start[i], entry,
			    choice | US_FUNCTION_VECTORS);
		bool tail = stubs.target - stubs.end < whole.end - stubs.end;
		cut(out, x, stubs.end, own && !tail ? whole.entry : entry,
		    whole.choice);
		c.from = stubs.end - c.pc;
	}
}

static void find_stubs(struct ranges *all)
{
	struct ranges out = { 0 };
	for (size_t i = 0; i < all->n && !out.failed; i++) {
		struct named_range x = all->v[i];
		const uint8_t *code;
		uint64_t n;
		const struct us_plugin_arch *a = arch_of(&x, &code, &n);
		if (a && a->find_stubs && x.r.entry == x.r.start)
			cut_stubs(&out, &x, a);
		if (x.r.start < x.r.end)
			cut(&out, &x, x.r.end, 0, 0);
	}
	free(all->v);
	out.chooser = all->chooser;
	*all = out;
}

static struct named_range *range_at(const struct ranges *all, uint64_t start)
{
	size_t next = us_first_not(all->n, mid, all->v[mid].r.start < start);
	return next < all->n && all->v[next].r.start == start ? &all->v[next] : NULL;
}

/* Any part of a function may have a jump to its first instruction. */
static void find_loops(const struct ranges *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct named_range *f = range_at(all, all->v[i].r.entry);
		if (f && may_loop(&all->v[i]))
			f->r.choice |= US_FUNCTION_LOOPS;
	}
	for (size_t i = 0; i < all->n; i++) {
		const struct named_range *f = range_at(all, all->v[i].r.entry);
		if (f)
			all->v[i].r.choice |= f->r.choice & US_FUNCTION_LOOPS;
	}
}

/* ---- The images' code ---- */

struct code {
	struct us_function_code c;
	const uint8_t *bytes;
};

struct codes {
	struct code *v;
	size_t n, cap;
};

static int add_codes(struct codes *to, const struct us_elf_image *image, uint64_t bias)
{
	const struct us_elf_file *file = us_elf_image_file(image);
	for (size_t k = 0; k < file->n_code; k++) {
		const struct us_elf_code *from = &file->code[k];
		uint64_t start = from->start + bias;
		if (!from->filesz || start + from->filesz < start)
			continue;
		struct code *x = us_vec_push(to);
		if (!x)
			return -ENOMEM;
		x->c = (struct us_function_code){ .start = start,
						  .end = start + from->filesz };
		x->bytes = file->bytes + from->offset;
	}
	return 0;
}

static int compare_codes(const void *a, const void *b)
{
	const struct code *x = a, *y = b;
	return x->c.start < y->c.start ? -1 : x->c.start > y->c.start;
}

/* Where images of one layer overlap, they have the same bytes. */
static void lay_out(struct codes *all, uint64_t offset)
{
	uint64_t end = 0;
	size_t n = 0;
	if (all->n)
		qsort(all->v, all->n, sizeof(*all->v), compare_codes);
	for (size_t i = 0; i < all->n && n < US_FUNCTION_CODES; i++) {
		struct code x = all->v[i];
		if (n && x.c.start < end) {
			if (x.c.end <= end)
				continue;
			x.bytes += end - x.c.start;
			x.c.start = end;
		}
		end = x.c.end;
		x.c.offset = offset;
		offset += x.c.end - x.c.start;
		all->v[n++] = x;
	}
	all->n = n;
}

/* An image's ranges mostly follow each other. */
static int find_codes(const struct ranges *all, struct codes *ret)
{
	const struct us_elf_image *image[US_LAYERS] = { NULL };
	uint64_t bias[US_LAYERS];
	size_t n = 0, k = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct named_range *x = &all->v[i];
		if (k < n && image[k] == x->image && bias[k] == x->bias)
			continue;
		for (k = 0; k < n && (image[k] != x->image || bias[k] != x->bias);)
			k++;
		if (k < n || n == US_LAYERS)
			continue;
		image[n] = x->image;
		bias[n++] = x->bias;
		int r = add_codes(ret, x->image, x->bias);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_all(const struct ranges *all, struct codes *codes, uint64_t layers,
		     int fd)
{
	struct us_functions_head h = { .n = all->n, .layers = layers };
	memcpy(h.magic, US_FUNCTIONS_MAGIC, sizeof(h.magic));
	lay_out(codes, 0);
	h.n_code = codes->n;
	uint64_t offset = sizeof(h) + h.n * sizeof(struct us_function_range) +
			  h.n_code * sizeof(struct us_function_code);
	int r = us_write_all(fd, &h, sizeof(h));
	for (size_t i = 0; i < all->n && !r; i++)
		r = us_write_all(fd, &all->v[i].r, sizeof(all->v[i].r));
	for (size_t i = 0; i < codes->n && !r; i++) {
		codes->v[i].c.offset += offset;
		r = us_write_all(fd, &codes->v[i].c, sizeof(codes->v[i].c));
	}
	for (size_t i = 0; i < codes->n && !r; i++)
		r = us_write_all(fd, codes->v[i].bytes,
				 codes->v[i].c.end - codes->v[i].c.start);
	return r;
}

static size_t count_functions(const struct ranges *all)
{
	size_t n = 0;
	for (size_t i = 0; i < all->n; i++)
		n += all->v[i].r.entry == all->v[i].r.start;
	return n;
}

int us_functions_write(const struct us_symbols *s,
		       const struct us_function_chooser *chooser, uint64_t layers,
		       int fd, size_t *ret_n, struct us_err *e)
{
	struct ranges all = { .chooser = chooser };
	struct codes codes = { 0 };
	us_symbols_each_function(s, add_range, &all);
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), compare_starts);
	int r = all.failed ? -ENOMEM : 0;
	join_parts(&all);
	make_disjoint(&all);
	find_stubs(&all);
	find_vectors(&all);
	if (!r && chooser && chooser->loops)
		find_loops(&all);
	if (!r && all.n > US_FUNCTIONS_MAX)
		r = -E2BIG;
	if (!r)
		r = find_codes(&all, &codes);
	if (!r)
		r = write_all(&all, &codes, layers, fd);
	*ret_n = count_functions(&all);
	free(codes.v);
	free(all.v);
	return r ? us_fail(e, r, "tell the plugin the guest's functions: %s",
			   strerror(-r))
		 : 0;
}
