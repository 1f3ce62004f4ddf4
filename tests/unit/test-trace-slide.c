/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the images' functions are, by their first bytes. */
#include "unit.h"

#include "trace/plugin/slide.h"

#define SLIDE 0x10003000ULL

static void see_code(const struct us_function_range *r, uint8_t code[static 8])
{
	memcpy(code, r->code, 8);
}

static void several_functions_tell(void **state)
{
	(void)state;
	struct us_function_range v[6] = { 0 };
	for (unsigned i = 0; i < 6; i++) {
		v[i].start = v[i].entry = 0x1000 + 0x40 * i;
		v[i].end = v[i].start + 0x40;
		/* The last two begin alike. */
		memset(v[i].code, (int)(0x11 * (i < 5 ? i + 1 : 5)), 8);
	}
	struct us_functions f = { .v = v, .n = 6 };
	struct us_slide s;
	uint8_t code[8];
	assert_int_equal(us_slide_init(&s, &f), 0);
	assert_int_equal(s.n, 4);
	const struct us_slide_place *p = NULL;
	for (unsigned i = 0; i < 6; i++) {
		see_code(&v[i], code);
		/* Not by pages; no function's first bytes; twice the same. */
		assert_null(us_slide_see(&s, v[i].entry + SLIDE + 8, code));
		p = us_slide_see(&s, v[i].entry + SLIDE, code);
		assert_true(i == 2 || i == 3 ? p != NULL : p == NULL);
		if (p)
			assert_int_equal(p->distance, SLIDE);
		assert_null(us_slide_see(&s, v[i].entry + SLIDE, code));
	}
	memset(code, 0xcc, 8);
	assert_null(us_slide_see(&s, 0x5000, code));
	us_slide_fini(&s);
}

/* Many places with a function each do not hide the one that has several. */
static void chance_is_no_place(void **state)
{
	(void)state;
	enum { N = 40 };
	struct us_function_range v[N] = { 0 };
	for (unsigned i = 0; i < N; i++) {
		v[i].start = v[i].entry = 0x1000 + 0x40 * i;
		v[i].end = v[i].start + 0x40;
		memset(v[i].code, (int)i + 1, 8);
	}
	struct us_functions f = { .v = v, .n = N };
	struct us_slide s;
	assert_int_equal(us_slide_init(&s, &f), 0);
	for (unsigned i = 0; i < 30; i++)
		assert_null(us_slide_see(&s, v[i].entry + 0x1000 * (i + 1), v[i].code));
	assert_null(us_slide_see(&s, v[30].entry - 0x1000, v[30].code));
	assert_null(us_slide_see(&s, v[31].entry - 0x1000, v[31].code));
	const struct us_slide_place *p = us_slide_see(&s, v[32].entry - 0x1000,
						      v[32].code);
	assert_non_null(p);
	assert_int_equal(p->distance, (uint64_t)-0x1000);
	assert_int_equal(p->votes, 3);
	us_slide_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_functions_tell),
		cmocka_unit_test(chance_is_no_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
