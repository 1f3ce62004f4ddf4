/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of parts of functions: their names, and which function they are a part of. */
#include "unit.h"
#include "toolchain.h"

#include "symbol/function_part.h"
#include "symbol/symbol.h"

static void names_of_parts(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t length;
		bool block;
	} want[] = {
		{ "f.cold", 1, false },
		{ "f.cold.3", 1, false },
		{ "f.coldest.cold", 9, false },
		{ "f.part.0.cold", 8, false },
		{ "f.llvm.17.__part.2", 9, true },
		{ "f.__part.12", 1, true },
		{ "f.__part.12.llvm.3", 1, true },
		{ "_ZN1a1bEv.eh", 9, false },
		{ "_ZN1a1bEv.warm", 9, false },
		/* Functions. */
		{ "f", 0, false },
		{ "f.part.0", 0, false },
		{ "f.coldest", 0, false },
		{ ".cold", 0, false },
		{ ".__part.1", 0, false },
		{ "f.__part.", 0, false },
		{ "f.__part.x", 0, false },
		{ "f.__part.1x", 0, false },
		{ "main.warm", 0, false },
		{ "main.eh", 0, false },
		{ "_ZN1a1bEv.warmer", 0, false },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		size_t length = us_function_part_length(want[i].name);
		if (length != want[i].length ||
		    us_is_block_section(want[i].name) != want[i].block)
			fail_msg("%s: %zu", want[i].name, length);
	}
}

static void blocks_that_follow_are_joined(void **state)
{
	(void)state;
	struct us_elf_symbol v[] = {
		{ 0x1000, 0x10, "f", NULL },
		{ 0x1010, 0x8, "f.__part.1", "a.c" },
		{ 0x1020, 0x8, "f.__part.7", "a.c" },
		{ 0x1028, 0x8, "f.cold", "a.c" },
		{ 0x1030, 0x8, "ff.__part.1", "a.c" },
		{ 0x1038, 0x8, "g.__part.3", "a.c" },
		{ 0x1040, 0x8, "g.__part.2", "a.c" },
		{ 0x1088, 0x8, "g.__part.4", "a.c" }, /* not the next */
		{ 0x1090, 0x8, "h", "b.c" },
		{ 0x1098, 0x8, "h.__part.1", "a.c" }, /* another h's */
	};
	static const struct us_elf_symbol want[] = {
		{ 0x1000, 0x28, "f", NULL },
		{ 0x1028, 0x8, "f.cold", NULL },
		{ 0x1030, 0x8, "ff.__part.1", NULL },
		{ 0x1038, 0x10, "g.__part.3", NULL },
		{ 0x1088, 0x8, "g.__part.4", NULL },
		{ 0x1090, 0x8, "h", NULL },
		{ 0x1098, 0x8, "h.__part.1", NULL },
	};
	size_t n = us_join_block_sections(v, sizeof(v) / sizeof(*v));
	assert_int_equal(n, sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(v[i].addr, want[i].addr);
		assert_int_equal(v[i].size, want[i].size);
		assert_string_equal(v[i].name, want[i].name);
	}
	assert_int_equal(us_join_block_sections(NULL, 0), 0);
}

static void functions_of_parts(void **state)
{
	(void)state;
	static const struct {
		const char *name, *file;
		uint32_t of;
	} want[] = {
		{ "f", NULL, 0 },
		{ "f.cold", "a.c", 0 },
		{ "f.__part.1", "b.c", 3 },
		{ "f", "b.c", 3 },
		{ "g", "a.c", 4 },
		{ "g", "b.c", 5 },
		{ "g.__part.1", "b.c", 5 },
		{ "g.__part.1", "c.c", 7 },
		{ "h", "a.c", 8 },
		{ "h.cold.0", "bolt-pseudo.o", 8 },
		{ "same", "a.c", 10 },
		{ "same", "a.c", 11 },
		{ "same.cold", "a.c", 12 },
		{ "none.cold", "a.c", 13 },
		{ "_Zi", NULL, 14 },
		{ "_Zi.eh", "a.c", 14 },
		{ "f.part.0", "a.c", 16 },
		{ "f.part.0.cold", "a.c", 16 },
		{ "f.__part.2", "a.c", 0 },
		{ "ff", NULL, 19 },
		{ "return_to_handler", NULL, 20 },
	};
	enum { N = sizeof(want) / sizeof(*want) };
	struct us_elf_symbol v[N];
	for (size_t i = 0; i < N; i++)
		v[i] = (struct us_elf_symbol){ 0x1000 + 16 * i, 16, want[i].name,
					       want[i].file };
	uint32_t *of = us_functions_of_parts(v, N);
	assert_non_null(of);
	for (size_t i = 0; i < N; i++)
		if (of[i] != want[i].of)
			fail_msg("%s of %s: %u", v[i].name, v[i].file ? v[i].file : "-",
				 of[i]);
	free(of);
}

struct seen {
	us_gva entry[8];
	size_t n;
};

static void see(void *ctx, const struct us_function *f)
{
	struct seen *s = ctx;
	if (s->n < 8)
		s->entry[s->n++] = f->entry;
}

/* One of g's blocks is before it, apart: its samples are g's. */
static void blocks_are_their_function(void **state)
{
	static const char text[] = "	.globl f, g\n"
				   "	.type f, @function\n"
				   "	.type g, @function\n"
				   "	.type g.__part.1, @function\n"
				   "	.type g.__part.2, @function\n"
				   "	.type g.cold, @function\n"
				   "f:	.fill 16, 1, 0x90\n"
				   "g.__part.1: .fill 8, 1, 0x90\n"
				   "g.cold: .fill 8, 1, 0x90\n"
				   "g:	.fill 8, 1, 0x90\n"
				   "g.__part.2: .fill 8, 1, 0x90\n";
	const us_gva a = 0x401000, bias = 0x10000;
	struct us_elf_image *i = NULL;
	struct us_symbols *s = NULL;
	struct us_frame f;
	struct us_err e = { 0 };
	struct seen seen = { .n = 0 };
	(void)state;
	write_file("parts.s", text, sizeof(text) - 1);
	need("as -o parts.o parts.s && ld -e f -Ttext=0x401000 -o parts parts.o");
	assert_int_equal(us_elf_image_open(in_work_dir("parts"), &i, &e), 0);
	assert_int_equal(us_symbols_new(&s, &e), 0);
	assert_int_equal(us_symbols_add(s, i, bias, &e), 0);
	static const struct {
		us_gva at;
		const char *name;
		us_gva start;
	} want[] = { { 0, "f", 0 },
		     { 17, "g", 32 },
		     { 25, "g.cold", 24 },
		     { 33, "g", 32 },
		     { 41, "g", 32 } };
	for (size_t k = 0; k < sizeof(want) / sizeof(*want); k++) {
		us_gva pc = a + bias + want[k].at;
		assert_int_equal(us_symbols_lookup(s, pc, false, &f, 1), 1);
		assert_string_equal(f.func, want[k].name);
		assert_int_equal(f.start, a + bias + want[k].start);
	}
	us_symbols_each_function(s, see, &seen);
	assert_int_equal(seen.n, 4); /* f, g.__part.1, g.cold, g with its block */
	assert_int_equal(seen.entry[0], a + bias);
	for (size_t k = 1; k < 4; k++)
		assert_int_equal(seen.entry[k], a + bias + 32);
	us_symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_parts),
		cmocka_unit_test(blocks_that_follow_are_joined),
		cmocka_unit_test(functions_of_parts),
		cmocka_unit_test(blocks_are_their_function),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
