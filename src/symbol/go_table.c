/* SPDX-License-Identifier: GPL-2.0-or-later */
/* go_table.c: see go_table.h. */
#include "symbol/go_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIXED 8U /* bytes of the header before its words */

/* The forms, by their first word.  The other fields are numbers of header words. */
static const struct form {
	uint32_t magic;
	uint8_t text, names, functions; /* 0: there is no such word */
} forms[] = {
	{ 0xfffffffb, 0, 0, 0 }, /* 1.2 */
	{ 0xfffffffa, 0, 2, 6 }, /* 1.16 */
	{ 0xfffffff0, 2, 3, 7 }, /* 1.18 */
	{ 0xfffffff1, 2, 3, 7 }, /* 1.20 */
};

static const struct form *form_of(const uint8_t *head, size_t n)
{
	uint32_t magic;
	if (n < FIXED + 8)
		return NULL;
	memcpy(&magic, head, sizeof(magic));
	/* Two zeros, the smallest size of an instruction, the size of a pointer. */
	bool fits = !head[4] && !head[5] &&
		    (head[6] == 1 || head[6] == 2 || head[6] == 4) &&
		    (head[7] == 4 || head[7] == 8);
	for (size_t k = 0; fits && k < sizeof(forms) / sizeof(*forms); k++)
		if (forms[k].magic == magic)
			return &forms[k];
	return NULL;
}

bool us_go_table_is(const uint8_t *head, size_t n)
{
	return form_of(head, n) != NULL;
}

static uint64_t number(const uint8_t *bytes, unsigned width)
{
	uint64_t v = 0;
	memcpy(&v, bytes, width);
	return v;
}

static uint64_t header_word(const struct us_go_table *t, unsigned k)
{
	return number(t->bytes + FIXED + (size_t)k * t->word, t->word);
}

int us_go_table_open(const uint8_t *bytes, size_t size, struct us_go_table *ret)
{
	const struct form *f = form_of(bytes, size);
	if (!f || size < US_GO_HEAD)
		return -ENOENT;
	*ret = (struct us_go_table){ .bytes = bytes,
				     .size = size,
				     .word = bytes[7],
				     .narrow = f->text != 0,
				     .has_text = !f->text,
				     .functions = FIXED + bytes[7] };
	uint64_t n = header_word(ret, 0);
	if (f->text) {
		ret->text = header_word(ret, f->text);
		ret->has_text = ret->text != 0;
	}
	if (f->functions) {
		ret->names = header_word(ret, f->names);
		ret->functions = header_word(ret, f->functions);
	}
	uint64_t pair = 2 * (ret->narrow ? 4U : ret->word);
	bool fits = ret->functions < size && ret->names < size &&
		    n < (size - ret->functions) / pair; /* and where the last ends */
	if (!n || n > US_MAX_SYMBOLS || !fits)
		return -ENOENT;
	ret->n = (uint32_t)n;
	return 0;
}

static const char *name_at(const struct us_go_table *t, uint64_t offset)
{
	if (offset >= t->size - t->names)
		return NULL;
	const char *name = (const char *)t->bytes + t->names + offset;
	size_t left = t->size - t->names - (size_t)offset;
	if (left > US_MAX_SYMBOL_NAME)
		left = US_MAX_SYMBOL_NAME;
	return *name && memchr(name, '\0', left) ? name : NULL;
}

bool us_go_table_function(const struct us_go_table *t, uint32_t k,
			  struct us_go_function *ret)
{
	unsigned width = t->narrow ? 4 : t->word;
	const uint8_t *pair = t->bytes + t->functions + (size_t)k * 2 * width;
	uint64_t start = number(pair, width), at = number(pair + width, width);
	uint64_t end = number(pair + (size_t)2 * width, width);
	/* Its record begins with its start and the offset of its name.  The record's
	 * offset counts from the table of functions; in the first form, from the start
	 * of everything. */
	uint64_t base = t->names ? t->functions : 0;
	if (k >= t->n || start >= end || start > UINT64_MAX - t->text ||
	    at > t->size - base || t->size - base - at < width + 4U)
		return false;
	const uint8_t *record = t->bytes + base + at;
	if (number(record, width) != start)
		return false;
	ret->start = t->text + start;
	ret->size = end - start;
	ret->name = name_at(t, number(record + width, 4));
	return ret->name != NULL;
}

/* --- of a file --- */

static bool open_at(const struct us_elf_file *f, uint64_t offset, uint64_t size,
		    uint64_t address, struct us_go_table *ret)
{
	if (us_go_table_open(f->bytes + offset, (size_t)size, ret) < 0)
		return false;
	if (!ret->has_text) {
		ret->text = us_go_relocated(f, address + FIXED + 2ULL * ret->word);
		ret->has_text = ret->text != 0;
	}
	return ret->has_text || us_go_table_find_module(f, address, ret);
}

/* Searches segments that are not executable, as far as they are loaded from the
 * file. */
static bool search(const struct us_elf_file *f, struct us_go_table *ret)
{
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		uint64_t first = -s->vaddr & (US_GO_ALIGN - 1);
		if (s->type != PT_LOAD || s->flags & PF_X)
			continue;
		for (uint64_t at = first;
		     at < s->filesz && s->filesz - at >= US_GO_HEAD; at += US_GO_ALIGN)
			if (us_go_table_is(f->bytes + s->offset + at, US_GO_HEAD) &&
			    open_at(f, s->offset + at, s->filesz - at, s->vaddr + at,
				    ret))
				return true;
	}
	return false;
}

/* Programs that are not Go's are not searched. */
static bool find(const struct us_elf_file *f, struct us_go_table *ret)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		const struct us_elf_section *s = us_elf_file_section(f, names[k]);
		if (s && s->type != SHT_NOBITS &&
		    open_at(f, s->offset, s->size, s->addr, ret))
			return true;
	}
	return (!f->n_section || us_elf_file_section(f, ".go.buildinfo")) &&
	       search(f, ret);
}

static int take(const struct us_elf_file *f, const struct us_go_table *t,
		struct us_elf_symbols *ret)
{
	uint64_t end = 0;
	ret->v = calloc(t->n, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	for (uint32_t k = 0; k < t->n; k++) {
		struct us_go_function g;
		if (!us_go_table_function(t, k, &g) || g.start < end)
			continue;
		const struct us_elf_code *c = us_elf_file_code(f, g.start);
		if (!c || g.size > c->end - g.start)
			continue;
		end = g.start + g.size;
		ret->v[ret->n++] = (struct us_elf_symbol){ g.start, g.size, g.name,
							   NULL };
	}
	return us_elf_symbols_cover(ret);
}

int us_go_symbols_read(const struct us_elf_file *f, struct us_elf_symbols *ret)
{
	struct us_go_table t;
	memset(ret, 0, sizeof(*ret));
	int r = find(f, &t) ? take(f, &t, ret) : 0;
	if (r < 0 || !ret->n)
		us_elf_symbols_fini(ret);
	return r;
}
