/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_symbols.c: see elf_symbols.h. */
#include "symbol/elf_symbols.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* A symbol while the best of an address is sought. */
struct candidate {
	uint64_t addr, size;
	const char *name;
	uint32_t end; /* of its section, as bytes after addr, at most UINT32_MAX */
	uint8_t rank; /* higher is better */
	bool label;   /* local, without type and size */
};

struct table {
	const struct us_elf_file *f;
	const uint8_t *entry;
	size_t n, entsize;
	const char *names;
	size_t names_size; /* up to and with the last NUL */
	struct candidate *v;
	size_t n_v;
};

static Elf64_Sym read_symbol(const struct table *t, size_t i)
{
	Elf64_Sym s;
	Elf32_Sym n;
	if (t->f->is64) {
		memcpy(&s, t->entry + i * sizeof(s), sizeof(s));
		return s;
	}
	memcpy(&n, t->entry + i * sizeof(n), sizeof(n));
	return (Elf64_Sym){
		.st_name = n.st_name,
		.st_info = n.st_info,
		.st_other = n.st_other,
		.st_shndx = n.st_shndx,
		.st_value = n.st_value,
		.st_size = n.st_size,
	};
}

/* $a, $d, $t, $x, alone or before a dot (ELF for the Arm architectures, "Mapping
 * symbols"), $xrv64... (RISC-V psABI). */
static bool is_mapping(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (name[2] == '\0' || name[2] == '.' || !strncmp(name + 2, "rv", 2));
}

static const char *name_of(const struct table *t, const Elf64_Sym *s)
{
	if (s->st_name >= t->names_size)
		return NULL;
	const char *name = t->names + s->st_name;
	size_t left = t->names_size - s->st_name;
	if (left > US_MAX_SYMBOL_NAME)
		left = US_MAX_SYMBOL_NAME;
	if (!*name || !memchr(name, '\0', left))
		return NULL;
	return name;
}

/* The section that s is in, if that is code and covers it. */
static const struct us_elf_section *code_of(const struct table *t, const Elf64_Sym *s)
{
	const struct us_elf_file *f = t->f;
	if (s->st_shndx == SHN_UNDEF || s->st_shndx >= f->n_section ||
	    s->st_shndx >= SHN_LORESERVE)
		return NULL;
	const struct us_elf_section *sec = &f->section[s->st_shndx];
	if (!(sec->flags & SHF_ALLOC) || !(sec->flags & SHF_EXECINSTR) ||
	    s->st_value < sec->addr || s->st_value - sec->addr >= sec->size)
		return NULL;
	return sec;
}

static uint8_t underscores(const char *name)
{
	uint8_t n = 0;
	while (n < 7 && name[n] == '_')
		n++;
	return n;
}

static uint8_t rank_of(const Elf64_Sym *s, const char *name)
{
	uint8_t bind = ELF64_ST_BIND(s->st_info);
	uint8_t by_bind = bind == STB_WEAK ? 0 : bind == STB_LOCAL ? 1 : 2;
	return (uint8_t)((ELF64_ST_TYPE(s->st_info) != STT_NOTYPE) << 7 |
			 (s->st_size != 0) << 6 | by_bind << 3 |
			 (7 - underscores(name)));
}

static bool take(const struct table *t, size_t i, struct candidate *ret)
{
	Elf64_Sym s = read_symbol(t, i);
	uint8_t type = ELF64_ST_TYPE(s.st_info);
	bool local = ELF64_ST_BIND(s.st_info) == STB_LOCAL;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	const struct us_elf_section *sec = code_of(t, &s);
	const char *name = sec ? name_of(t, &s) : NULL;
	if (!name)
		return false;
	if (type == STT_NOTYPE && local &&
	    (is_mapping(name) || !strncmp(name, ".L", 2)))
		return false;
	uint64_t left = sec->addr + sec->size - s.st_value;
	*ret = (struct candidate){
		.addr = s.st_value,
		.size = s.st_size < left ? s.st_size : left,
		.name = name,
		.end = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX,
		.rank = rank_of(&s, name),
		.label = type == STT_NOTYPE && local && !s.st_size,
	};
	return true;
}

static int by_addr_best_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* One an address; and no local label inside a function that states its size. */
static void drop_worse(struct table *t)
{
	size_t n = 0;
	uint64_t sized_end = 0;
	for (size_t i = 0; i < t->n_v; i++) {
		const struct candidate *c = &t->v[i];
		if (n && t->v[n - 1].addr == c->addr)
			continue;
		if (c->label && c->addr < sized_end)
			continue;
		if (c->addr + c->size > sized_end)
			sized_end = c->addr + c->size;
		t->v[n++] = *c;
	}
	t->n_v = n;
}

/* A symbol without a size reaches to the next one, to the end of its section, or of
 * the function that it stands in. */
static void fill_sizes(struct table *t)
{
	uint64_t sized_end = 0;
	for (size_t i = 0; i < t->n_v; i++) {
		struct candidate *c = &t->v[i];
		if (c->size) {
			if (c->addr + c->size > sized_end)
				sized_end = c->addr + c->size;
			continue;
		}
		c->size = c->end;
		if (i + 1 < t->n_v && t->v[i + 1].addr - c->addr < c->size)
			c->size = t->v[i + 1].addr - c->addr;
		if (c->addr < sized_end && sized_end - c->addr < c->size)
			c->size = sized_end - c->addr;
	}
}

static int finish(struct table *t, struct us_elf_symbols *ret)
{
	if (!t->n_v)
		return 0;
	qsort(t->v, t->n_v, sizeof(*t->v), by_addr_best_first);
	drop_worse(t);
	fill_sizes(t);
	struct us_elf_symbols s = { .v = calloc(t->n_v, sizeof(*s.v)), .n = t->n_v };
	_cleanup_free_ struct us_span *span = calloc(t->n_v, sizeof(*span));
	if (!s.v || !span) {
		free(s.v);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s.n; i++) {
		const struct candidate *c = &t->v[i];
		s.v[i] = (struct us_elf_symbol){ c->addr, c->size, c->name };
		span[i] = (struct us_span){ c->addr, c->addr + c->size, (uint32_t)i };
	}
	if (us_span_map_build(span, s.n, &s.cover) < 0) {
		free(s.v);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

static int collect(struct table *t, struct us_elf_symbols *ret)
{
	_cleanup_free_ struct candidate *v = NULL;
	size_t cap = 0;
	/* Two passes: debug builds have many symbols that are no functions. */
	struct candidate c;
	for (size_t i = 0; i < t->n; i++)
		cap += take(t, i, &c);
	if (!cap)
		return 0;
	v = calloc(cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	t->v = v;
	for (size_t i = 0; i < t->n && t->n_v < cap; i++)
		t->n_v += take(t, i, &v[t->n_v]);
	return finish(t, ret);
}

static int check_table(struct table *t, const struct us_elf_section *s,
		       struct us_err *e)
{
	const struct us_elf_file *f = t->f;
	t->entsize = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if (s->entsize != t->entsize)
		return us_fail(e, -EBADMSG, "symbol table with entries of %llu bytes",
			       (unsigned long long)s->entsize);
	if (s->link >= f->n_section || f->section[s->link].type != SHT_STRTAB)
		return us_fail(e, -EBADMSG,
			       "symbol table whose names are in section %u, no names",
			       s->link);
	t->entry = f->bytes + s->offset;
	t->n = s->size / t->entsize;
	if (t->n > US_MAX_SYMBOLS)
		return us_fail(e, -EBADMSG, "%zu symbols, more than %u", t->n,
			       US_MAX_SYMBOLS);
	const struct us_elf_section *str = &f->section[s->link];
	t->names = (const char *)f->bytes + str->offset;
	const char *last = memrchr(t->names, '\0', str->size);
	t->names_size = last ? (size_t)(last - t->names) + 1 : 0;
	return 0;
}

static int read_table(const struct us_elf_file *f, uint32_t type,
		      struct us_elf_symbols *ret, struct us_err *e)
{
	for (size_t i = 0; i < f->n_section; i++) {
		if (f->section[i].type != type)
			continue;
		struct table t = { .f = f };
		int r = check_table(&t, &f->section[i], e);
		if (r < 0)
			return r;
		if (collect(&t, ret) < 0)
			return us_fail(e, -ENOMEM, "no memory for %zu symbols", t.n);
		return 0;
	}
	return 0;
}

int us_elf_symbols_read(const struct us_elf_file *f, struct us_elf_symbols *ret,
			struct us_err *e)
{
	memset(ret, 0, sizeof(*ret));
	int r = read_table(f, SHT_SYMTAB, ret, e);
	if (r == 0 && !ret->n)
		r = read_table(f, SHT_DYNSYM, ret, e);
	return r;
}

void us_elf_symbols_fini(struct us_elf_symbols *s)
{
	free(s->v);
	us_span_map_fini(&s->cover);
	memset(s, 0, sizeof(*s));
}
