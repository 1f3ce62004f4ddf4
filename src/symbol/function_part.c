/* SPDX-License-Identifier: GPL-2.0-or-later */
/* function_part.c: see function_part.h. */
#include "symbol/function_part.h"

#include "base/search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PADDING 64 /* bytes: to the next block, where it is aligned */

static const char block[] = ".__part.";

/* Further marks may follow, and numbers: "f.cold.3", "f.cold.llvm.17". */
static size_t cold_length(const char *name)
{
	for (const char *p = name; (p = strstr(p, ".cold")); p++)
		if (p > name && (p[5] == '\0' || p[5] == '.'))
			return (size_t)(p - name);
	return 0;
}

static size_t block_length(const char *name)
{
	for (const char *p = name; (p = strstr(p, block)); p++) {
		const char *number = p + strlen(block);
		size_t digits = strspn(number, "0123456789");
		if (p > name && digits &&
		    (number[digits] == '\0' || number[digits] == '.'))
			return (size_t)(p - name);
	}
	return 0;
}

/* Such words are also the names of functions, after that of a Go package.  Mangled
 * names have no other dots. */
static size_t mangled_length(const char *name)
{
	const char *dot = strchr(name, '.');
	if (name[0] != '_' || !isupper((unsigned char)name[1]) || !dot)
		return 0;
	return !strcmp(dot, ".eh") || !strcmp(dot, ".warm") ? (size_t)(dot - name) : 0;
}

size_t us_function_part_length(const char *name)
{
	size_t n = cold_length(name);
	n = n ? n : block_length(name);
	return n ? n : mangled_length(name);
}

bool us_is_block_section(const char *name)
{
	return block_length(name) && !cold_length(name);
}

bool us_is_return_trampoline(const char *name)
{
	/* Linux: arch/.../kernel/{rethook,kprobes,ftrace}*. */
	static const char *const trampolines[] = { "arch_rethook_trampoline",
						   "__kretprobe_trampoline",
						   "kretprobe_trampoline",
						   "return_to_handler",
						   "kretprobe_trampoline_holder" };
	for (size_t i = 0; i < sizeof(trampolines) / sizeof(*trampolines); i++)
		if (!strcmp(name, trampolines[i]))
			return true;
	return false;
}

bool us_is_function_part(const char *name)
{
	return us_is_return_trampoline(name) || us_function_part_length(name);
}

/* As strcmp(), of the first n bytes of stem. */
static int compare_stem(const char *name, const char *stem, size_t n)
{
	int c = strncmp(name, stem, n);
	return c ? c : name[n] != '\0';
}

static int compare_files(const char *a, const char *b)
{
	return !a || !b ? !!a - !!b : strcmp(a, b);
}

/* Is x a block section of what is before it? */
static bool goes_on(const struct us_elf_symbol *before, const struct us_elf_symbol *x)
{
	size_t len = us_is_block_section(x->name) ? block_length(x->name) : 0;
	size_t same = us_is_block_section(before->name) ? block_length(before->name)
							: strlen(before->name);
	uint64_t end = before->addr + before->size;
	if (!len || len != same || strncmp(before->name, x->name, len) != 0)
		return false;
	return x->addr >= end && x->addr - end < MOST_PADDING &&
	       (!before->file || !compare_files(before->file, x->file));
}

size_t us_join_block_sections(struct us_elf_symbol *v, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept && goes_on(&v[kept - 1], &v[i]))
			v[kept - 1].size = v[i].addr + v[i].size - v[kept - 1].addr;
		else
			v[kept++] = v[i];
	}
	return kept;
}

/* ---- Which function a part is of ---- */

struct stem {
	const char *name;
	size_t length;
	size_t part; /* its symbol */
};

struct stems {
	struct stem *v;
	size_t n;
};

static int compare_stems(const void *a, const void *b)
{
	const struct stem *x = a, *y = b;
	size_t n = x->length < y->length ? x->length : y->length;
	int c = memcmp(x->name, y->name, n);
	return c ? c : (x->length > y->length) - (x->length < y->length);
}

static int compare_functions(const void *a, const void *b)
{
	const struct us_elf_symbol *x = *(const struct us_elf_symbol *const *)a;
	const struct us_elf_symbol *y = *(const struct us_elf_symbol *const *)b;
	int c = strcmp(x->name, y->name);
	return c ? c : compare_files(x->file, y->file);
}

static int take_stems(const struct us_elf_symbol *v, size_t n, struct stems *ret)
{
	size_t parts = 0;
	for (size_t i = 0; i < n; i++)
		parts += us_function_part_length(v[i].name) != 0;
	*ret = (struct stems){ .v = calloc(parts + 1, sizeof(*ret->v)) };
	if (!ret->v)
		return -1;
	for (size_t i = 0; i < n && ret->n < parts; i++) {
		size_t length = us_function_part_length(v[i].name);
		if (length)
			ret->v[ret->n++] = (struct stem){ v[i].name, length, i };
	}
	qsort(ret->v, ret->n, sizeof(*ret->v), compare_stems);
	return 0;
}

static bool has_part(const struct stems *s, const char *name)
{
	size_t next = us_first_not(
		s->n, mid, compare_stem(name, s->v[mid].name, s->v[mid].length) > 0);
	return next < s->n && !compare_stem(name, s->v[next].name, s->v[next].length);
}

struct functions {
	const struct us_elf_symbol **v; /* by name, then by file */
	size_t n;
};

static int compare_key(const struct us_elf_symbol *f, const struct stem *s,
		       const char *file)
{
	int c = compare_stem(f->name, s->name, s->length);
	return c ? c : compare_files(f->file, file);
}

/* The only one of that name in that file, which is NULL for global ones. */
static const struct us_elf_symbol *only_one(const struct functions *f,
					    const struct stem *s, const char *file)
{
	size_t next = us_first_not(f->n, mid, compare_key(f->v[mid], s, file) < 0);
	if (next == f->n || compare_key(f->v[next], s, file))
		return NULL;
	return next + 1 < f->n && !compare_key(f->v[next + 1], s, file) ? NULL
									: f->v[next];
}

/* Whatever its file. */
static const struct us_elf_symbol *only_name(const struct functions *f,
					     const struct stem *s)
{
	size_t next = us_first_not(
		f->n, mid, compare_stem(f->v[mid]->name, s->name, s->length) < 0);
	if (next == f->n || compare_stem(f->v[next]->name, s->name, s->length))
		return NULL;
	return next + 1 < f->n &&
			       !compare_stem(f->v[next + 1]->name, s->name, s->length)
		       ? NULL
		       : f->v[next];
}

/* Parts are local.  So in a file with a local function of the name, it is that; else it
 * is the global one.  BOLT gives all parts to a file of its own. */
static const struct us_elf_symbol *find_function(const struct functions *f,
						 const struct stem *s, const char *file)
{
	const struct us_elf_symbol *x = only_one(f, s, file);
	if (!x && file)
		x = only_one(f, s, NULL);
	return x ? x : only_name(f, s);
}

uint32_t *us_functions_of_parts(const struct us_elf_symbol *v, size_t n)
{
	uint32_t *of = calloc(n + 1, sizeof(*of));
	struct stems stems = { 0 };
	struct functions f = { .v = calloc(n + 1, sizeof(*f.v)) };
	if (!of || !f.v || take_stems(v, n, &stems) < 0) {
		free(of);
		of = NULL;
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		of[i] = (uint32_t)i;
		if (stems.n && has_part(&stems, v[i].name))
			f.v[f.n++] = &v[i];
	}
	qsort(f.v, f.n, sizeof(*f.v), compare_functions);
	for (size_t i = 0; i < stems.n; i++) {
		const struct us_elf_symbol *x = find_function(&f, &stems.v[i],
							      v[stems.v[i].part].file);
		if (x)
			of[stems.v[i].part] = (uint32_t)(x - v);
	}
out:
	free(stems.v);
	free(f.v);
	return of;
}
