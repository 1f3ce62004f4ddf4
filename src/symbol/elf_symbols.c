/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_symbols.c: see elf_symbols.h. */
#include "symbol/elf_symbols.h"

#include "base/cleanup.h"
#include "base/search.h"
#include "symbol/function_part.h"
#include "symbol/go_table.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* A symbol, while the best one at each address is chosen. */
struct candidate {
	uint64_t addr, size; /* size 0: not stated */
	const char *name, *file;
	uint32_t end; /* of its section, as bytes after addr, at most UINT32_MAX */
	uint8_t rank; /* higher is better */
	bool label;   /* local, without type and size */
};

struct table {
	const struct us_elf_file *f;
	const uint8_t *entry;
	size_t n, entsize;
	const char *names;
	size_t names_size; /* up to and including the last NUL */
	const char *file;  /* source file of the local symbols that follow */
	struct candidate *v;
	size_t n_v;
	bool partial; /* it lacks most functions */
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

static bool take(struct table *t, size_t i, struct candidate *ret)
{
	Elf64_Sym s = read_symbol(t, i);
	uint8_t type = ELF64_ST_TYPE(s.st_info);
	bool local = ELF64_ST_BIND(s.st_info) == STB_LOCAL;
	if (type == STT_FILE)
		t->file = name_of(t, &s);
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
		.file = local ? t->file : NULL,
		.end = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX,
		.rank = rank_of(&s, name),
		.label = type == STT_NOTYPE && local && !s.st_size,
	};
	return true;
}

/* Sorted instead of the candidates themselves: a third of their size. */
struct key {
	uint64_t addr;
	size_t index;
};

/* Radix sort, by digits of 8 bits from the lowest.  Digits that all addresses share are
 * skipped, so a million symbols of a kernel take three or four passes. */
static struct key *sort_keys(struct key *v, struct key *spare, size_t n)
{
	size_t count[8][256] = { 0 };
	for (size_t i = 0; i < n; i++)
		for (unsigned d = 0; d < 8; d++)
			count[d][v[i].addr >> (8 * d) & 255]++;
	for (unsigned d = 0; d < 8; d++) {
		if (count[d][v[0].addr >> (8 * d) & 255] == n)
			continue;
		size_t at = 0;
		for (unsigned k = 0; k < 256; k++) {
			size_t here = count[d][k];
			count[d][k] = at;
			at += here;
		}
		for (size_t i = 0; i < n; i++)
			spare[count[d][v[i].addr >> (8 * d) & 255]++] = v[i];
		struct key *other = v;
		v = spare;
		spare = other;
	}
	return v;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	return a->rank != b->rank ? a->rank > b->rank : a->name < b->name;
}

/* The best symbol at the address of key *at; *at moves on to the next address. */
static const struct candidate *best_of(const struct table *t, const struct key *k,
				       size_t *at)
{
	uint64_t addr = k[*at].addr;
	const struct candidate *best = &t->v[k[(*at)++].index];
	for (; *at < t->n_v && k[*at].addr == addr; (*at)++)
		if (is_better(&t->v[k[*at].index], best))
			best = &t->v[k[*at].index];
	return best;
}

/* Where most functions are not known, one without a stated size may end anywhere, so
 * only its start is named. */
static uint64_t open_size(const struct table *t, uint64_t most)
{
	return t->partial && most > 1 ? 1 : most;
}

/* NASM names the labels within "memcpy" "memcpy.loop", and states no size. */
static bool is_label_of(const struct candidate *c, const char *outer)
{
	size_t len = c->label ? strlen(outer) : 0;
	return len && !strncmp(c->name, outer, len) && c->name[len] == '.';
}

/*
 * Keeps one symbol for each address, and no local label inside a function with a stated
 * size, nor one that has the function's name before a dot.  A symbol without a size
 * gets one: up to the next symbol, the end of the section, or the end of the function
 * around it.
 */
static size_t choose(const struct table *t, const struct key *k,
		     struct us_elf_symbol *ret)
{
	uint64_t sized_end = 0; /* the furthest that a stated size reaches */
	uint64_t room = 0;	/* of the last one, if its size is open */
	size_t n = 0;
	for (size_t at = 0; at < t->n_v;) {
		const struct candidate *c = best_of(t, k, &at);
		if (c->label && c->addr < sized_end)
			continue;
		if (n && is_label_of(c, ret[n - 1].name))
			continue;
		if (n && !ret[n - 1].size) {
			uint64_t gap = c->addr - ret[n - 1].addr;
			ret[n - 1].size = open_size(t, gap < room ? gap : room);
		}
		if (c->size && c->addr + c->size > sized_end)
			sized_end = c->addr + c->size;
		room = c->end;
		if (c->addr < sized_end && sized_end - c->addr < room)
			room = sized_end - c->addr;
		ret[n++] = (struct us_elf_symbol){ c->addr, c->size, c->name, c->file };
	}
	if (!ret[n - 1].size)
		ret[n - 1].size = open_size(t, room);
	return n;
}

/* Passes the names of the kept symbols that were not chosen to ret, or only counts them
 * if it is NULL. */
static size_t take_others(const struct table *t, const struct key *k,
			  const struct us_elf_symbols *s, struct us_elf_other_name *ret)
{
	size_t n = 0, at = 0;
	for (size_t i = 0; i < t->n_v; i++) {
		const struct candidate *c = &t->v[k[i].index];
		while (at < s->n && s->v[at].addr < c->addr)
			at++;
		if (at == s->n)
			break;
		if (s->v[at].addr != c->addr || !strcmp(s->v[at].name, c->name))
			continue;
		if (ret)
			ret[n] = (struct us_elf_other_name){ c->addr, c->name };
		n++;
	}
	return n;
}

static int keep_others(const struct table *t, const struct key *k,
		       struct us_elf_symbols *s)
{
	size_t n = take_others(t, k, s, NULL);
	s->other = n ? calloc(n, sizeof(*s->other)) : NULL;
	if (n && !s->other)
		return -ENOMEM;
	s->n_other = n ? take_others(t, k, s, s->other) : 0;
	return 0;
}

static int sort_and_choose(const struct table *t, struct us_elf_symbols *ret)
{
	_cleanup_free_ struct key *k = calloc(t->n_v, sizeof(*k));
	_cleanup_free_ struct key *spare = calloc(t->n_v, sizeof(*spare));
	ret->v = calloc(t->n_v, sizeof(*ret->v));
	if (!k || !spare || !ret->v)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_v; i++)
		k[i] = (struct key){ t->v[i].addr, i };
	const struct key *sorted = sort_keys(k, spare, t->n_v);
	ret->n = us_join_block_sections(ret->v, choose(t, sorted, ret->v));
	return keep_others(t, sorted, ret);
}

static int collect(struct table *t, struct us_elf_symbols *ret)
{
	/* The kernel backs only the part that is used: often most symbols are not
	 * functions. */
	_cleanup_free_ struct candidate *v = calloc(t->n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	t->v = v;
	for (size_t i = 0; i < t->n; i++)
		t->n_v += take(t, i, &v[t->n_v]);
	return t->n_v ? sort_and_choose(t, ret) : 0;
}

int us_elf_symbols_cover(struct us_elf_symbols *s)
{
	_cleanup_free_ struct us_span *span = calloc(s->n + 1, sizeof(*span));
	if (!span)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		span[i] = (struct us_span){ s->v[i].addr, s->v[i].addr + s->v[i].size,
					    (uint32_t)i };
	return us_span_map_build(span, s->n, &s->cover);
}

static int check_table(struct table *t, const struct us_elf_section *s,
		       struct us_err *e)
{
	const struct us_elf_file *f = t->f;
	t->entsize = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	/* readelf takes 0 for the usual size. */
	if (s->entsize && s->entsize != t->entsize)
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
		uint32_t names = f->section[i].link;
		if (f->section[i].type != type)
			continue;
		/* Names that were left out are told by f->damage. */
		if (names < f->n_section && f->section[names].bad)
			continue;
		struct table t = { .f = f, .partial = type == SHT_DYNSYM };
		int r = check_table(&t, &f->section[i], e);
		if (r < 0)
			return r;
		if (t.n && (collect(&t, ret) < 0 || us_elf_symbols_cover(ret) < 0))
			return us_fail(e, -ENOMEM, "no memory for %zu symbols", t.n);
		return 0;
	}
	return 0;
}

static void merge(const struct us_elf_symbols *a, const struct us_elf_symbols *b,
		  struct us_elf_symbols *ret)
{
	size_t i = 0, k = 0;
	while (i < a->n || k < b->n) {
		bool first = k == b->n || (i < a->n && a->v[i].addr <= b->v[k].addr);
		if (first && k < b->n && a->v[i].addr == b->v[k].addr)
			k++;
		ret->v[ret->n++] = first ? a->v[i++] : b->v[k++];
	}
}

static int by_address(const void *a, const void *b)
{
	const struct us_elf_other_name *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* What *b calls a symbol of *a otherwise is another name of it. */
static void merge_others(const struct us_elf_symbols *a, const struct us_elf_symbols *b,
			 struct us_elf_symbols *ret)
{
	for (size_t i = 0; i < a->n_other; i++)
		ret->other[ret->n_other++] = a->other[i];
	for (size_t i = 0; i < b->n_other; i++)
		ret->other[ret->n_other++] = b->other[i];
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		const struct us_elf_symbol *x = &a->v[i], *y = &b->v[k];
		if (x->addr == y->addr && strcmp(x->name, y->name) != 0)
			ret->other[ret->n_other++] =
				(struct us_elf_other_name){ y->addr, y->name };
		i += x->addr <= y->addr;
		k += y->addr <= x->addr;
	}
	qsort(ret->other, ret->n_other, sizeof(*ret->other), by_address);
}

int us_elf_symbols_join(struct us_elf_symbols *s, struct us_elf_symbols *more)
{
	struct us_elf_symbols all = {
		.v = calloc(s->n + more->n + 1, sizeof(*all.v)),
		.other = calloc(s->n_other + more->n_other + more->n + 1,
				sizeof(*all.other)),
	};
	if (all.v && all.other) {
		merge(s, more, &all);
		merge_others(s, more, &all);
	}
	if (!all.v || !all.other || us_elf_symbols_cover(&all) < 0) {
		us_elf_symbols_fini(&all);
		return -ENOMEM;
	}
	us_elf_symbols_fini(s);
	us_elf_symbols_fini(more);
	*s = all;
	return 0;
}

static int add_go(const struct us_elf_file *f, struct us_elf_symbols *s)
{
	struct us_elf_symbols go;
	int r = us_go_symbols_read(f, &go);
	bool some = r == 0 && go.n;
	if (some)
		r = us_elf_symbols_join(s, &go);
	if (r < 0)
		us_elf_symbols_fini(&go);
	s->go = some && r == 0;
	return r;
}

const char *us_elf_symbols_other(const struct us_elf_symbols *s, uint64_t addr,
				 size_t k)
{
	size_t at = us_first_not(s->n_other, mid, s->other[mid].addr < addr);
	return k < s->n_other - at && s->other[at + k].addr == addr
		       ? s->other[at + k].name
		       : NULL;
}

int us_elf_symbols_read(const struct us_elf_file *f, struct us_elf_symbols *ret,
			struct us_err *e)
{
	memset(ret, 0, sizeof(*ret));
	int r = read_table(f, SHT_SYMTAB, ret, e);
	if (r == 0 && !ret->n) {
		r = read_table(f, SHT_DYNSYM, ret, e);
		if (r == 0 && add_go(f, ret) < 0)
			r = us_fail(e, -ENOMEM, "no memory for Go's symbols");
	}
	if (r < 0)
		us_elf_symbols_fini(ret);
	return r;
}

void us_elf_symbols_fini(struct us_elf_symbols *s)
{
	free(s->v);
	free(s->other);
	us_span_map_fini(&s->cover);
	memset(s, 0, sizeof(*s));
}
