/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of unwind rules: what was put in is found again, by a naive search too. */
#include "unit.h"

#include "unwind/cfi_build.h"

#include <errno.h>

static struct us_cfi_rule rule_of(int off)
{
	return (struct us_cfi_rule){ .cfa = US_CFI_CFA_REG,
				     .cfa_reg = US_X86_RSP,
				     .cfa_off = off,
				     .pc = US_CFI_AT_CFA,
				     .pc_off = -8 };
}

static uint32_t add_rule(struct us_cfi_builder *b, int off)
{
	struct us_cfi_rule r = rule_of(off);
	uint32_t id;
	assert_int_equal(us_cfi_builder_rule(b, &r, NULL, &id), 0);
	return id;
}

static void add_row(struct us_cfi_builder *b, uint64_t addr, int off, unsigned flags)
{
	uint32_t id = off ? add_rule(b, off) : US_CFI_NO_RULE;
	assert_int_equal(us_cfi_builder_row(b, addr, id, flags), 0);
}

static struct us_cfi_builder *new_builder(void)
{
	struct us_cfi_builder *b;
	assert_int_equal(us_cfi_builder_new(8, &b), 0);
	return b;
}

static struct us_cfi_table *finish(struct us_cfi_builder *b)
{
	struct us_cfi_table *t;
	assert_int_equal(us_cfi_builder_finish(b, &t), 0);
	us_cfi_builder_free(b);
	return t;
}

/* The CFA offset at addr, 0 for none; *start as found. */
static int find(const struct us_cfi_table *t, uint64_t addr, uint64_t *start)
{
	struct us_cfi_row row;
	if (!us_cfi_table_find(t, addr, &row))
		return 0;
	*start = row.start;
	return row.rule->cfa_off;
}

static size_t count_rows(const struct us_cfi_table *t)
{
	struct us_cfi_table_info info;
	us_cfi_table_info(t, &info);
	return info.n_row;
}

static void test_one_function(void **state)
{
	(void)state;
	struct us_cfi_builder *b = new_builder();
	uint64_t start = 1;
	add_row(b, 0x1000, 8, US_CFI_START);
	add_row(b, 0x1001, 16, 0);
	add_row(b, 0x1004, 16, 0); /* says the same */
	add_row(b, 0x1020, 8, 0);
	add_row(b, 0x1021, 0, 0);
	struct us_cfi_table *t = finish(b);
	assert_int_equal(count_rows(t), 4);
	assert_int_equal(find(t, 0xfff, &start), 0);
	assert_int_equal(find(t, 0x1000, &start), 8);
	assert_int_equal(start, 0x1000);
	assert_int_equal(find(t, 0x101f, &start), 16);
	assert_int_equal(find(t, 0x1020, &start), 8);
	assert_int_equal(start, 0x1000);
	assert_int_equal(find(t, 0x1021, &start), 0);
	us_cfi_table_free(t);
}

/* Adjoining functions: the start is that of the one at hand, and a part that was split
 * off has none. */
static void test_starts(void **state)
{
	(void)state;
	struct us_cfi_builder *b = new_builder();
	uint64_t start = 1;
	add_row(b, 0x1100, 0, 0);
	add_row(b, 0x1080, 8, US_CFI_BORDER);
	add_row(b, 0x1080, 0, 0); /* the end of the one before */
	add_row(b, 0x1040, 8, US_CFI_START);
	add_row(b, 0x1000, 8, US_CFI_START);
	struct us_cfi_table *t = finish(b);
	assert_int_equal(find(t, 0x103f, &start), 8);
	assert_int_equal(start, 0x1000);
	assert_int_equal(find(t, 0x1040, &start), 8);
	assert_int_equal(start, 0x1040);
	assert_int_equal(find(t, 0x1090, &start), 8);
	assert_int_equal(start, 0);
	us_cfi_table_free(t);
}

static void test_equal_rules_are_one(void **state)
{
	(void)state;
	struct us_cfi_builder *b = new_builder();
	struct us_cfi_saved saved[2] = {
		{ .reg = US_X86_RBX, .how = US_CFI_AT_CFA, .off = -24 },
		{ .reg = US_X86_RBP, .how = US_CFI_AT_CFA, .off = -16 }
	};
	struct us_cfi_rule r = rule_of(32);
	uint32_t a, c, d, e;
	r.n_saved = 2;
	assert_int_equal(us_cfi_builder_rule(b, &r, saved, &a), 0);
	for (int i = 0; i < 1000; i++)
		add_rule(b, 8 * i + 8);
	assert_int_equal(us_cfi_builder_rule(b, &r, saved, &c), 0);
	assert_int_equal(a, c);
	saved[1].off = -32;
	assert_int_equal(us_cfi_builder_rule(b, &r, saved, &d), 0);
	assert_int_not_equal(a, d);
	r.n_saved = US_CFI_MAX_SAVED + 1;
	assert_int_equal(us_cfi_builder_rule(b, &r, saved, &e), -EINVAL);
	us_cfi_builder_row(b, 0x10, d, 0);
	us_cfi_builder_row(b, 0x20, US_CFI_NO_RULE, 0);
	struct us_cfi_table *t = finish(b);
	struct us_cfi_row row;
	assert_true(us_cfi_table_find(t, 0x18, &row));
	assert_int_equal(row.rule->n_saved, 2);
	assert_int_equal(row.saved[1].off, -32);
	assert_int_equal(row.saved[1].reg, US_X86_RBP);
	us_cfi_table_free(t);
}

#define N_NAIVE 5000

static void test_against_naive_search(void **state)
{
	(void)state;
	struct us_cfi_builder *b = new_builder();
	static uint64_t addr[N_NAIVE];
	static int off[N_NAIVE];
	uint64_t at = 0xffffffff81000000, start;
	srandom(1);
	for (size_t i = 0; i < N_NAIVE; i++) {
		at += 1 + (uint64_t)random() % (i % 1000 ? 40 : 1U << 20);
		addr[i] = at;
		off[i] = i == N_NAIVE - 1 ? 0 : 8 * (int)(random() % 50);
	}
	for (size_t i = 0; i < N_NAIVE; i++) /* in a strange order */
		add_row(b, addr[i * 7 % N_NAIVE], off[i * 7 % N_NAIVE], 0);
	struct us_cfi_table *t = finish(b);
	for (size_t i = 0; i + 1 < N_NAIVE; i++) {
		assert_int_equal(find(t, addr[i], &start), off[i]);
		assert_int_equal(find(t, addr[i + 1] - 1, &start), off[i]);
	}
	assert_int_equal(find(t, addr[0] - 1, &start), 0);
	us_cfi_table_free(t);
}

/* More rules than 16 bits hold, and more addresses than 32 bits. */
static void test_parts(void **state)
{
	(void)state;
	struct us_cfi_builder *b = new_builder();
	uint64_t start;
	for (int i = 1; i <= 150000; i++)
		add_row(b, 0x1000 + 4 * (uint64_t)i, 8 * i, 0);
	add_row(b, 0x4000000000, 8, 0);
	add_row(b, 0x4000000010, 0, 0);
	struct us_cfi_table *t = finish(b);
	for (int i = 1; i <= 150000; i++)
		assert_int_equal(find(t, 0x1003 + 4 * (uint64_t)i, &start), 8 * i);
	assert_int_equal(find(t, 0x3fffffffff, &start), 8 * 150000);
	assert_int_equal(find(t, 0x400000000f, &start), 8);
	assert_int_equal(find(t, 0x4000000010, &start), 0);
	us_cfi_table_free(t);
}

/* Rows so far apart that each would be a part. */
static void test_too_many_parts(void **state)
{
	(void)state;
	struct us_cfi_builder *b = new_builder();
	struct us_cfi_table_info info;
	for (uint64_t i = 0; i < 1000; i++)
		add_row(b, i << 40, 8 + 8 * (int)(i % 2), 0);
	struct us_cfi_table *t = finish(b);
	us_cfi_table_info(t, &info);
	assert_int_equal(info.n_row, 64);
	assert_int_equal(info.n_left_out, 1000 - 64);
	us_cfi_table_free(t);
}

static struct us_cfi_table *small_table(uint64_t start, uint64_t end, int off)
{
	struct us_cfi_builder *b = new_builder();
	add_row(b, start, off, US_CFI_START);
	add_row(b, end, 0, 0);
	return finish(b);
}

static int find_at(const struct us_cfi *c, us_gpa root, us_gva pc, us_gva *start)
{
	struct us_cfi_row row;
	if (!us_cfi_find(c, root, pc, &row))
		return 0;
	*start = row.start;
	return row.rule->cfa_off;
}

static void test_places(void **state)
{
	(void)state;
	static struct us_cfi c;
	struct us_cfi_table *kernel = small_table(0x1000, 0x9000, 8);
	struct us_cfi_table *module = small_table(0x100, 0x200, 16);
	struct us_cfi_table *program = small_table(0x1000, 0x2000, 24);
	us_gva start = 0, bias = 0xffffffff80000000;
	assert_int_equal(us_cfi_place(&c, kernel, bias, US_CFI_ANY_ROOT), 0);
	assert_int_equal(us_cfi_place(&c, module, bias + 0x4000, US_CFI_ANY_ROOT), 0);
	assert_int_equal(us_cfi_place(&c, program, 0, 0x5000), 0);
	assert_int_equal(us_cfi_place(&c, program, 0x1000, 0x6000), 0);
	assert_int_equal(find_at(&c, 7, bias + 0x1000, &start), 8);
	assert_int_equal(start, bias + 0x1000);
	assert_int_equal(find_at(&c, 7, bias + 0x4180, &start), 16);
	assert_int_equal(find_at(&c, 7, bias + 0x5000, &start), 8);
	assert_int_equal(find_at(&c, 7, bias + 0x9000, &start), 0);
	assert_int_equal(find_at(&c, 0x5000, 0x1800, &start), 24);
	assert_int_equal(find_at(&c, 0x8000000000005fff, 0x1800, &start), 24);
	assert_int_equal(find_at(&c, 0x6000, 0x1800, &start), 0);
	assert_int_equal(find_at(&c, 0x6000, 0x2800, &start), 24);
	us_cfi_remove(&c, program);
	assert_int_equal(c.n, 2);
	assert_int_equal(find_at(&c, 0x5000, 0x1800, &start), 0);
	assert_int_equal(us_cfi_place(&c, kernel, UINT64_MAX - 0x8000, 0), -ERANGE);
	while (c.n < US_CFI_MAX_PLACES)
		assert_int_equal(us_cfi_place(&c, kernel, c.n, 0), 0);
	assert_int_equal(us_cfi_place(&c, kernel, 0, 0), -ENOSPC);
	us_cfi_table_free(kernel);
	us_cfi_table_free(module);
	us_cfi_table_free(program);
}

static void test_nothing(void **state)
{
	(void)state;
	static struct us_cfi c;
	us_gva start;
	struct us_cfi_table *t = finish(new_builder());
	assert_int_equal(find(t, 0, &start), 0);
	assert_int_equal(us_cfi_place(&c, t, 0, 0), 0);
	assert_int_equal(find_at(&c, 0, 0, &start), 0);
	us_cfi_table_free(t);
	us_cfi_table_free(NULL);
	us_cfi_builder_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_function),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_equal_rules_are_one),
		cmocka_unit_test(test_against_naive_search),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_too_many_parts),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_nothing),
	};
	return cmocka_run_group_tests_name("unwind-cfi", tests, NULL, NULL);
}
