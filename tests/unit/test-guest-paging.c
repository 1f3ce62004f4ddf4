/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hand-built page tables: every mode and page size, hostile ones, and the cache. */
#include "paged-guest.h"

#define P  0x1ULL /* present */
#define A  0x20ULL
#define D  0x40ULL
#define PS 0x80ULL
#define NX (1ULL << 63)

static void put32(us_gpa table, unsigned index, uint32_t entry)
{
	memcpy(ram + table + index * 4, &entry, 4);
}

static struct us_space space(uint8_t mode, us_gpa root)
{
	return (struct us_space){ .root = root, .mode = mode };
}

/* 0xffff8000'00000000: 4 KiB at 0, 2 MiB at 2 MiB, 1 GiB at 1 GiB. */
static us_gpa long_mode_tables(void)
{
	put64(0x1000, 256, 0x2000 | P | NX);
	put64(0x2000, 0, 0x3000 | P);
	put64(0x2000, 1, 0x40000000 | P | PS);
	put64(0x3000, 0, 0x4000 | P);
	put64(0x3000, 1, 0x800000 | P | PS | A | D);
	put64(0x4000, 0, 0x5000 | P | NX);
	put64(0x4000, 1, 0x7000 | P);
	put64(0x4000, 511, 0x6000 | P);
	return 0x1000;
}

static void four_levels(void **state)
{
	(void)state;
	const us_gva base = 0xffff800000000000;
	/* Flag bits and PCID in CR3 are no address bits. */
	struct us_space s = space(US_PAGING_X86_4, long_mode_tables() | NX | 0x123);
	expect(s, base + 0x123, 0x5123, 0xedd);
	expect(s, base + 0x1000, 0x7000, 0x1000);
	expect(s, base + 0x1fffff, 0x6fff, 1);
	expect(s, base + 0x200000 + 0x12345, 0x812345, 0x200000 - 0x12345);
	expect(s, base + 0x40000000 + 0x1234567, 0x41234567, 0x40000000 - 0x1234567);
	expect_none(s, base + 0x2000);		   /* not present */
	expect_none(s, base + 0x400000);	   /* no such table */
	expect_none(s, base & 0x0000ffffffff0000); /* not canonical */
	expect_none(s, 0x0001800000000000);
	expect_none(s, 0);
}

/* The last entry decides; what is not mapped or not known may be code. */
static void data_is_told_from_code(void **state)
{
	(void)state;
	const us_gva base = 0xffff800000000000;
	struct us_space s = space(US_PAGING_X86_4, long_mode_tables());
	for (int i = 0; i < 2; i++) { /* walked, from the cache */
		assert_true(us_paging_is_data(&paging, &s, base));
		assert_false(us_paging_is_data(&paging, &s, base + 0x1000));
		assert_false(us_paging_is_data(&paging, &s, base + 0x200000));
		assert_false(us_paging_is_data(&paging, &s, base + 0x2000));
	}
	put64(0x4000, 1, 0x7000 | P | NX);
	us_paging_new_sample(&paging);
	assert_true(us_paging_is_data(&paging, &s, base + 0x1000));
	s.mode = US_PAGING_OFF;
	assert_false(us_paging_is_data(&paging, &s, base));
	s.mode = US_PAGING_UNKNOWN;
	assert_false(us_paging_is_data(&paging, &s, base));
}

static void five_levels(void **state)
{
	(void)state;
	put64(0x8000, 511, (long_mode_tables() | P));
	put64(0x8000, 3, (0x1000 | P));
	struct us_space s = space(US_PAGING_X86_5, 0x8000);
	expect(s, 0xffff800000000123, 0x5123, 0xedd);
	expect(s, (3ULL << 48) + (256ULL << 39) + 0x201000, 0x801000, 0x1ff000);
	expect_none(s, (3ULL << 48) + (1ULL << 58));
	put64(0x8000, 3, 0x1000 | P | PS); /* reserved at this level */
	expect_none(s, (3ULL << 48) + (256ULL << 39) + 0x1000);
}

static void pae(void **state)
{
	(void)state;
	put64(0x1020, 3, 0x2000 | P); /* the root is aligned to 32 bytes only */
	put64(0x2000, 0, 0x3000 | P);
	put64(0x2000, 511, 0x200000 | P | PS);
	put64(0x3000, 5, 0x5000 | P | NX);
	struct us_space s = space(US_PAGING_X86_PAE, 0x1020 | 0x18);
	expect(s, 0xc0005010, 0x5010, 0xff0);
	expect(s, 0xffffffff, 0x3fffff, 1);
	expect_none(s, 0x00005010);
	expect_none(s, 0x1c0005010);
	put64(0x1020, 3, 0x2000 | P | PS); /* no 1 GiB pages here */
	expect_none(s, 0xc0006010);
}

static void two_levels(void **state)
{
	(void)state;
	put32(0x1000, 0x301, 0x2000 | P);
	put32(0x1000, 0x302, 0x00800000 | 3 << 13 | P | PS); /* PSE-36 */
	put32(0x1000, 0x303, 0x00800000 | 1 << 21 | P | PS); /* reserved bit */
	put32(0x2000, 0x3ff, 0x9000 | P);
	struct us_space s = space(US_PAGING_X86_32, 0x1000 | 0x18);
	expect(s, 0xc07ffabc, 0x9abc, 0x544);
	expect(s, 0xc0812345, 0x300812345, 0x400000 - 0x12345);
	expect_none(s, 0xc0c00000);
	expect_none(s, 0xc0400000);
	expect_none(s, 0x1c07ffabc);
}

static void off_and_unknown(void **state)
{
	(void)state;
	uint8_t buf[8];
	struct us_space s = space(US_PAGING_OFF, 0xdead000);
	ram[0x777] = 42;
	expect(s, 0x777, 0x777, -0x777ULL);
	assert_true(us_paging_read(&paging, &s, 0x777, buf, 1));
	assert_int_equal(buf[0], 42);
	assert_false(us_paging_read(&paging, &s, RAM_SIZE - 1, buf, 2));
	assert_false(us_paging_read(&paging, &s, UINT64_MAX - 1, buf, 8));
	s = space(US_PAGING_UNKNOWN, 0x1000);
	expect_none(s, 0x777);
	assert_false(us_paging_read(&paging, &s, 0x777, buf, 1));
	s.mode = 200;
	expect_none(s, 0x777);
}

static void reads_cross_pages(void **state)
{
	(void)state;
	const us_gva base = 0xffff800000000000;
	struct us_space s = space(US_PAGING_X86_4, long_mode_tables());
	uint8_t buf[0x2000];
	for (unsigned i = 0; i < 0x1000; i++) {
		ram[0x5000 + i] = (uint8_t)(i * 3);
		ram[0x7000 + i] = (uint8_t)(i * 5);
	}
	assert_true(us_paging_read(&paging, &s, base + 0xffd, buf, 8));
	assert_memory_equal(buf, ram + 0x5ffd, 3);
	assert_memory_equal(buf + 3, ram + 0x7000, 5);
	assert_true(us_paging_read(&paging, &s, base, buf, 0x2000));
	assert_memory_equal(buf, ram + 0x5000, 0x1000);
	assert_memory_equal(buf + 0x1000, ram + 0x7000, 0x1000);
	assert_false(us_paging_read(&paging, &s, base + 1, buf, 0x2000));
	/* Translated, but there is no RAM. */
	assert_false(us_paging_read(&paging, &s, base + 0x200000, buf, 1));
	assert_false(us_paging_read(&paging, &s, UINT64_MAX, buf, 2));
}

/* Tables that point at themselves, outside RAM, or to what cannot be. */
static void hostile_tables(void **state)
{
	(void)state;
	uint64_t word;
	struct us_space s = space(US_PAGING_X86_4, 0x1000);
	for (unsigned i = 0; i < 512; i++)
		put64(0x1000, i, 0x1000 | P); /* every walk ends in the table */
	expect(s, 0x7fffdeadb000, 0x1000, 0x1000);
	assert_true(us_paging_read(&paging, &s, 0x7fffdeadb010, &word, 8));
	assert_int_equal(word, 0x1000 | P);
	s.mode = US_PAGING_X86_5;
	expect(s, 0x7fffdeadb000, 0x1000, 0x1000);

	fresh(NULL);
	s.mode = US_PAGING_X86_4;
	put64(0x1000, 0, 0x000ffffffffff000 | P);
	expect_none(s, 0);
	put64(0x1000, 0, 0x2000 | P | PS); /* reserved */
	expect_none(s, 0);
	put64(0x1000, 0, 0x2000 | P);
	put64(0x2000, 0, 0x40002000 | P | PS); /* 1 GiB, not aligned */
	expect_none(s, 0);
	put64(0x2000, 0, 0x40001000 | P | PS); /* that bit is the PAT's */
	expect(s, 0, 0x40000000, 1 << 30);
	s.root = 0x000ffffffffff000;
	expect_none(s, 0);
	s.root = RAM_SIZE - 0x1000;
	expect_none(s, 0);
}

static void cache_sees_changed_entries(void **state)
{
	(void)state;
	const us_gva va = 0xffff800000000008;
	struct us_space s = space(US_PAGING_X86_4, long_mode_tables());
	us_gpa pa;
	expect(s, va, 0x5008, 0xff8);

	put64(0x4000, 0, 0x6000 | P | NX); /* remapped */
	us_paging_new_sample(&paging);
	expect(s, va, 0x6008, 0xff8);
	put64(0x4000, 0, 0x6000 | P | NX | A | D); /* only used */
	us_paging_new_sample(&paging);
	put64(0x1000, 256, 0); /* not looked at again: the entry below is as it was */
	assert_true(us_paging_translate(&paging, &s, va, &pa, NULL));
	assert_int_equal(pa, 0x6008);
	put64(0x4000, 0, 0); /* unmapped */
	us_paging_new_sample(&paging);
	expect_none(s, va);
}

static void cache_knows_the_space(void **state)
{
	(void)state;
	const us_gva va = 0x8;
	put64(0x1000, 0, 0x2000 | P);
	put64(0x2000, 0, 0x3000 | P);
	put64(0x3000, 0, 0x4000 | P);
	put64(0x4000, 0, 0x5000 | P);
	put64(0x8000, 0, 0x9000 | P);
	put64(0x9000, 0, 0x200000 | P | PS);
	expect(space(US_PAGING_X86_4, 0x1000), va, 0x5008, 0xff8);
	expect_none(space(US_PAGING_X86_4, 0x8000), va); /* reserved bit 21 */
	expect(space(US_PAGING_X86_PAE, 0x8000), va, 0x200008, 0x1ffff8);
	expect(space(US_PAGING_X86_4, 0x1000), va, 0x5008, 0xff8);
	expect(space(US_PAGING_OFF, 0), va, 8, -8ULL);
	expect(space(US_PAGING_X86_4, 0x1000), va, 0x5008, 0xff8);
}

/* The cached answer must be the walked one, whatever shares a slot. */
static void cache_agrees_with_the_walk(void **state)
{
	(void)state;
	struct us_space s = space(US_PAGING_X86_4, long_mode_tables());
	for (unsigned i = 0; i < 512; i++)
		put64(0x4000, i, (uint64_t)(i % 16) << 12 | P);
	uint32_t seed = 1;
	for (int i = 0; i < 20000; i++) {
		seed = seed * 1664525 + 1013904223;
		us_gva va = 0xffff800000000000 + (seed >> 8) % 0x600000;
		static struct us_paging cold;
		us_gpa a = 0, b = 0;
		us_paging_init(&cold, &mem);
		bool hot_ok = us_paging_translate(&paging, &s, va, &a, NULL);
		bool cold_ok = us_paging_translate(&cold, &s, va, &b, NULL);
		assert_int_equal(hot_ok, cold_ok);
		assert_int_equal(a, b);
		if (i % 100 == 0)
			us_paging_new_sample(&paging);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(four_levels),
		TEST(data_is_told_from_code),
		TEST(five_levels),
		TEST(pae),
		TEST(two_levels),
		TEST(off_and_unknown),
		TEST(reads_cross_pages),
		TEST(hostile_tables),
		TEST(cache_sees_changed_entries),
		TEST(cache_knows_the_space),
		TEST(cache_agrees_with_the_walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
