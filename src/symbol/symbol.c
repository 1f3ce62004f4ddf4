/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symbol.c: the set of images, look-ups in it, and their results. */
#include "symbol/symbol.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/dwarf_elf.h"
#include "symbol/dwarf_lines.h"
#include "symbol/elf_cfi.h"
#include "symbol/elf_file.h"
#include "symbol/function_part.h"
#include "symbol/name_cache.h"
#include "symbol/namesakes.h"
#include "symbol/place_index.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_FOUND (1U << 16) /* look-ups remembered */
#define MAX_CHAIN 64 /* frames at one address; deeper inlining is cut at the caller */

struct module {
	struct us_elf_image *image;
	const char *name;
	struct us_dwarf *dwarf; /* NULL: none, or not tried yet */
	bool tried;
	uint32_t *namesake; /* by symbol; NULL: not counted yet, or no memory */
	bool numbered;
	uint32_t *part_of; /* by symbol; NULL: not sought yet, or no memory */
	bool sought;
};

struct place {
	size_t module;
	struct us_symbol_place at;
};

/* Results of look-ups, by their arguments: open addressing, never more than half full.
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
		struct place *v;
		size_t n, cap;
	} places;
	struct us_place_index index; /* of the first index.n places */
	struct {
		struct us_frame *v;
		size_t n, cap;
	} frames;
	struct found *found;
	size_t n_found, n_slot; /* n_slot: 0 or a power of two */
	struct us_name_cache names;
	bool demangle;
	struct us_symbol_namer namer;
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
	free(m->namesake);
	free(m->part_of);
	us_elf_image_close(m->image);
}

void us_symbols_free(struct us_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->modules.n; i++)
		close_module(&s->modules.v[i]);
	free(s->modules.v);
	free(s->places.v);
	us_place_index_fini(&s->index);
	free(s->frames.v);
	free(s->found);
	us_name_cache_fini(&s->names);
	free(s);
}

/* A new image may name what was unknown. */
static void forget(struct us_symbols *s)
{
	free(s->found);
	s->found = NULL;
	s->n_slot = s->n_found = s->frames.n = 0;
}

void us_symbols_demangle(struct us_symbols *s, bool on)
{
	forget(s);
	s->demangle = on;
}

int us_symbols_add_image(struct us_symbols *s, struct us_elf_image *i, struct us_err *e)
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
	};
	return 0;
}

static size_t module_of(const struct us_symbols *s, const struct us_elf_image *i)
{
	size_t k = 0;
	while (k < s->modules.n && s->modules.v[k].image != i)
		k++;
	return k;
}

void us_symbols_call(struct us_symbols *s, const struct us_elf_image *i,
		     const char *module)
{
	size_t k = module_of(s, i);
	if (k < s->modules.n)
		s->modules.v[k].name = module;
}

size_t us_symbols_n_place(const struct us_symbols *s)
{
	return s->places.n;
}

void us_symbols_end_place(struct us_symbols *s, size_t number, uint64_t until_ns)
{
	if (number < s->places.n)
		s->places.v[number].at.until_ns = until_ns;
	forget(s);
}

int us_symbols_place(struct us_symbols *s, const struct us_elf_image *i,
		     const struct us_symbol_place *p)
{
	size_t k = module_of(s, i);
	struct place *place = us_vec_push(&s->places);
	if (!place)
		return -ENOMEM;
	*place = (struct place){ k, *p };
	forget(s);
	return 0;
}

int us_symbols_add(struct us_symbols *s, struct us_elf_image *i, uint64_t bias,
		   struct us_err *e)
{
	int r = us_symbols_add_image(s, i, e);
	if (r == 0 && us_symbols_place(s, i, &(struct us_symbol_place){ .bias = bias }))
		r = us_fail(e, -ENOMEM, "no memory to add image %s",
			    us_elf_image_path(i));
	return r;
}

void us_symbols_set_namer(struct us_symbols *s, const struct us_symbol_namer *n)
{
	s->namer = *n;
	forget(s);
}

static bool is_within(const struct us_symbol_place *p, us_gva pc)
{
	return !p->end || (pc >= p->start && pc < p->end);
}

static bool is_there(const struct us_symbol_place *p, const struct us_symbol_when *w,
		     us_gva pc)
{
	if (!is_within(p, pc))
		return false;
	if (!w)
		return true;
	if (p->is_kernels && w->user)
		return false;
	return (!p->root || p->root == w->root) && w->t_ns >= p->from_ns &&
	       (!p->until_ns || w->t_ns < p->until_ns);
}

/* A search for the first place with a symbol at pc, and the first with code there. */
struct search {
	const struct us_symbols *s;
	const struct us_symbol_when *when;
	us_gva pc;
	size_t symbol, code; /* their places; SIZE_MAX: none yet */
};

static void try_place(void *ctx, size_t i)
{
	struct search *x = ctx;
	const struct place *p = &x->s->places.v[i];
	const struct us_elf_image *image = x->s->modules.v[p->module].image;
	if (i >= x->symbol || !is_there(&p->at, x->when, x->pc))
		return;
	if (us_elf_image_find(image, x->pc - p->at.bias))
		x->symbol = i;
	else if (i < x->code &&
		 us_elf_file_code(us_elf_image_file(image), x->pc - p->at.bias))
		x->code = i;
}

/* False: no memory for it. */
static bool has_index(struct us_symbols *s)
{
	if (s->index.n == s->places.n)
		return true;
	us_place_index_fini(&s->index);
	for (size_t i = 0; i < s->places.n; i++)
		if (us_place_index_add(&s->index, &s->places.v[i].at) < 0) {
			us_place_index_fini(&s->index);
			return false;
		}
	us_place_index_sort(&s->index);
	return true;
}

/* The place of an image with a symbol at pc, else of one with code there. */
static const struct place *place_at(struct us_symbols *s,
				    const struct us_symbol_when *when, us_gva pc)
{
	struct search x = { s, when, pc, SIZE_MAX, SIZE_MAX };
	if (when && has_index(s)) {
		us_place_index_at(&s->index, 0, pc, try_place, &x);
		if (when->root)
			us_place_index_at(&s->index, when->root, pc, try_place, &x);
	} else {
		for (size_t i = 0; i < s->places.n; i++)
			try_place(&x, i);
	}
	size_t at = x.symbol != SIZE_MAX ? x.symbol : x.code;
	return at != SIZE_MAX ? &s->places.v[at] : NULL;
}

static struct us_dwarf *dwarf_of(struct module *m)
{
	if (!m->tried) {
		m->tried = true;
		m->dwarf = us_dwarf_open(us_elf_image_dwarf(m->image),
					 us_elf_image_dwarf_alt(m->image));
	}
	return m->dwarf;
}

/* Without memory each is the only one of its number. */
static uint32_t namesake_of(struct module *m, const struct us_elf_symbol *sym)
{
	size_t n;
	const struct us_elf_symbol *v = us_elf_image_symbols(m->image, &n);
	if (!m->numbered)
		m->namesake = us_number_namesakes(v, n);
	m->numbered = true;
	return 1 + (m->namesake ? m->namesake[sym - v] : (uint32_t)(sym - v));
}

/* Without memory each is a function of its own. */
static const struct us_elf_symbol *function_of(struct module *m,
					       const struct us_elf_symbol *sym)
{
	size_t n;
	const struct us_elf_symbol *v = us_elf_image_symbols(m->image, &n);
	if (!us_function_part_length(sym->name))
		return sym;
	if (!m->sought)
		m->part_of = us_functions_of_parts(v, n);
	m->sought = true;
	return m->part_of ? &v[m->part_of[sym - v]] : sym;
}

/* Objects that were linked without a source's name have that of a file which the
 * compiler made for the linker, or of a part of a crate. */
static bool is_source(const char *file)
{
	size_t len = strlen(file);
	return !(len > 2 && !strcmp(file + len - 2, ".o")) && !strstr(file, "-cgu.") &&
	       file[0] != '<';
}

/* Adds what DWARF does not say about the function itself: the symbol's name (that of a
 * clone differs), where it starts, and for assembly and OCaml the line of its start. */
static void complete_outer(struct module *m, const struct us_elf_symbol *sym,
			   struct us_frame *outer)
{
	const char *file;
	uint32_t line;
	if (!sym)
		return;
	if (us_is_block_section(sym->name))
		sym = function_of(m, sym);
	outer->func = sym->name;
	if (!outer->decl_file && sym->file && is_source(sym->file))
		outer->decl_file = sym->file;
	outer->start = sym->addr;
	outer->namesake = namesake_of(m, sym);
	/* Only for the start: the code at the address may come from another file. */
	if (!outer->decl_line && outer->file &&
	    us_dwarf_line(m->dwarf, sym->addr, &file, &line) && file) {
		outer->decl_file = file;
		outer->decl_line = line;
	}
}

/* Names as they are shown.  source: what DWARF calls the function itself. */
static void show_names(struct us_symbols *s, struct us_frame *f, size_t n,
		       const char *source)
{
	for (size_t i = 0; i < n; i++) {
		f[i].raw = f[i].func;
		if (s->demangle && f[i].func)
			f[i].func = us_name_cache_show(&s->names, f[i].func,
						       i == n - 1 ? source : NULL);
	}
}

static size_t describe(struct us_symbols *s, struct module *m, uint64_t bias, us_gva pc,
		       struct us_frame *ret)
{
	uint64_t addr = pc - bias;
	struct us_dwarf *dwarf = dwarf_of(m);
	size_t n = dwarf ? us_dwarf_lookup(dwarf, addr, ret, MAX_CHAIN) : 0;
	if (!n)
		ret[n++] = (struct us_frame){ 0 };
	struct us_frame *outer = &ret[n - 1];
	outer->inlined = false; /* also if the chain was cut */
	const char *source = outer->func;
	complete_outer(m, us_elf_image_find(m->image, addr), outer);
	if (outer->start)
		outer->start += bias;
	for (size_t i = 0; i < n; i++) {
		ret[i].module = m->name;
		ret[i].start = outer->start;
	}
	show_names(s, ret, n, source);
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

/* Without memory the answer is still right, but is looked up again each time. */
static void remember(struct us_symbols *s, us_gva pc, bool is_return,
		     const struct us_frame *frames, size_t n)
{
	if (s->n_found >= MAX_FOUND)
		forget(s);
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

static size_t ask_namer(struct us_symbols *s, us_gva pc, struct us_frame *ret)
{
	struct us_symbol_name n;
	if (!s->namer.name || !s->namer.name(s->namer.ctx, pc, &n))
		return 0;
	*ret = (struct us_frame){ .func = n.func,
				  .module = n.module,
				  .start = n.start,
				  .namesake = n.namesake + 1 };
	show_names(s, ret, 1, NULL);
	return 1;
}

static bool has_symbol(const struct us_symbols *s, const struct place *p, us_gva pc)
{
	return p && us_elf_image_find(s->modules.v[p->module].image, pc - p->at.bias);
}

static size_t look_up(struct us_symbols *s, const struct us_symbol_when *when,
		      us_gva pc, bool is_return, struct us_frame frames[MAX_CHAIN])
{
	us_gva at = is_return ? pc - 1 : pc;
	const struct place *p = place_at(s, when, at);
	if (!has_symbol(s, p, at) && ask_namer(s, at, frames))
		return 1;
	return p ? describe(s, &s->modules.v[p->module], p->at.bias, at, frames) : 0;
}

size_t us_symbols_lookup(struct us_symbols *s, us_gva pc, bool is_return,
			 struct us_frame *ret, size_t max)
{
	if (s->n_slot) {
		const struct found *f = slot_of(s->found, s->n_slot, pc, is_return);
		if (f->used)
			return f->n ? copy(ret, max, s->frames.v + f->first, f->n) : 0;
	}
	struct us_frame frames[MAX_CHAIN];
	size_t n = look_up(s, NULL, pc, is_return, frames);
	remember(s, pc, is_return, frames, n);
	return copy(ret, max, frames, n);
}

size_t us_symbols_lookup_at(struct us_symbols *s, const struct us_symbol_when *when,
			    us_gva pc, bool is_return, struct us_frame *ret, size_t max)
{
	struct us_frame frames[MAX_CHAIN];
	size_t n = look_up(s, when, pc, is_return, frames);
	return copy(ret, max, frames, n);
}

const char *us_function_name(const struct us_function *f, size_t k)
{
	return k ? us_elf_image_other_name(f->image, f->start - f->bias, k - 1)
		 : f->raw;
}

void us_symbols_each_function(const struct us_symbols *s, us_function_visitor *visit,
			      void *ctx)
{
	for (size_t i = 0; i < s->places.n; i++) {
		const struct place *p = &s->places.v[i];
		struct module *m = &s->modules.v[p->module];
		size_t n;
		const struct us_elf_symbol *sym = us_elf_image_symbols(m->image, &n);
		for (size_t k = 0; k < n; k++) {
			if (!is_within(&p->at, sym[k].addr + p->at.bias))
				continue;
			visit(ctx, &(struct us_function){
					   .start = sym[k].addr + p->at.bias,
					   .size = sym[k].size,
					   .entry = function_of(m, &sym[k])->addr +
						    p->at.bias,
					   .raw = sym[k].name,
					   .module = m->name,
					   .image = m->image,
					   .bias = p->at.bias,
				   });
		}
	}
}

bool us_symbols_is_in(struct us_symbols *s, const struct us_symbol_when *when,
		      us_gva pc, const struct us_function *f)
{
	const struct place *p = place_at(s, when, pc);
	return p && s->modules.v[p->module].image == f->image && p->at.bias == f->bias;
}

size_t us_symbols_lookup_in(struct us_symbols *s, const struct us_function *f,
			    us_gva pc, struct us_frame *ret, size_t max)
{
	struct us_frame frames[MAX_CHAIN];
	size_t k = module_of(s, f->image);
	if (us_symbols_is_in(s, NULL, pc, f)) /* that is cached */
		return us_symbols_lookup(s, pc, false, ret, max);
	if (k == s->modules.n)
		return 0;
	return copy(ret, max, frames,
		    describe(s, &s->modules.v[k], f->bias, pc, frames));
}

uint16_t us_symbols_machine(struct us_symbols *s, const struct us_function *f,
			    unsigned bits)
{
	const struct us_elf_file *file = us_elf_image_file(f->image);
	size_t k = module_of(s, f->image);
	if (file->machine != EM_386 || k == s->modules.n)
		return file->machine;
	struct us_dwarf *d = dwarf_of(&s->modules.v[k]);
	unsigned size = d ? us_dwarf_address_size(d, f->start - f->bias) : 0;
	unsigned told = size ? 8 * size : us_elf_cfi_x86_bits(file);
	return (told ? told : bits) == 64 ? EM_X86_64 : EM_386;
}

/* From addresses of the file to those of the guest. */
struct rebase {
	const struct us_symbol_place *at;
	us_address_visitor *visit;
	void *ctx;
};

static void visit_rebased(void *ctx, uint64_t addr)
{
	const struct rebase *r = ctx;
	if (is_within(r->at, addr + r->at->bias))
		r->visit(r->ctx, addr + r->at->bias);
}

void us_symbols_each_address(struct us_symbols *s, const char *file, uint32_t line,
			     us_address_visitor *visit, void *ctx)
{
	for (size_t i = 0; i < s->places.n; i++) {
		struct rebase r = { &s->places.v[i].at, visit, ctx };
		struct us_dwarf *d = dwarf_of(&s->modules.v[s->places.v[i].module]);
		if (d)
			us_dwarf_each_address(d, file, line, visit_rebased, &r);
	}
}

void us_symbols_around(struct us_symbols *s, const char *file, uint32_t line,
		       us_address_visitor *visit, void *ctx,
		       struct us_source_line *near)
{
	for (size_t i = 0; i < s->places.n; i++) {
		struct rebase r = { &s->places.v[i].at, visit, ctx };
		struct us_dwarf *d = dwarf_of(&s->modules.v[s->places.v[i].module]);
		if (d)
			us_dwarf_around(d, file, line, visit_rebased, &r, near);
	}
}

const char *us_symbols_incomplete(const struct us_symbols *s)
{
	for (size_t i = 0; i < s->modules.n; i++)
		if (s->modules.v[i].dwarf && us_dwarf_exhausted(s->modules.v[i].dwarf))
			return s->modules.v[i].name;
	return NULL;
}

const char *us_symbols_split(const struct us_symbols *s)
{
	for (size_t i = 0; i < s->modules.n; i++)
		if (s->modules.v[i].dwarf && us_dwarf_is_split(s->modules.v[i].dwarf))
			return s->modules.v[i].name;
	return NULL;
}

static const char *dwarf_path(const struct us_elf_image *image)
{
	const char *debug = us_elf_image_debug_path(image);
	return debug ? debug : us_elf_image_path(image);
}

const char *us_symbols_unreadable(const struct us_symbols *s)
{
	for (size_t i = 0; i < s->modules.n; i++) {
		const struct us_elf_image *image = s->modules.v[i].image;
		if (!s->modules.v[i].tried ||
		    !us_dwarf_elf_unreadable(us_elf_image_dwarf(image)))
			continue;
		return dwarf_path(image);
	}
	return NULL;
}

const char *us_symbols_changed(const struct us_symbols *s)
{
	for (size_t i = 0; i < s->modules.n; i++) {
		const struct us_elf_image *image = s->modules.v[i].image;
		if (us_elf_file_changed(us_elf_image_dwarf(image)))
			return dwarf_path(image);
	}
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
	for (size_t i = 0; i < s->places.n; i++) {
		us_elf_image_symbols(s->modules.v[s->places.v[i].module].image,
				     &n_image);
		total += n_image;
	}
	us_gva *v = calloc(total + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->places.n; i++) {
		const struct place *p = &s->places.v[i];
		const struct us_elf_symbol *sym = us_elf_image_symbols(
			s->modules.v[p->module].image, &n_image);
		for (size_t k = 0; k < n_image; k++)
			v[n++] = sym[k].addr + p->at.bias;
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
