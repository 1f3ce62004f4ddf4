/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions begin, by the symbols that an image has. */
#include "unit.h"

#include "symbol/function_starts.h"

#define TEXT_END 0x3000

static void expect_starts(const struct us_elf_symbol *sym, size_t n,
			  const us_gva *start, size_t n_start, const us_gva *part,
			  size_t n_part)
{
	struct us_function_starts s;
	assert_int_equal(us_function_starts_take(&s, sym, n, TEXT_END), 0);
	assert_int_equal(s.n, n_start);
	assert_int_equal(s.n_part, n_part);
	assert_memory_equal(s.start, start, n_start * sizeof(*start));
	if (n_part)
		assert_memory_equal(s.part, part, n_part * sizeof(*part));
	free(s.start);
	free(s.part);
}

static void code_without_a_symbol_is_nobodys(void **state)
{
	(void)state;
	const struct us_elf_symbol sym[] = { { 0x1000, 0x40, "exported", NULL },
					     { 0x2000, 0x80, "other", NULL } };
	const us_gva start[] = { 0x1000, 0x1040, 0x2000, 0x2080 };
	const us_gva part[] = { 0x1040, 0x2080 };
	expect_starts(sym, 2, start, 4, part, 2);
}

static void padding_is_no_code(void **state)
{
	(void)state;
	const struct us_elf_symbol sym[] = { { 0x1000, 0x41, "f", NULL },
					     { 0x1080, 0xf80, "g", NULL },
					     { 0x2000, 0x1000, "h", NULL } };
	const us_gva start[] = { 0x1000, 0x1080, 0x2000 };
	expect_starts(sym, 3, start, 3, NULL, 0);
}

static void function_without_a_size_goes_on(void **state)
{
	(void)state;
	const struct us_elf_symbol sym[] = { { 0x1000, 1, "entry", NULL },
					     { 0x2000, 0x1000, "main", NULL } };
	const us_gva start[] = { 0x1000, 0x2000 };
	expect_starts(sym, 2, start, 2, NULL, 0);
}

static void split_part_and_what_is_behind_it(void **state)
{
	(void)state;
	const struct us_elf_symbol sym[] = { { 0x1000, 0x20, "f.cold", NULL },
					     { 0x2000, 0x1000, "f", NULL } };
	const us_gva start[] = { 0x1000, 0x1020, 0x2000 };
	const us_gva part[] = { 0x1000, 0x1020 };
	expect_starts(sym, 2, start, 3, part, 2);
}

static void block_elsewhere_is_no_start(void **state)
{
	(void)state;
	const struct us_elf_symbol sym[] = { { 0x1000, 0x1000, "f", NULL },
					     { 0x2000, 0x10, "g.__part.1", NULL },
					     { 0x2010, 0xff0, "f.part.0", NULL } };
	const us_gva start[] = { 0x1000, 0x2000, 0x2010 };
	const us_gva part[] = { 0x2000 };
	expect_starts(sym, 3, start, 3, part, 1);
}

static void image_without_symbols(void **state)
{
	(void)state;
	expect_starts(NULL, 0, NULL, 0, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_without_a_symbol_is_nobodys),
		cmocka_unit_test(padding_is_no_code),
		cmocka_unit_test(function_without_a_size_goes_on),
		cmocka_unit_test(split_part_and_what_is_behind_it),
		cmocka_unit_test(block_elsewhere_is_no_start),
		cmocka_unit_test(image_without_symbols),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
