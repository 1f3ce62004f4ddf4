/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel's type information: where members are, and what lies about it. */
#include "unit.h"

#include "linux-btf.h"
#include "linux/kernel_btf.h"

#include <errno.h>
#include <string.h>

static struct test_btf t;

static uint32_t offset(const struct us_btf *b, const char *type, const char *member)
{
	struct us_btf_member m;
	uint32_t k = us_btf_struct(b, type);
	return k && us_btf_member(b, k, member, &m) ? m.offset : UINT32_MAX;
}

static void test_members(void **state)
{
	(void)state;
	struct us_btf b;
	struct us_btf_member m;
	uint32_t n;
	size_t size = btf_module(&t, 1);
	assert_int_equal(us_btf_open(t.all, size, &b), 0);
	assert_int_equal(b.n, t.n + 1);
	assert_int_equal(offset(&b, "module", "list"), TEST_LIST);
	assert_int_equal(offset(&b, "module", "kallsyms"), TEST_KALLSYMS);
	assert_int_equal(offset(&b, "list_head", "prev"), 8);
	/* In a struct without a name, inside. */
	assert_int_equal(offset(&b, "mod_arch_specific", "orc_unwind"), 16);
	assert_int_equal(offset(&b, "module", "nothing"), UINT32_MAX);
	assert_int_equal(offset(&b, "nobody", "list"), UINT32_MAX);
	/* Sizes: of an array, a pointer, and through a qualifier. */
	uint32_t module = us_btf_struct(&b, "module");
	assert_int_equal(us_btf_size(&b, module), 256);
	assert_true(us_btf_member(&b, module, "name", &m));
	assert_int_equal(m.size, 56);
	assert_true(us_btf_member(&b, module, "kallsyms", &m));
	assert_int_equal(m.size, 8);
	assert_true(us_btf_member(&b, module, "mem", &m));
	assert_int_equal(m.size, 48);
	assert_int_equal(us_btf_size(&b, us_btf_element(&b, m.type, &n)), 24);
	assert_int_equal(n, 2);
	us_btf_close(&b);
}

static void test_loops(void **state)
{
	(void)state;
	struct us_btf b;
	struct us_btf_member m;
	btf_begin(&t);
	/* A typedef of itself, an array of itself, a struct inside itself. */
	btf_type(&t, "loop", 8, 0, 1);
	btf_type(&t, "", 3, 0, 0);
	btf_put(&t, 2);
	btf_put(&t, 1);
	btf_put(&t, 1000);
	btf_type(&t, "deep", 4, 2, 8);
	btf_member(&t, "", 3, 0);
	btf_member(&t, "", 3, 0);
	assert_int_equal(us_btf_open(t.all, btf_end(&t), &b), 0);
	assert_int_equal(us_btf_size(&b, 1), 0);
	assert_int_equal(us_btf_size(&b, 2), 0);
	assert_false(us_btf_member(&b, 3, "x", &m));
	us_btf_close(&b);
}

static void test_lies(void **state)
{
	(void)state;
	struct us_btf b;
	size_t size = btf_module(&t, 1);
	assert_int_equal(us_btf_open(t.all, 23, &b), -EBADMSG);
	assert_int_equal(us_btf_open(t.all, size - 1, &b), -EBADMSG);
	for (size_t at = 0; at < 24; at++) {
		uint8_t was = t.all[at];
		t.all[at] ^= 0x80;
		if (us_btf_open(t.all, size, &b) == 0) {
			offset(&b, "module", "list");
			us_btf_close(&b);
		}
		t.all[at] = was;
	}
	/* More members than there are bytes: what follows is not read. */
	memset(t.all + 24 + 4, 0xff, 2);
	t.all[24 + 7] = 4;
	assert_int_equal(us_btf_open(t.all, size, &b), 0);
	assert_int_equal(b.n, 1);
	us_btf_close(&b);
}

#define IMAGE	    0xffff800008000000ULL
#define IMAGE_BYTES (8U << 12)

static uint8_t image[IMAGE_BYTES];

static bool read_image(void *ctx, us_gva at, void *buf, size_t len)
{
	(void)ctx;
	memcpy(buf, image + (at - IMAGE), len);
	return at - IMAGE + len <= 7U << 12; /* the last page is a hole */
}

static int find_in_image(struct us_kallsyms *k, uint32_t *ret_pid)
{
	const struct us_linux_memory m = { .read = read_image };
	struct us_linux_image i;
	struct us_btf b;
	assert_int_equal(us_linux_image_init(&i, IMAGE, IMAGE_BYTES, &m), 0);
	int r = us_btf_of_kernel(&i, k, &b);
	*ret_pid = r == 0 ? offset(&b, "task_struct", "pid") : 0;
	us_btf_close(&b);
	us_linux_image_fini(&i);
	return r;
}

static void put_at(uint32_t at, const char *type, uint32_t byte)
{
	btf_begin(&t);
	uint32_t u32 = btf_type(&t, "int", 1, 0, 4);
	btf_put(&t, 32);
	btf_type(&t, type, 4, 1, 64);
	btf_member(&t, "pid", u32, byte);
	memcpy(image + at, t.all, btf_end(&t));
}

/* Where the symbol table has only functions: by its form. */
static void test_search(void **state)
{
	(void)state;
	static const uint8_t head[] = {
		0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0,    0,	   0, 0,
		0xff, 0xff, 1, 0, 8,  0, 1, 0, 0xff, 0xff, 0, 0
	};
	static struct us_kallsym symbol = { .addr = IMAGE, .type = 'D' };
	static char name[] = "init_task";
	struct us_kallsyms none = { 0 }, with = { .v = &symbol, .n = 1, .names = name };
	uint32_t pid;
	memset(image, 0, sizeof(image));
	assert_int_equal(find_in_image(&none, &pid), -ENOENT);
	/* Over a border of pages; what begins so before it is none, or not the
	 * kernel's. */
	put_at((3U << 12) - 8, "task_struct", 40);
	put_at(1U << 12, "module", 8);
	memcpy(image + 64, head, sizeof(head)); /* larger than the image */
	memcpy(image + 4090, head, 4);		/* at an odd place */
	assert_int_equal(find_in_image(&none, &pid), 0);
	assert_int_equal(pid, 40);
	/* A table with data would name it: this kernel has none. */
	assert_int_equal(find_in_image(&with, &pid), -ENOENT);
	/* It ends where nothing is mapped. */
	memset(image, 0, sizeof(image));
	put_at((7U << 12) - 32, "task_struct", 40);
	assert_int_equal(find_in_image(&none, &pid), -ENOENT);
	/* So many beginnings that somebody put them there. */
	memset(image, 0, sizeof(image));
	for (uint32_t at = 0; at < 6U << 12; at += 64)
		memcpy(image + at, head, sizeof(head));
	put_at(6U << 12, "task_struct", 40);
	assert_int_equal(find_in_image(&none, &pid), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_search),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
