/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symbol.c: the set of images, look-ups in it and what they found. */
#include "symbol/symbol.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/dwarf_lines.h"
#include "symbol/elf_file.h"

#include <errno.h>
#include <string.h>

#define MAX_CHAIN 64 /* frames at one address; deeper inlining is cut at the caller */

struct module {
	struct us_elf_image *image;
	const char *name;
	uint64_t bias;
	struct us_dwarf *dwarf; /* NULL: none, or not tried yet */
	bool tried;
};

/* What a look-up found, by its arguments: open addressing, never more than half full.
 * Empty: not used. */
struct found {
	us_gva pc;
	uint32_t first; /* in frames */
	uint8_t n;
	bool is_return, used;
};

struct us_symbols {
	struct {
		struct module *v;
		size_t n, cap;
	} modules;
	struct {
		struct us_frame *v;
		size_t n, cap;
	} frames;
	struct found *found;
	size_t n_found, n_slot; /* n_slot: 0 or a power of two */
};

int us_symbols_new(struct us_symbols **ret, struct us_err *e)
{
	struct us_symbols *s = calloc(1, sizeof(*s));
	if (!s)
		return us_fail(e, -ENOMEM, "no memory for symbols");
	*ret = s;
	return 0;
}

static void close_module(struct module *m)
{
	us_dwarf_close(m->dwarf);
	us_elf_image_close(m->image);
}

void us_symbols_free(struct us_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->modules.n; i++)
		close_module(&s->modules.v[i]);
	free(s->modules.v);
	free(s->frames.v);
	free(s->found);
	free(s);
}

/* A new image may name what was unknown. */
static void forget(struct us_symbols *s)
{
	free(s->found);
	s->found = NULL;
	s->n_slot = s->n_found = s->frames.n = 0;
}

int us_symbols_add(struct us_symbols *s, struct us_elf_image *i, uint64_t bias,
		   struct us_err *e)
{
	const char *path = us_elf_image_path(i);
	struct module *m = us_vec_push(&s->modules);
	if (!m) {
		us_fail(e, -ENOMEM, "no memory to add image %s", path);
		us_elf_image_close(i);
		return -ENOMEM;
	}
	const char *slash = strrchr(path, '/');
	*m = (struct module){
		.image = i,
		.name = slash && slash[1] ? slash + 1 : path,
		.bias = bias,
	};
	forget(s);
	return 0;
}

/* The image with a symbol at pc, else one with code there. */
static struct module *module_at(struct us_symbols *s, us_gva pc)
{
	struct module *second = NULL;
	for (size_t i = 0; i < s->modules.n; i++) {
		struct module *m = &s->modules.v[i];
		if (us_elf_image_find(m->image, pc - m->bias))
			return m;
		if (!second &&
		    us_elf_file_code(us_elf_image_file(m->image), pc - m->bias))
			second = m;
	}
	return second;
}

static struct us_dwarf *dwarf_of(struct module *m)
{
	if (!m->tried) {
		m->tried = true;
		m->dwarf = us_dwarf_open(us_elf_image_file(m->image));
	}
	return m->dwarf;
}

/* What DWARF leaves open of the function itself: the symbol's name (that of a clone
 * differs), where it starts, and for assembly the line of its start. */
static void complete_outer(struct module *m, const struct us_elf_symbol *sym,
			   struct us_frame *outer)
{
	const char *file;
	uint32_t line;
	if (!sym)
		return;
	outer->func = sym->name;
	outer->start = sym->addr;
	if (!outer->decl_line && outer->file &&
	    us_dwarf_line(m->dwarf, sym->addr, &file, &line) && file &&
	    !strcmp(file, outer->file))
		outer->decl_line = line;
}

static size_t describe(struct module *m, us_gva pc, struct us_frame *ret)
{
	uint64_t addr = pc - m->bias;
	struct us_dwarf *dwarf = dwarf_of(m);
	size_t n = dwarf ? us_dwarf_lookup(dwarf, addr, ret, MAX_CHAIN) : 0;
	if (!n)
		ret[n++] = (struct us_frame){ 0 };
	struct us_frame *outer = &ret[n - 1];
	outer->inlined = false; /* also if the chain was cut */
	complete_outer(m, us_elf_image_find(m->image, addr), outer);
	if (outer->start)
		outer->start += m->bias;
	for (size_t i = 0; i < n; i++) {
		ret[i].module = m->name;
		ret[i].start = outer->start;
	}
	return n;
}

/* Fibonacci hashing; the low bits of code addresses alone are uneven. */
static struct found *slot_of(struct found *v, size_t n_slot, us_gva pc, bool is_return)
{
	size_t i = (size_t)((pc * 2 + is_return) * 0x9e3779b97f4a7c15ULL >> 20);
	for (;; i++) {
		struct found *f = &v[i & (n_slot - 1)];
		if (!f->used || (f->pc == pc && f->is_return == is_return))
			return f;
	}
}

static int grow(struct us_symbols *s)
{
	if (s->n_found * 2 < s->n_slot)
		return 0;
	size_t n = s->n_slot ? s->n_slot * 2 : 1024;
	struct found *v = calloc(n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_slot; i++)
		if (s->found[i].used)
			*slot_of(v, n, s->found[i].pc,
				 s->found[i].is_return) = s->found[i];
	free(s->found);
	s->found = v;
	s->n_slot = n;
	return 0;
}

/* Without memory the answer is right all the same, only found anew each time. */
static void remember(struct us_symbols *s, us_gva pc, bool is_return,
		     const struct us_frame *frames, size_t n)
{
	size_t first = s->frames.n;
	if (first + n > UINT32_MAX || grow(s) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		struct us_frame *f = us_vec_push(&s->frames);
		if (!f) {
			s->frames.n = first;
			return;
		}
		*f = frames[i];
	}
	*slot_of(s->found, s->n_slot, pc, is_return) =
		(struct found){ pc, (uint32_t)first, (uint8_t)n, is_return, true };
	s->n_found++;
}

static size_t copy(struct us_frame *ret, size_t max, const struct us_frame *from,
		   size_t n)
{
	if (n > max)
		n = max;
	if (n)
		memcpy(ret, from, n * sizeof(*ret));
	return n;
}

size_t us_symbols_lookup(struct us_symbols *s, us_gva pc, bool is_return,
			 struct us_frame *ret, size_t max)
{
	if (s->n_slot) {
		const struct found *f = slot_of(s->found, s->n_slot, pc, is_return);
		if (f->used)
			return copy(ret, max, s->frames.v + f->first, f->n);
	}
	struct us_frame frames[MAX_CHAIN];
	us_gva at = is_return ? pc - 1 : pc;
	struct module *m = module_at(s, at);
	size_t n = m ? describe(m, at, frames) : 0;
	remember(s, pc, is_return, frames, n);
	return copy(ret, max, frames, n);
}

const char *us_symbols_incomplete(const struct us_symbols *s)
{
	for (size_t i = 0; i < s->modules.n; i++)
		if (s->modules.v[i].dwarf && us_dwarf_exhausted(s->modules.v[i].dwarf))
			return s->modules.v[i].name;
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	us_gva x = *(const us_gva *)a, y = *(const us_gva *)b;
	return x < y ? -1 : x > y;
}

int us_symbols_function_starts(const struct us_symbols *s, us_gva **ret, size_t *ret_n)
{
	size_t total = 0, n = 0, n_image;
	for (size_t i = 0; i < s->modules.n; i++) {
		us_elf_image_symbols(s->modules.v[i].image, &n_image);
		total += n_image;
	}
	us_gva *v = calloc(total + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->modules.n; i++) {
		const struct module *m = &s->modules.v[i];
		const struct us_elf_symbol *sym = us_elf_image_symbols(m->image,
								       &n_image);
		for (size_t k = 0; k < n_image; k++)
			v[n++] = sym[k].addr + m->bias;
	}
	qsort(v, n, sizeof(*v), by_address);
	size_t unique = 0;
	for (size_t i = 0; i < n; i++)
		if (!unique || v[unique - 1] != v[i])
			v[unique++] = v[i];
	*ret = v;
	*ret_n = unique;
	return 0;
}
