/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of files that a guest's kernel has: found in its xarrays, and only if mapped
 * pages agree where they are; and such as lie. */
#include "unit.h"

#include "linux/page_cache.h"
#include "linux/program_pages.h"

#include <elf.h>
#include <string.h>

#define KERNEL	(~0ULL << 47)
#define FILE_AT (KERNEL + 0x100)
#define MAPPING (KERNEL + 0x200)
#define NODE(n) (KERNEL + 0x1000 + 0x400 * (us_gva)(n))
#define PAGES	(KERNEL + 0x4000) /* the struct page of frame FIRST */
#define FIRST	16U
#define FRAMES	64U /* ... and so many more, with a byte each that says which */
#define HEAD	8U
#define PAGE	4096U

static const struct us_page_cache_layout layout = { .mapping = 16,
						    .head = HEAD,
						    .shift = 0,
						    .slots = 40,
						    .n_slot = 64,
						    .index = 32,
						    .page_size = 64 };
static const struct us_space space = { .mode = US_PAGING_OFF };
static uint8_t kernel[0x8000];
static uint8_t *header; /* what frame 20 has; NULL: as the others */
static struct us_mem mem;
static struct us_paging paging;
static struct us_page_cache cache;
static uint64_t page; /* bytes of the guest's */

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	if (at >= KERNEL && at - KERNEL <= sizeof(kernel) - len) {
		memcpy(buf, kernel + (at - KERNEL), len);
		return true;
	}
	if (at / page < FIRST || at / page >= FIRST + FRAMES)
		return false;
	memset(buf, (int)(at / page), len);
	if (header && at / PAGE == 20)
		memcpy(buf, header + at % PAGE, len);
	return true;
}

static void put(us_gva at, uint64_t v)
{
	memcpy(kernel + (at - KERNEL), &v, sizeof(v));
}

static us_gva page_of(unsigned frame)
{
	return PAGES + (frame - FIRST) * 64ULL;
}

static void put_page(us_gva node, unsigned slot, unsigned frame, uint64_t index)
{
	put(node + 40 + 8ULL * slot, page_of(frame));
	put(page_of(frame) + 32, index);
}

/* A file of pages 0, 1, 2 (frames 20, 30, 40) and 64 (frame 50). */
static int set_up(void **state)
{
	(void)state;
	memset(kernel, 0, sizeof(kernel));
	header = NULL;
	page = PAGE;
	mem = (struct us_mem){ .read = read_guest };
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	put(FILE_AT + 16, MAPPING);
	put(MAPPING + HEAD, NODE(0) + 2);
	kernel[NODE(0) - KERNEL] = 6;
	put(NODE(0) + 40, NODE(1) + 2);
	put(NODE(0) + 48, NODE(2) + 2);
	put_page(NODE(1), 0, 20, 0);
	put_page(NODE(1), 1, 30, 1);
	put_page(NODE(1), 2, 40, 2);
	put_page(NODE(2), 0, 50, 64);
	return 0;
}

static void open_file(void)
{
	us_paging_new_sample(&paging);
	assert_true(us_page_cache_open(&cache, &layout, &paging, &space, FILE_AT));
	assert_int_equal(cache.page, PAGE);
	cache.page = page;
	us_page_cache_learn(&cache, 0, 20 * page);
	us_page_cache_learn(&cache, 1, 30 * page);
}

/* Which frame the page has; 0: it cannot be read. */
static unsigned frame_at(uint64_t index)
{
	uint8_t byte;
	return us_page_cache_read(&cache, index * page + 5, &byte, 1) ? byte : 0;
}

static void test_pages(void **state)
{
	(void)state;
	uint8_t two[2];
	open_file();
	assert_int_equal(frame_at(2), 40);
	assert_int_equal(frame_at(64), 50);
	assert_int_equal(frame_at(3), 0);
	assert_int_equal(frame_at(64 * 64), 0); /* beyond the root */
	assert_int_equal(frame_at(UINT64_MAX / PAGE), 0);
	assert_true(us_page_cache_read(&cache, 2 * PAGE - 1, two, 2));
	assert_true(two[0] == 30 && two[1] == 40);
	assert_false(us_page_cache_read(&cache, 3 * PAGE - 1, two, 2));
}

/* arm64's may have 64 KiB. */
static void test_large_pages(void **state)
{
	(void)state;
	uint8_t two[2];
	page = 65536;
	open_file();
	assert_int_equal(frame_at(2), 40);
	assert_int_equal(frame_at(64), 50);
	assert_true(us_page_cache_read(&cache, 2 * page - 1, two, 2));
	assert_true(two[0] == 30 && two[1] == 40);
	us_page_cache_expect(&cache, us_page_cache_base(&cache));
	us_program_pages_learn_mapping(&paging, &space, &cache, 40 * page, 41 * page,
				       2 * page);
	assert_int_equal(frame_at(1), 30);
}

/* A file of one page has no node; one page agrees with itself. */
static void test_agreement(void **state)
{
	(void)state;
	us_paging_new_sample(&paging);
	assert_true(us_page_cache_open(&cache, &layout, &paging, &space, FILE_AT));
	assert_int_equal(frame_at(2), 0);
	us_page_cache_learn(&cache, 0, 20 * PAGE);
	assert_int_equal(frame_at(2), 0);
	us_page_cache_learn(&cache, 7, 21 * PAGE); /* not in it: no word */
	assert_int_equal(frame_at(2), 0);
	us_page_cache_learn(&cache, 1, 30 * PAGE);
	assert_int_equal(frame_at(2), 40);
	us_page_cache_learn(&cache, 2, 41 * PAGE); /* a copy of its own */
	assert_int_equal(frame_at(2), 0);
	put(MAPPING + HEAD, page_of(20));
	open_file();
	assert_int_equal(frame_at(0), 0);
}

/* One page of its own is enough where others were known, if it agrees with them. */
static void test_expected(void **state)
{
	(void)state;
	open_file();
	const us_gva base = us_page_cache_base(&cache);
	assert_true(base);
	us_page_cache_expect(&cache, base);
	assert_int_equal(us_page_cache_base(&cache), 0);
	assert_int_equal(frame_at(2), 0);
	us_page_cache_learn(&cache, 1, 30 * PAGE);
	assert_int_equal(frame_at(2), 40);
	us_page_cache_expect(&cache, base + 64);
	us_page_cache_learn(&cache, 1, 30 * PAGE);
	assert_int_equal(frame_at(2), 0);
	assert_true(cache.torn && !us_page_cache_base(&cache));
}

/* One struct page for several, and entries that say "as that one". */
static void test_large(void **state)
{
	(void)state;
	put_page(NODE(1), 4, 32, 4);
	put(NODE(1) + 40 + 8 * 5, 4 << 2 | 2);
	put(NODE(1) + 40 + 8 * 6, 5 << 2 | 2); /* to one that is none itself */
	put(NODE(1) + 40 + 8 * 7, 63 << 2 | 2);
	open_file();
	assert_int_equal(frame_at(4), 32);
	assert_int_equal(frame_at(5), 33);
	assert_int_equal(frame_at(6), 0);
	assert_int_equal(frame_at(7), 0);
}

/* --- a program that was forked, and has touched nothing but its code since --- */

#define PROGRAM 0x400000ULL

static void put_header(uint8_t bytes[PAGE])
{
	static const uint32_t note[] = { 4, 4, NT_GNU_BUILD_ID, 0x554e47, 0x01020304 };
	const Elf64_Ehdr e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
					    ELFDATA2LSB },
			       .e_phoff = sizeof(e),
			       .e_phentsize = sizeof(Elf64_Phdr),
			       .e_phnum = 2 };
	const Elf64_Phdr h[] = { { .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_vaddr = PROGRAM,
				   .p_memsz = 3 * PAGE },
				 { .p_type = PT_NOTE,
				   .p_vaddr = PROGRAM + 0x800,
				   .p_memsz = sizeof(note) } };
	memset(bytes, 0, PAGE);
	memcpy(bytes, &e, sizeof(e));
	memcpy(bytes + sizeof(e), h, sizeof(h));
	memcpy(bytes + 0x800, note, sizeof(note));
	header = bytes;
}

static void test_header(void **state)
{
	(void)state;
	uint8_t bytes[PAGE];
	struct us_program_elf f;
	put_header(bytes);
	open_file();
	assert_false(us_program_elf_read(&paging, &space, PROGRAM, NULL, &f));
	assert_true(us_program_elf_read(&paging, &space, PROGRAM, &cache, &f));
	assert_true(f.whole && f.build_id_len == 4 && f.build_id[0] == 4);
	assert_int_equal(f.n_segment, 1);
	us_page_cache_learn(&cache, 2, 41 * PAGE);
	assert_false(us_program_elf_read(&paging, &space, PROGRAM, &cache, &f));
}

/* The code that it has mapped tells where the others lie: two are enough. */
static void test_mapping(void **state)
{
	(void)state;
	put_page(NODE(1), 1, 21, 1);
	us_paging_new_sample(&paging);
	assert_true(us_page_cache_open(&cache, &layout, &paging, &space, FILE_AT));
	us_program_pages_learn_mapping(&paging, &space, &cache, 20 * PAGE, 21 * PAGE,
				       0);
	assert_int_equal(frame_at(2), 0);
	us_program_pages_learn_mapping(&paging, &space, &cache, 20 * PAGE, 22 * PAGE,
				       0);
	assert_int_equal(frame_at(2), 40);
	us_program_pages_learn_mapping(&paging, &space, &cache, UINT64_MAX - 4095,
				       UINT64_MAX, UINT64_MAX);
}

static void test_hostile(void **state)
{
	(void)state;
	put(NODE(1) + 40 + 8 * 8, 0x1235);	     /* a value: it is swapped out */
	put(NODE(1) + 40 + 8 * 9, NODE(1) + 2);	     /* a cycle */
	put(NODE(1) + 40 + 8 * 10, 0x400000);	     /* a program's address */
	put(NODE(1) + 40 + 8 * 11, page_of(33) + 4); /* between two pages */
	put(NODE(1) + 40 + 8 * 12, PAGES - 64 * 40);
	put(NODE(1) + 40 + 8 * 13, KERNEL + 0x7fe8); /* where nothing can be read */
	put_page(NODE(1), 14, 34, 15);		     /* of a page behind it */
	put_page(NODE(1), 15, 35, 0);
	put_page(NODE(1), 16, FIRST + FRAMES, 16); /* no memory is there */
	open_file();
	for (unsigned k = 8; k < 15; k++)
		assert_int_equal(frame_at(k), 0);
	assert_int_equal(frame_at(16), 0);
	kernel[NODE(0) - KERNEL] = 64; /* shifted by more than there is */
	assert_int_equal(frame_at(2), 0);
	put(FILE_AT + 16, 0x1000);
	assert_false(us_page_cache_open(&cache, &layout, &paging, &space, FILE_AT));
	assert_false(us_page_cache_open(&cache, &layout, &paging, &space, 0x1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_pages, set_up),
		cmocka_unit_test_setup(test_large_pages, set_up),
		cmocka_unit_test_setup(test_agreement, set_up),
		cmocka_unit_test_setup(test_large, set_up),
		cmocka_unit_test_setup(test_expected, set_up),
		cmocka_unit_test_setup(test_header, set_up),
		cmocka_unit_test_setup(test_mapping, set_up),
		cmocka_unit_test_setup(test_hostile, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
