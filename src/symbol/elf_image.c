/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_image.c: an ELF file opened as an image: its text, symbols and build-id. */
#include "symbol/elf_image.h"

#include "base/cleanup.h"
#include "symbol/build_id.h"
#include "symbol/elf_file.h"
#include "symbol/elf_symbols.h"
#include "symbol/mini_debug.h"
#include "symbol/pe_file.h"
#include "symbol/symbol_list.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct us_elf_image {
	char *path;
	struct us_elf_file file;
	struct us_elf_symbols symbols;
	struct us_build_id build_id;
	struct us_elf_file debug; /* its separate debug file; zeroed: none */
	struct us_elf_file mini;  /* a table of symbols in the image; likewise */
	struct us_elf_file alt;	  /* the common debug file; likewise */
	char *debug_path;
	const char *debug_beside;
};

/* A file that is not ELF may be a list of symbols; otherwise *e stays as it is. */
static int open_list(const char *path, struct us_elf_image **ret, struct us_err *e)
{
	struct us_err why = { 0 };
	int r = us_symbol_list_open(path, ret, &why);
	if (r == -EINVAL && e)
		*e = why;
	return r == -ENOMEM || r == -EINVAL ? r : r < 0 ? -ENOEXEC : 0;
}

/* -ENODATA: a PE file without symbols; -ENOEXEC: neither ELF nor PE. */
static int open_file(const char *path, struct us_elf_file *ret, struct us_err *e)
{
	int r = us_elf_file_open(path, ret, e);
	if (r != -ENOEXEC)
		return r;
	return us_pe_file_open(path, ret, e);
}

int us_elf_image_open(const char *path, struct us_elf_image **ret, struct us_err *e)
{
	struct us_elf_image *i = calloc(1, sizeof(*i));
	if (!i || !(i->path = strdup(path))) {
		free(i);
		return us_fail(e, -ENOMEM, "read ELF file %s: no memory", path);
	}
	int r = open_file(path, &i->file, e);
	if (r == 0) {
		r = us_elf_symbols_read(&i->file, &i->symbols, e);
		if (r < 0)
			us_wrap(e, "read ELF file %s", path);
	}
	if (r < 0) {
		us_elf_image_close(i);
		if (r == -ENOEXEC)
			return open_list(path, ret, e);
		return r == -ENODATA ? -ENOEXEC : r;
	}
	us_build_id_read(&i->file, &i->build_id);
	*ret = i;
	return 0;
}

void us_elf_image_close(struct us_elf_image *i)
{
	if (!i)
		return;
	us_elf_symbols_fini(&i->symbols);
	us_elf_file_close(&i->file);
	us_elf_file_close(&i->debug);
	us_elf_file_close(&i->mini);
	us_elf_file_close(&i->alt);
	free(i->debug_path);
	free(i->path);
	free(i);
}

const char *us_elf_image_path(const struct us_elf_image *i)
{
	return i->path;
}

int us_elf_image_call(struct us_elf_image *i, const char *path)
{
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	free(i->path);
	i->path = copy;
	return 0;
}

bool us_elf_image_damage(const struct us_elf_image *i, char *ret, size_t size)
{
	bool own = i->file.damage[0] || !i->debug_path;
	const char *what = own ? i->file.damage : i->debug.damage;
	if (*what)
		snprintf(ret, size, "%.200s: %s", own ? i->path : i->debug_path, what);
	return *what;
}

const struct us_elf_file *us_elf_image_file(const struct us_elf_image *i)
{
	return &i->file;
}

const uint8_t *us_elf_image_build_id(const struct us_elf_image *i, size_t *ret_len)
{
	*ret_len = i->build_id.len;
	return i->build_id.bytes;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

uint64_t us_elf_image_code_hash(const struct us_elf_image *i)
{
	uint64_t h = 0, word;
	for (size_t k = 0; k < i->file.n_code; k++) {
		const struct us_elf_code *c = &i->file.code[k];
		const uint8_t *p = i->file.bytes + c->offset;
		if (!c->filesz)
			continue;
		h = mix(mix(h, c->start), c->end);
		for (uint64_t at = 0; at < c->filesz; at += sizeof(word)) {
			uint64_t left = c->filesz - at;
			word = 0;
			memcpy(&word, p + at,
			       left < sizeof(word) ? left : sizeof(word));
			h = mix(h, word);
		}
	}
	return h;
}

uint64_t us_elf_image_build_id_at(const struct us_elf_image *i)
{
	return i->build_id.addr;
}

static bool has_lines(const struct us_elf_file *f)
{
	const struct us_elf_section *s = us_elf_file_section(f, ".debug_info");
	if (!s)
		s = us_elf_file_section(f, ".zdebug_info");
	return s && s->type != SHT_NOBITS && s->size;
}

static bool has_symbols(const struct us_elf_file *f)
{
	for (size_t k = 0; k < f->n_section; k++)
		if (f->section[k].type == SHT_SYMTAB)
			return true;
	return false;
}

bool us_elf_image_has_all(const struct us_elf_image *i)
{
	return has_symbols(&i->file) || (i->debug.area && has_symbols(&i->debug)) ||
	       i->mini.area || i->symbols.go;
}

/* The better table of the two is used. */
static int take_symbols(struct us_elf_image *i, struct us_err *e)
{
	struct us_elf_symbols s;
	int r = us_elf_symbols_read(&i->debug, &s, e);
	if (r < 0)
		return us_wrap(e, "read ELF file %s", i->debug_path);
	if (s.n < i->symbols.n) {
		us_elf_symbols_fini(&s);
		return 0;
	}
	us_elf_symbols_fini(&i->symbols);
	i->symbols = s;
	return 0;
}

/* The little that the image itself may have: better than nothing. */
static void take_mini(struct us_elf_image *i)
{
	struct us_elf_symbols s;
	struct us_err e;
	if (i->mini.area || us_mini_debug_open(&i->file, &i->mini, &e) < 0)
		return;
	if (us_elf_symbols_read(&i->mini, &s, &e) < 0)
		return;
	if (us_elf_symbols_join(&i->symbols, &s) < 0)
		us_elf_symbols_fini(&s);
}

/* Most files have none. */
static int find_alt(struct us_elf_image *i, const struct us_debug_dirs *dirs,
		    struct us_err *e)
{
	const struct us_elf_file *f = us_elf_image_dwarf(i);
	if (i->alt.area || !us_elf_file_section(f, ".gnu_debugaltlink"))
		return 0;
	return us_debug_alt_open(f, f == &i->debug ? i->debug_path : i->path, dirs,
				 &i->alt, e);
}

int us_elf_image_find_debug(struct us_elf_image *i, const struct us_debug_dirs *dirs,
			    struct us_err *e)
{
	const struct us_debug_wanted w = { i->path, &i->file, i->build_id.bytes,
					   i->build_id.len };
	char path[US_DEBUG_PATH];
	if (i->debug_path || (has_lines(&i->file) && has_symbols(&i->file)))
		return find_alt(i, dirs, e);
	int r = us_debug_file_open(&w, dirs, &i->debug, path, &i->debug_beside, e);
	if (r < 0 && !has_symbols(&i->file))
		take_mini(i);
	if (r < 0)
		return r;
	i->debug_path = strdup(path);
	if (!i->debug_path)
		r = us_fail(e, -ENOMEM, "read ELF file %s: no memory", path);
	if (r == 0)
		r = take_symbols(i, e);
	if (r < 0)
		us_elf_file_close(&i->debug);
	return r < 0 ? r : find_alt(i, dirs, e);
}

const struct us_elf_file *us_elf_image_dwarf(const struct us_elf_image *i)
{
	return i->debug.n_section && has_lines(&i->debug) ? &i->debug : &i->file;
}

const struct us_elf_file *us_elf_image_dwarf_alt(const struct us_elf_image *i)
{
	return i->alt.area ? &i->alt : NULL;
}

const char *us_elf_image_debug_path(const struct us_elf_image *i)
{
	return i->debug_path;
}

const char *us_elf_image_debug_beside(const struct us_elf_image *i)
{
	return i->debug_beside;
}

bool us_elf_image_text(const struct us_elf_image *i, uint64_t *ret_start,
		       uint64_t *ret_end)
{
	const struct us_elf_file *f = &i->file;
	if (!f->n_code)
		return false;
	uint64_t end = 0;
	for (size_t k = 0; k < f->n_code; k++)
		if (f->code[k].end > end)
			end = f->code[k].end;
	*ret_start = f->code[0].start;
	*ret_end = end;
	return true;
}

const struct us_elf_symbol *us_elf_image_symbols(const struct us_elf_image *i,
						 size_t *ret_n)
{
	*ret_n = i->symbols.n;
	return i->symbols.v;
}

const char *us_elf_image_other_name(const struct us_elf_image *i, uint64_t addr,
				    size_t k)
{
	return us_elf_symbols_other(&i->symbols, addr, k);
}

const struct us_elf_symbol *us_elf_image_find(const struct us_elf_image *i,
					      uint64_t addr)
{
	uint32_t k = us_span_map_find(&i->symbols.cover, addr);
	return k == US_SPAN_NONE ? NULL : &i->symbols.v[k];
}
