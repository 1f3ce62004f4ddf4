/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page tables of RISC-V by hand: three modes, superpages, Svnapot, hostile ones. */
#include "paged-guest.h"

#define V     1ULL
#define R     2ULL
#define W     4ULL
#define X     8ULL
#define A     0x40ULL
#define D     0x80ULL
#define N     (1ULL << 63)
#define SV(n) ((n) << 60)

static uint64_t to(us_gpa at)
{
	return at >> 12 << 10 | V;
}

static struct us_space space(uint64_t mode, us_gpa root)
{
	return us_riscv_space(SV(mode) | 0x123ULL << 44 | root >> 12, false);
}

/* Three levels: 4 KiB at 0, 2 MiB at 2 MiB, 1 GiB at 1 GiB. */
static void tables(void)
{
	put64(0x1000, 0, to(0x2000));
	put64(0x1000, 1, to(0x40000000) | R | X);
	put64(0x1000, 511, to(0x2000));
	put64(0x2000, 0, to(0x3000));
	put64(0x2000, 1, to(0x800000) | R | W | A | D);
	put64(0x2000, 2, to(0x801000) | R); /* not aligned */
	put64(0x3000, 0, to(0x5000) | R | X);
	put64(0x3000, 1, to(0x6000) | W); /* reserved */
	put64(0x3000, 2, to(0x7000));	  /* a table below the last level */
	put64(0x3000, 3, to(0x7000) | X);
	for (unsigned i = 16; i < 32; i++)
		put64(0x3000, i, to(0x28000) | R | X | N);
	put64(0x3000, 32, to(0x24000) | R | X | N); /* no such size */
	put64(0x3000, 33, to(0x9000) | R | 1ULL << 54);
}

static void three_levels(void **state)
{
	(void)state;
	tables();
	struct us_space s = space(8, 0x1000);
	assert_int_equal(s.root, 0x1000);
	expect(s, 0x123, 0x5123, 0xedd);
	expect(s, 0x200000 + 0x12345, 0x812345, 0x200000 - 0x12345);
	expect(s, 0x40000000 + 0x1234567, 0x41234567, 0x40000000 - 0x1234567);
	expect(s, 0xffffffffc0000010, 0x5010, 0xff0);
	expect(s, 0x3000, 0x7000, 0x1000);
	expect_none(s, 0x400000);
	expect_none(s, 0x1000);
	expect_none(s, 0x2000);
	expect_none(s, 0x21000);
	expect_none(s, 0x4000);
	expect_none(s, 1ULL << 39); /* not canonical */
	expect_none(s, 0x0000007fc0000010);
}

static void more_levels(void **state)
{
	(void)state;
	tables();
	put64(0x8000, 256, to(0x1000));
	put64(0x9000, 511, to(0x8000));
	put64(0x9000, 1, to(0x1000000000000) | R | X);
	struct us_space s = space(9, 0x8000);
	expect(s, 0xffff800000000123, 0x5123, 0xedd);
	expect_none(s, 0x0000800000000123);
	s = space(10, 0x9000);
	expect(s, 0xffff800000000123, 0x5123, 0xedd);
	expect(s, 0x0001000000000001, 0x1000000000001, 0xffffffffffff);
}

static void napot(void **state)
{
	(void)state;
	tables();
	struct us_space s = space(8, 0x1000);
	expect(s, 0x10004, 0x20004, 0xfffc);
	expect(s, 0x1f008, 0x2f008, 0xff8);
	expect_none(s, 0x20000);
}

static void modes(void **state)
{
	(void)state;
	struct us_space s = us_riscv_space(0, false);
	assert_int_equal(s.mode, US_PAGING_OFF);
	s = us_riscv_space(SV(8ULL) | 1, true);
	assert_int_equal(s.mode, US_PAGING_OFF);
	s = us_riscv_space(SV(11ULL) | 1, false);
	assert_int_equal(s.mode, US_PAGING_UNKNOWN);
	expect_none(s, 0);
}

static void data_is_told_from_code(void **state)
{
	(void)state;
	tables();
	struct us_space s = space(8, 0x1000);
	for (int i = 0; i < 2; i++) { /* walked, from the cache */
		assert_false(us_paging_is_data(&paging, &s, 0));
		assert_true(us_paging_is_data(&paging, &s, 0x200000));
		assert_false(us_paging_is_data(&paging, &s, 0x4000));
	}
	put64(0x3000, 0, to(0x5000) | R);
	us_paging_new_sample(&paging);
	assert_true(us_paging_is_data(&paging, &s, 0));
	put64(0x3000, 0, to(0x5000) | R | A); /* set by the processor */
	us_paging_new_sample(&paging);
	expect(s, 0, 0x5000, 0x1000);
}

static void hostile(void **state)
{
	(void)state;
	uint64_t x = 88172645463325252ULL;
	put64(0x1000, 0, to(0x1000));
	put64(0x1000, 1, to(0xfffffff000));
	struct us_space s = space(10, 0x1000);
	expect_none(s, 0);
	expect_none(s, 1ULL << 48);
	for (unsigned i = 0; i < RAM_SIZE / 8; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		put64(0, i, to(x & 0xff000) | (x >> 60 ? 0 : x));
	}
	for (unsigned i = 0; i < 200000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		us_gpa pa;
		struct us_space t = us_riscv_space(
			SV(8ULL + i % 3) | (i % 5 ? x & 0xff : x >> 20), false);
		us_gva va = (us_gva)((int64_t)x >> 20);
		us_paging_translate(&paging, &t, va, &pa, NULL);
		us_paging_is_data(&paging, &t, va);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(three_levels),
		TEST(more_levels),
		TEST(napot),
		TEST(modes),
		TEST(data_is_told_from_code),
		TEST(hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
