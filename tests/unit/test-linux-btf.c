/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel's type information: where members are, and what lies about it. */
#include "unit.h"

#include "linux-btf.h"
#include "linux/kernel_btf.h"

#include <errno.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_lies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
