/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where something stands in a JSON text, be it one or not. */
#include "unit.h"

#include "base/json_line.h"

#include <string.h>

static const char text[] = "\n{ \"runs\" : 3,\n"
			   "  \"x\": [\"]\", {\"variants\": 1}],\n"
			   "  \"variants\" : [\n"
			   "    {\n\"name\": \"a\\\"}\",\n\"until\": [\n1,\n2] },\n"
			   "    7,\n"
			   "    { \"n\\u0061me\": 1,\n\"elf\":\n{} } ] }";

static size_t line(const char *list, size_t i, const char *member)
{
	return us_json_line(text, strlen(text), list, i, member);
}

static void lines_are_found(void **state)
{
	(void)state;
	assert_int_equal(line("runs", SIZE_MAX, NULL), 2);
	assert_int_equal(line("variants", SIZE_MAX, NULL), 4);
	assert_int_equal(line("variants", 0, NULL), 5);
	assert_int_equal(line("variants", 0, "name"), 6);
	assert_int_equal(line("variants", 0, "until"), 7);
	assert_int_equal(line("variants", 1, "name"), 10);
	assert_int_equal(line("variants", 2, NULL), 11);
	assert_int_equal(line("variants", 2, "name"), 11);
	assert_int_equal(line("variants", 2, "elf"), 13);
}

static void what_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(line("nothing", 0, "name"), 1);
	assert_int_equal(line("variants", 3, "name"), 4);
	assert_int_equal(line("variants", 0, "nothing"), 5);
	assert_int_equal(line("runs", 0, "name"), 2);
}

/* Each beginning of it, and each with a byte of its own changed: nothing is read that
 * is not there. */
static void any_bytes(void **state)
{
	static const char others[] = "[]{}\",:\\\n";
	size_t len = strlen(text);
	(void)state;
	for (size_t n = 0; n <= len; n++) {
		char *copy = test_malloc(n + 1);
		for (const char *c = others; *c; c++) {
			memcpy(copy, text, n);
			if (n)
				copy[n / 2] = *c;
			assert_true(us_json_line(copy, n, "variants", 2, "elf") < 20);
		}
		test_free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_found),
		cmocka_unit_test(what_is_not_there),
		cmocka_unit_test(any_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
