/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table that Go's runtime has of functions: its forms, and ones that lie.  A real
 * one, of a program that is built here, if Go is installed. */
#include "symbol/go_table.h"
#include "unit.h"

#include "symbol/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT 0x401000U

static const char *const name[] = { "main.main", "main.(*Box[...]).f30",
				    "example.com/a/b.run.func1" };
enum { N = 3, NAMES_AT = 0x80, FUNCTIONS_AT = 0x100, SIZE = 0x200 };

static uint8_t bytes[SIZE];

static void put(size_t at, uint64_t v, unsigned width)
{
	memcpy(bytes + at, &v, width);
}

struct form {
	uint32_t magic;
	uint8_t word, first, text, names, functions; /* words of the header */
};

static const struct form forms[] = {
	{ 0xfffffffb, 8, 0, 0, 0, 0 }, { 0xfffffffb, 4, 0, 0, 0, 0 },
	{ 0xfffffffa, 8, 0, 0, 2, 6 }, { 0xfffffffa, 4, 0, 0, 2, 6 },
	{ 0xfffffff0, 8, 0, 2, 3, 7 }, { 0xfffffff1, 8, 0, 2, 3, 7 },
	{ 0xfffffff1, 4, 0, 2, 3, 7 },
};

/* Functions of 0x40 bytes each from TEXT on. */
static void make(const struct form *f)
{
	unsigned width = f->text ? 4 : f->word;
	size_t functions = f->functions ? FUNCTIONS_AT : 8U + f->word;
	size_t base = f->names ? FUNCTIONS_AT : 0, text = f->text ? 0 : TEXT;
	size_t name_at = NAMES_AT, record = base + 0x60;
	memset(bytes, 0, sizeof(bytes));
	put(0, f->magic, 4);
	bytes[6] = 1;
	bytes[7] = f->word;
	put(8, N, f->word);
	if (f->text)
		put(8U + f->text * f->word, TEXT, f->word);
	if (f->names) {
		put(8U + f->names * f->word, NAMES_AT, f->word);
		put(8U + f->functions * f->word, FUNCTIONS_AT, f->word);
	}
	for (unsigned k = 0; k < N; k++) {
		size_t pair = functions + 2ULL * k * width;
		put(pair, text + 0x40 * k, width);
		put(pair + width, record - base, width);
		put(record, text + 0x40 * k, width);
		put(record + width, name_at - (f->names ? NAMES_AT : 0), 4);
		strcpy((char *)bytes + name_at, name[k]);
		name_at += strlen(name[k]) + 1;
		record += f->names ? 0x10 : 0x80; /* behind the names */
		if (!f->names)
			record = 0x180 + 0x20 * k;
	}
	put(functions + 2ULL * N * width, text + 0x40 * N, width);
}

static void all_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct us_go_table t;
		make(&forms[i]);
		assert_int_equal(us_go_table_open(bytes, SIZE, &t), 0);
		assert_int_equal(t.n, N);
		assert_true(t.has_text);
		for (uint32_t k = 0; k < N; k++) {
			struct us_go_function f;
			assert_true(us_go_table_function(&t, k, &f));
			assert_string_equal(f.name, name[k]);
			assert_int_equal(f.start, TEXT + 0x40 * k);
			assert_int_equal(f.size, 0x40);
		}
	}
}

static void lies(void **state)
{
	(void)state;
	struct us_go_table t;
	struct us_go_function f;
	const struct form *new = &forms[5];
	make(new);
	for (size_t n = 0; n < FUNCTIONS_AT + 8U * N; n += 7)
		assert_int_equal(us_go_table_open(bytes, n, &t), -ENOENT);
	static const struct {
		size_t at;
		uint64_t value;
	} heads[] = { { 0, 0xfffffff2 }, { 8, 0 },	     { 8, UINT64_MAX },
		      { 8, 64 },	 { 32, SIZE },	     { 32, UINT64_MAX },
		      { 64, SIZE },	 { 64, UINT64_MAX }, { 64, SIZE - 8 } };
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		make(new);
		put(heads[i].at, heads[i].value, heads[i].at ? 8 : 4);
		assert_int_equal(us_go_table_open(bytes, SIZE, &t), -ENOENT);
	}
	static const struct {
		size_t at;
		uint32_t value;
	} rows[] = { { FUNCTIONS_AT + 8, 0 }, /* where the one before starts */
		     { FUNCTIONS_AT + 12, 0xfffffff0 }, /* its record is nowhere */
		     { FUNCTIONS_AT + 12, 0x60 },	/* ... or another's */
		     { FUNCTIONS_AT + 16, 0x40 },	/* it ends where it starts */
		     { FUNCTIONS_AT + 0x74, 0x180 },	/* its name is nowhere */
		     { FUNCTIONS_AT + 0x74, UINT32_MAX },
		     { FUNCTIONS_AT + 0x74, 9 } }; /* ... or empty */
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		make(new);
		put(rows[i].at, rows[i].value, 4);
		assert_int_equal(us_go_table_open(bytes, SIZE, &t), 0);
		assert_false(us_go_table_function(&t, 1, &f));
	}
	make(new);
	memset(bytes + NAMES_AT, 'x', SIZE - NAMES_AT); /* no name ends */
	if (us_go_table_open(bytes, SIZE, &t) == 0)
		assert_false(us_go_table_function(&t, 1, &f));
	/* Where the code begins the loader says. */
	make(new);
	put(24, 0, 8);
	assert_int_equal(us_go_table_open(bytes, SIZE, &t), 0);
	assert_false(t.has_text);
}

/* --- a real one --- */

static const char source[] = "package main\n"
			     "type box[T any] struct{ v []T }\n"
			     "//go:noinline\n"
			     "func (b *box[T]) put(v T) { b.v = append(b.v, v) }\n"
			     "//go:noinline\n"
			     "func over() { defer func() { recover() }(); panic(1) }\n"
			     "func main() { b := &box[int]{}; b.put(1); over() }\n";

static bool build(const char *folder, const char *flags, char path[64])
{
	char command[256], file[64];
	snprintf(file, sizeof(file), "%s/a.go", folder);
	snprintf(path, 64, "%s/a.out", folder);
	FILE *out = fopen(file, "w");
	assert_non_null(out);
	fputs(source, out);
	fclose(out);
	snprintf(command, sizeof(command),
		 "cd %s && HOME=%s go build %s -o a.out a.go >/dev/null 2>&1", folder,
		 folder, flags);
	return system(command) == 0;
}

static bool has(const struct us_elf_image *i, const char *wanted, uint64_t *ret_addr)
{
	size_t n;
	const struct us_elf_symbol *s = us_elf_image_symbols(i, &n);
	for (size_t k = 0; k < n; k++)
		if (!strcmp(s[k].name, wanted)) {
			*ret_addr = s[k].addr;
			return true;
		}
	return false;
}

/* As the linker has written it since Go 1.26: the table does not say where the code
 * begins, nor does the loader write it there. */
static void forget_text(const char *path)
{
	struct us_elf_file f;
	struct us_err e;
	uint64_t no = 0;
	assert_int_equal(us_elf_file_open(path, &f, &e), 0);
	const struct us_elf_section *s = us_elf_file_section(&f, ".gopclntab");
	if (!s)
		s = us_elf_file_section(&f, ".data.rel.ro.gopclntab");
	assert_non_null(s);
	uint64_t at = s->addr + 24, in_file = s->offset + 24;
	int fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, &no, sizeof(no), (off_t)in_file), sizeof(no));
	for (size_t k = 0; k + 8 <= f.size; k += 8)
		if (!memcmp(f.bytes + k, &at, sizeof(at))) /* a relocation's */
			assert_int_equal(pwrite(fd, &no, sizeof(no), (off_t)k),
					 sizeof(no));
	close(fd);
	us_elf_file_close(&f);
}

static void real(void **state)
{
	(void)state;
	static const char *const flags[] = { "-ldflags='-s -w'",
					     "-buildmode=pie -ldflags='-s -w'" };
	char folder[] = "/tmp/uniscope-go-XXXXXX", command[64], path[64];
	if (access("/usr/bin/go", X_OK) != 0)
		skip();
	assert_non_null(mkdtemp(folder));
	for (size_t k = 0; k < 4; k++) {
		struct us_elf_image *i;
		struct us_err e;
		uint64_t at, other;
		if (!build(folder, flags[k / 2], path))
			continue; /* it has no pie, or no room */
		if (k % 2)
			forget_text(path);
		assert_int_equal(us_elf_image_open(path, &i, &e), 0);
		assert_true(us_elf_image_has_all(i));
		assert_true(has(i, "main.main", &at));
		assert_true(has(i, "main.over.func1", &other));
		/* Go 1.24 names the type where those before wrote "...". */
		assert_true(has(i, "main.(*box[...]).put", &other) ||
			    has(i, "main.(*box[go.shape.int]).put", &other));
		assert_true(has(i, "runtime.goexit", &other));
		assert_string_equal(us_elf_image_find(i, at + 4)->name, "main.main");
		us_elf_image_close(i);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* A module that only relocations describe: they write the table's address and the four
 * words that count.  Then many that name the table and describe nothing: each would be
 * a pass over all. */
static void module_of_relocations(void **state)
{
	(void)state;
	enum { MANY = 300000, TABLE = 0x500000, MODULE = 0x600000, FIRST_PC = 20 };
	Elf64_Rela *r = calloc(MANY, sizeof(*r));
	struct us_elf_section section = { .type = SHT_RELA };
	struct us_elf_file f = { .is64 = true, .machine = EM_X86_64 };
	struct us_go_table t;
	const uint64_t word[] = { TEXT, TEXT + 0xc0, TEXT, TEXT + 0xc0 };
	make(&forms[4]);
	put(8 + 2 * 8, 0, 8); /* as Go 1.26 */
	assert_non_null(r);
	assert_int_equal(us_go_table_open(bytes, sizeof(bytes), &t), 0);
	t.has_text = false;
	r[0] = (Elf64_Rela){ MODULE, R_X86_64_RELATIVE, TABLE };
	for (unsigned k = 0; k < 4; k++)
		r[1 + k] = (Elf64_Rela){ MODULE + 8 * (FIRST_PC + k), R_X86_64_RELATIVE,
					 (Elf64_Sxword)word[k] };
	f.bytes = (const uint8_t *)r;
	f.section = &section;
	f.n_section = 1;
	section.size = 5 * sizeof(*r);
	assert_true(us_go_table_find_module(&f, TABLE, &t));
	assert_true(t.has_text && t.text == TEXT);
	for (size_t k = 0; k < MANY; k++)
		r[k] = (Elf64_Rela){ 0x10000000 + 8 * k, R_X86_64_RELATIVE, TABLE };
	section.size = MANY * sizeof(*r);
	assert_false(us_go_table_find_module(&f, TABLE, &t));
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_forms),
		cmocka_unit_test(lies),
		cmocka_unit_test(module_of_relocations),
		cmocka_unit_test(real),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
