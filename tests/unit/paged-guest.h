/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paged-guest.h: 1 MiB of memory for page tables that a test builds by hand. */
#ifndef US_TEST_PAGED_GUEST_H
#define US_TEST_PAGED_GUEST_H

#include "unit.h"

#include "guest/paging.h"

#define RAM_SIZE (1 << 20)

static uint8_t ram[RAM_SIZE];
static struct us_region region = { .start = 0, .size = RAM_SIZE, .host = ram };
static struct us_mem mem;
static struct us_paging paging;

static int fresh(void **state)
{
	(void)state;
	memset(ram, 0, sizeof(ram));
	memset(&mem, 0, sizeof(mem));
	mem.region = &region;
	mem.n_region = 1;
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	return 0;
}

static void put64(us_gpa table, unsigned index, uint64_t entry)
{
	memcpy(ram + table + index * 8, &entry, 8);
}

static inline void expect(struct us_space s, us_gva va, us_gpa want, uint64_t want_left)
{
	us_gpa pa = 0;
	uint64_t left = 0;
	for (int i = 0; i < 3; i++) { /* walked, from the cache, checked again */
		assert_true(us_paging_translate(&paging, &s, va, &pa, &left));
		assert_int_equal(pa, want);
		assert_int_equal(left, want_left);
		if (i == 1)
			us_paging_new_sample(&paging);
	}
}

static inline void expect_none(struct us_space s, us_gva va)
{
	us_gpa pa;
	for (int i = 0; i < 2; i++)
		assert_false(us_paging_translate(&paging, &s, va, &pa, NULL));
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

#endif
