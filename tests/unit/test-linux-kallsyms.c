/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kallsyms out of the memory of a kernel, in each form that the table has had. */
#include "unit.h"

#include <errno.h>

#include "linux-image.h"

static const struct test_form forms[] = {
	/* 4.x: wide markers */
	{ US_KALLSYMS_PERCPU, false, 0, 8, false, 0, true },
	{ US_KALLSYMS_RELATIVE, false, 0, 8, false, 0, true },
	{ US_KALLSYMS_ABSOLUTE, false, 0, 8, false, 0, true },
	/* 5.x: addresses first */
	{ US_KALLSYMS_PERCPU, false, 0, 8, false, 0, false },
	{ US_KALLSYMS_RELATIVE, false, 0, 8, false, 0, false },
	{ US_KALLSYMS_ABSOLUTE, false, 0, 8, false, 0, false },
	/* 6.1: long names */
	{ US_KALLSYMS_PERCPU, false, 0, 8, true, 0, false },
	/* 6.2: the order by name stands between markers and tokens */
	{ US_KALLSYMS_PERCPU, false, 4, 8, true, 0, false },
	{ US_KALLSYMS_PERCPU, false, 3, 8, true, 0, false },
	/* 6.4: addresses last */
	{ US_KALLSYMS_PERCPU, true, 3, 8, true, 0, false },
	{ US_KALLSYMS_RELATIVE, true, 3, 8, true, 0, false },
	{ US_KALLSYMS_ABSOLUTE, true, 3, 8, true, 0, false },
	/* 7.0: from their own place, tables aligned to 4 */
	{ US_KALLSYMS_PLACE, true, 3, 4, true, 0, false },
	{ US_KALLSYMS_PLACE, true, 3, 8, true, 0, false },
};
#define N_FORM (sizeof(forms) / sizeof(forms[0]))

static struct test_image image;

static int read_image(struct us_kallsyms *k)
{
	struct us_linux_image i;
	struct us_err e;
	test_image_open(&image, &i);
	int r = us_kallsyms_read(&i, k, &e);
	us_linux_image_fini(&i);
	return r;
}

static void check_all(const struct us_kallsyms *k)
{
	assert_int_equal(k->n, image.n);
	for (size_t i = 0; i < k->n; i++) {
		assert_string_equal(us_kallsym_name(k, &k->v[i]), image.name[i]);
		assert_int_equal(k->v[i].addr, image.addr[i]);
		assert_int_equal(k->v[i].type, image.type[i]);
	}
}

static void test_forms(void **state)
{
	(void)state;
	for (size_t f = 0; f < N_FORM; f++) {
		struct us_kallsyms k;
		test_image_make(&image, &forms[f], NULL);
		assert_int_equal(read_image(&k), 0);
		assert_int_equal(k.form, forms[f].form);
		assert_int_equal(k.late, forms[f].late);
		assert_int_equal(k.at, image.start + image.num_at);
		check_all(&k);
		us_kallsyms_fini(&k);
	}
}

/* The last run of names may be full, or one name. */
static void test_counts(void **state)
{
	(void)state;
	for (unsigned n = 760; n < 776; n++) {
		struct test_form f = { US_KALLSYMS_PLACE, true, 3, 4, false, n, false };
		struct us_kallsyms k;
		test_image_make(&image, &f, NULL);
		assert_int_equal(read_image(&k), 0);
		check_all(&k);
		us_kallsyms_fini(&k);
	}
}

static void test_find(void **state)
{
	(void)state;
	struct us_kallsyms k;
	us_gva end;
	test_image_make(&image, &forms[3], NULL);
	assert_int_equal(read_image(&k), 0);
	const struct us_kallsym *s = us_kallsyms_find(&k, image.start + 64 + 3, &end);
	assert_non_null(s);
	assert_string_equal(us_kallsym_name(&k, s), "vfs_function_0.part.0");
	assert_int_equal(end, image.start + 128);
	/* Of two at one address the first in the table, as the kernel has it. */
	s = us_kallsyms_find(&k, image.start, &end);
	assert_string_equal(us_kallsym_name(&k, s), "_text");
	assert_int_equal(end, image.start + 64);
	/* Data, what is behind the last symbol, and what is before the kernel. */
	assert_null(us_kallsyms_find(&k, image.start + TEST_RODATA + 1, &end));
	assert_null(us_kallsyms_find(&k, image.start - 1, &end));
	assert_null(us_kallsyms_find(&k, UINT64_MAX, &end));
	assert_int_equal(us_kallsyms_address(&k, "_stext"), image.start);
	assert_int_equal(us_kallsyms_address(&k, "nobody"), 0);
	us_kallsyms_fini(&k);
}

static void test_head(void **state)
{
	(void)state;
	const us_gva text = 0xffffffff80002000;
	struct us_kallsym v[] = { { .addr = 0x1000, .type = 'A' },
				  { .addr = text - (2 << 20), .type = 'T' },
				  { .addr = text - 0x2000, .type = 'd' },
				  { .addr = text, .type = 'T' },
				  { .addr = text - 0xf9a, .type = 'T' } };
	struct us_kallsyms k = { .v = v, .n = 5 };
	assert_int_equal(us_kallsyms_code(&k, text), text - 0xf9a);
	k.n = 4; /* data, and code elsewhere */
	assert_int_equal(us_kallsyms_code(&k, text), text);
	k.n = 0;
	assert_int_equal(us_kallsyms_code(&k, text), text);
}

/* One wrong byte anywhere in the tables: found wrong, or still all right but for what
 * the byte itself says; never a crash. */
static void test_damage(void **state)
{
	(void)state;
	size_t read = 0, refused = 0;
	test_image_make(&image, &forms[9], NULL);
	size_t end = image.at;
	for (size_t at = TEST_RODATA; at < end; at += 7) {
		struct us_kallsyms k;
		uint8_t was = image.bytes[at];
		image.bytes[at] = (uint8_t)(was ^ (1U << at % 8));
		if (read_image(&k) == 0) {
			assert_int_equal(k.n, image.n);
			for (size_t i = 1; i < k.n; i++)
				assert_true(k.v[i].addr >= k.v[i - 1].addr);
			us_kallsyms_fini(&k);
			read++;
		} else {
			refused++;
		}
		image.bytes[at] = was;
	}
	print_message("# %zu read, %zu refused\n", read, refused);
	assert_true(refused > 0);
}

static void test_none(void **state)
{
	(void)state;
	struct us_kallsyms k;
	memset(&image, 0, sizeof(image));
	image.start = TEST_START;
	assert_int_equal(read_image(&k), -ENOENT);
	memset(image.bytes, 0xff, sizeof(image.bytes));
	assert_int_equal(read_image(&k), -ENOENT);
	/* The kernel's own start is not among the symbols. */
	test_image_make(&image, &forms[10], NULL);
	image.start += 1U << 30;
	assert_int_equal(read_image(&k), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_find),  cmocka_unit_test(test_damage),
		cmocka_unit_test(test_head),  cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
