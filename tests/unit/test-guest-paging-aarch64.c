/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page tables of aarch64 by hand: granules, sizes of addresses, blocks, hostile ones.
 */
#include "paged-guest.h"

#define TABLE 3ULL
#define BLOCK 1ULL
#define PAGE  (3ULL | 1ULL << 10)
#define PXN   (1ULL << 53)
#define UXN   (1ULL << 54)

/* Fields of TCR_EL1. */
#define T0SZ(bits) (64ULL - (bits))
#define T1SZ(bits) ((64ULL - (bits)) << 16)
#define TG0_64K	   (1ULL << 14)
#define TG0_16K	   (2ULL << 14)
#define TG1_16K	   (1ULL << 30)
#define TG1_4K	   (2ULL << 30)
#define TG1_64K	   (3ULL << 30)
#define IPS_48	   (5ULL << 32)
#define IPS_52	   (6ULL << 32)
#define TBI0	   (1ULL << 37)
#define TBI1	   (1ULL << 38)
#define EPD0	   (1ULL << 7)
#define EPD1	   (1ULL << 23)
#define DS	   (1ULL << 59)

#define SMALL (T0SZ(39) | T1SZ(48) | TG1_4K | IPS_48)

static struct us_space space(us_gpa lower, us_gpa upper, uint64_t tcr)
{
	return us_aarch64_space(lower, upper, tcr, 1);
}

/* 4 KiB granule, 48 bits in the upper half, 39 in the lower. */
static struct us_space small_tables(uint64_t tcr)
{
	put64(0x1000, 0, 0x2000 | TABLE);
	put64(0x2000, 0, 0x3000 | TABLE);
	put64(0x2000, 1, 0x40000000 | BLOCK);
	put64(0x3000, 0, 0x4000 | TABLE);
	put64(0x3000, 1, 0x800000 | BLOCK);
	put64(0x4000, 0, 0x5000 | PAGE | UXN);
	put64(0x4000, 1, 0x6000 | BLOCK); /* reserved in the last level */
	put64(0x4000, 2, 0x7000 | PAGE | UXN | PXN);
	put64(0x8000, 0, 0x9000 | TABLE);
	put64(0x8000, 2, 0x80000000 | BLOCK | PXN);
	put64(0x9000, 511, 0xa00000 | BLOCK);
	return space(0x8000 | 0x77ULL << 48, 0x1000 | 0x88ULL << 48 | 1, tcr);
}

static void two_halves(void **state)
{
	(void)state;
	const us_gva base = 0xffff000000000000;
	struct us_space s = small_tables(SMALL);
	assert_int_equal(s.root, 0x8000); /* without ASID */
	expect(s, base + 0x123, 0x5123, 0xedd);
	expect(s, base + 0x200000 + 0x12345, 0x812345, 0x200000 - 0x12345);
	expect(s, base + 0x40000000 + 0x1234567, 0x41234567, 0x40000000 - 0x1234567);
	expect(s, 0x3fe00000 + 5, 0xa00005, 0x200000 - 5);
	expect(s, 0x80000000, 0x80000000, 0x40000000);
	expect_none(s, base + 0x1000);
	expect_none(s, base + 0x3000);
	expect_none(s, 1ULL << 39); /* more than T0SZ allows */
	expect_none(s, 0x00ff000000000000);
	expect_none(s, 0xfffe000000000000);
}

static void halves_can_be_off(void **state)
{
	(void)state;
	struct us_space s = small_tables(SMALL | EPD0);
	expect_none(s, 0x80000000);
	expect(s, 0xffff000000000000, 0x5000, 0x1000);
	s = small_tables(SMALL | EPD1);
	expect(s, 0x80000000, 0x80000000, 0x40000000);
	expect_none(s, 0xffff000000000000);
	s = us_aarch64_space(0x8000, 0x1000, SMALL, 0);
	assert_int_equal(s.mode, US_PAGING_OFF);
}

static void tags_do_not_count(void **state)
{
	(void)state;
	struct us_space s = small_tables(SMALL | TBI0 | TBI1);
	expect(s, 0x5a00000080000000, 0x80000000, 0x40000000);
	expect(s, 0x12ff000000000123, 0x5123, 0xedd);
	s = small_tables(SMALL | TBI1);
	expect_none(s, 0x5a00000080000000);
}

static void data_is_told_from_code(void **state)
{
	(void)state;
	const us_gva base = 0xffff000000000000;
	struct us_space s = small_tables(SMALL);
	for (int i = 0; i < 2; i++) { /* walked, from the cache */
		assert_false(us_paging_is_data(&paging, &s, base));
		assert_true(us_paging_is_data(&paging, &s, base + 0x2000));
		assert_false(us_paging_is_data(&paging, &s, 0x80000000));
		assert_false(us_paging_is_data(&paging, &s, 0x1000));
	}
}

static void granule_16k(void **state)
{
	(void)state;
	uint64_t tcr = T0SZ(36) | T1SZ(48) | TG0_16K | TG1_16K | IPS_48;
	/* 48 bits: one bit for the first of four levels. */
	put64(0x4000, 1, 0x8000 | TABLE);
	put64(0x8000, 2047, 0xc000 | TABLE);
	put64(0xc000, 0, 0x10000 | TABLE);
	put64(0xc000, 1, 0x2000000 | BLOCK);
	put64(0xc000, 2047, 0x10000 | TABLE);
	put64(0x10000, 5, 0x14000 | PAGE);
	/* 36 bits: two levels. */
	put64(0x18000, 0, 0x10000 | TABLE);
	struct us_space s = space(0x18000, 0x4000, tcr);
	const us_gva last = 0xfffffff000000000;
	expect(s, last + 5 * 0x4000 + 7, 0x14007, 0x3ff9);
	expect(s, last + 0x2000000 + 9, 0x2000009, 0x2000000 - 9);
	expect(s, 0xfffffffffe014000, 0x14000, 0x4000);
	expect(s, 5 * 0x4000, 0x14000, 0x4000);
	expect_none(s, 6 * 0x4000);
	put64(0x8000, 2047, 0x1000000000 | BLOCK); /* not without LPA2 */
	us_paging_init(&paging, &mem);
	expect_none(s, last);
}

static void granule_64k(void **state)
{
	(void)state;
	uint64_t tcr = T0SZ(42) | T1SZ(52) | TG0_64K | TG1_64K | IPS_52;
	put64(0x10000, 0, 0x20000 | TABLE); /* 52 bits: 1,024 entries */
	put64(0x20000, 0, 0x30000 | TABLE);
	put64(0x20000, 1, 0x20000000 | BLOCK | 0xa000); /* 0xa << 48 */
	put64(0x30000, 3, 0x40000 | PAGE | 0x5000);	/* 0x5 << 48 */
	put64(0x50000, 8191, 0x30000 | TABLE);
	struct us_space s = space(0x50000, 0x10000, tcr);
	const us_gva base = 0xfff0000000000000;
	expect(s, base + 0x30010, 0x0005000000040010, 0xfff0);
	expect(s, base + 0x20000000 + 1, 0x000a000020000001, 0x1fffffff);
	expect(s, 8191ULL * 0x20000000 + 0x30000, 0x0005000000040000, 0x10000);
	expect_none(s, base + 0x40000);
	/* A root above 48 bits is outside this RAM. */
	s = space(0x50000, 0x10000 | 1 << 2, tcr);
	assert_int_equal(s.root_upper, 0x0001000000010000);
	expect_none(s, base + 0x30010);
}

static void addresses_of_52_bits(void **state)
{
	(void)state;
	uint64_t tcr = T0SZ(52) | T1SZ(52) | TG1_4K | IPS_52 | DS;
	put64(0x1000, 15, 0x2000 | TABLE); /* five levels; 16 entries in the first */
	put64(0x2000, 0, 0x3000 | TABLE);
	put64(0x2000, 1, 0x8000000000 | BLOCK | 2 << 8);
	put64(0x3000, 0, 0x4000 | TABLE);
	put64(0x4000, 0, 0x5000 | TABLE);
	put64(0x5000, 1, 0x6000 | PAGE | 1 << 8 | 1ULL << 49);
	struct us_space s = space(0x1000, 0x1000, tcr);
	const us_gva base = 0xffff000000000000;
	expect(s, base + 0x1008, 0x0006000000006008, 0xff8);
	expect(s, base + 0x8000000000 + 3, 0x0008008000000003, 0x7ffffffffd);
	expect(s, 0x000f000000001000, 0x0006000000006000, 0x1000);
	s = space(0x1000, 0x1000, tcr & ~DS); /* 52 bits are not to be had then */
	expect_none(s, base + 0x1008);
}

static void short_addresses(void **state)
{
	(void)state;
	/* 25 bits: two levels of 4 KiB, the first with 16 entries at 128 bytes. */
	put64(0x1080, 3, 0x4000 | TABLE);
	put64(0x4000, 1, 0x6000 | PAGE);
	struct us_space s = space(0x1080, 0, T0SZ(25) | T1SZ(25) | TG1_4K);
	expect(s, 0x601004, 0x6004, 0xffc);
	expect_none(s, 1 << 25);
	/* 16 bits: the last level alone. */
	s = space(0x4000, 0, T0SZ(16) | T1SZ(16) | TG1_4K);
	expect(s, 0x1004, 0x6004, 0xffc);
	s = space(0x4000, 0, T0SZ(13) | T1SZ(13) | TG1_4K);
	expect_none(s, 0x1004);
	s = space(0x4000, 0, T0SZ(39) | 3 << 14); /* no such granule */
	expect_none(s, 0x1004);
}

static void remapped(void **state)
{
	(void)state;
	const us_gva base = 0xffff000000000000;
	struct us_space s = small_tables(SMALL);
	expect(s, base, 0x5000, 0x1000);
	put64(0x4000, 0, 0xb000 | PAGE);
	us_paging_new_sample(&paging);
	expect(s, base, 0xb000, 0x1000);
	put64(0x4000, 0, 0);
	us_paging_new_sample(&paging);
	expect_none(s, base);
	/* The same root under another TCR is another space. */
	s = small_tables(SMALL);
	expect(s, base, 0x5000, 0x1000);
	s.control = T0SZ(39) | T1SZ(39) | TG1_4K;
	expect_none(s, base);
}

static void hostile(void **state)
{
	(void)state;
	/* A table that leads to itself, or outside RAM. */
	put64(0x1000, 0, 0x1000 | TABLE);
	put64(0x1000, 511, 0xfffffff000 | TABLE);
	struct us_space s = space(0x1000, 0xfffffffff000, SMALL);
	expect(s, 0x100, 0x1100, 0xf00);
	expect_none(s, 511ULL << 30);
	expect_none(s, 0xffff000000000000);
	uint64_t x = 88172645463325252ULL;
	for (unsigned i = 0; i < RAM_SIZE / 8; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		uint64_t entry = (x & 0xfffff) | 3 | (x & 7ULL << 8);
		put64(0, i, x & 1ULL << 40 ? x : entry);
	}
	for (unsigned i = 0; i < 200000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		us_gpa pa;
		struct us_space t = space(x & 0xffff8, x >> 20 & 0xffff8,
					  i % 3 ? x * 31 : SMALL | (x & DS));
		us_gva va = x & 1 ? x >> 28 : x | 0xffff000000000000;
		us_paging_translate(&paging, &t, va, &pa, NULL);
		us_paging_is_data(&paging, &t, va);
	}
}

static void signatures_are_stripped(void **state)
{
	(void)state;
	struct us_space s = small_tables(SMALL);
	assert_int_equal(us_aarch64_strip(&s, 0xffff000000401234), 0xffff000000401234);
	assert_int_equal(us_aarch64_strip(&s, 0x12b5000000401234), 0xffff000000401234);
	assert_int_equal(us_aarch64_strip(&s, 0x5a3fff8000401234), 0x0000000000401234);
	s.mode = US_PAGING_UNKNOWN;
	s.control = 0;
	assert_int_equal(us_aarch64_strip(&s, 0x5a3fff8000401234), 0x0000ff8000401234);
	assert_int_equal(us_aarch64_strip(&s, 0xffbfff8000401234), 0xffffff8000401234);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_halves),
		TEST(halves_can_be_off),
		TEST(tags_do_not_count),
		TEST(data_is_told_from_code),
		TEST(granule_16k),
		TEST(granule_64k),
		TEST(addresses_of_52_bits),
		TEST(short_addresses),
		TEST(remapped),
		TEST(hostile),
		TEST(signatures_are_stripped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
