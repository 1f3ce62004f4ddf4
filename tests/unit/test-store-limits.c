/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A limit that was reached is told in words, and only what is one. */
#include "unit.h"

#include "store/limits.h"

#include <string.h>

static const char *words(enum us_limit k, const char *value)
{
	static char text[512];
	return us_limit_words(k, value, text, sizeof(text)) ? text : NULL;
}

static void reached(void **state)
{
	(void)state;
	struct us_limits l = { 0 }, copy = { 0 };
	char value[64];
	us_limit_value(&l, US_LIMIT_PLACES, value, sizeof(value));
	assert_null(words(US_LIMIT_PLACES, value));
	us_limit_reached(&l, US_LIMIT_PLACES, 4096);
	us_limit_reached(&l, US_LIMIT_PLACES, 4096);
	us_limits_copy(&copy, &l);
	us_limit_value(&copy, US_LIMIT_PLACES, value, sizeof(value));
	assert_string_equal(value, "2 4096");
	assert_non_null(
		strstr(words(US_LIMIT_PLACES, value), "more than 4,096 places"));
	us_limit_value(&copy, US_LIMIT_RULES, value, sizeof(value));
	assert_string_equal(value, "0 0");
}

static void in_their_units(void **state)
{
	(void)state;
	assert_non_null(strstr(words(US_LIMIT_RULES, "1 67108864"), "than 64 MiB of"));
	assert_non_null(
		strstr(words(US_LIMIT_TASKS, "1 100000"), "than 100,000 tasks"));
	assert_non_null(strstr(words(US_LIMIT_SYMBOL_TIME, "1 7"), "end in 7 s,"));
	assert_non_null(strstr(words(US_LIMIT_ROOT_TIME, "1 7"), "opened in 7 s,"));
	assert_non_null(strstr(words(US_LIMIT_SYMBOL_DEPTH, "1 8"), "than 8 deep"));
	assert_non_null(strstr(words(US_LIMIT_TASKS, "1 1000"), "than 1,000 tasks"));
}

/* Each has a key of its own, and words. */
static void all_of_them(void **state)
{
	(void)state;
	for (unsigned k = 0; k < US_N_LIMITS; k++) {
		assert_non_null(words(k, "1 4194304"));
		assert_int_equal(strncmp(us_limit_key(k), "limit_", 6), 0);
		for (unsigned i = 0; i < k; i++)
			assert_string_not_equal(us_limit_key(i), us_limit_key(k));
	}
}

/* A recording is not trusted. */
static void values_that_are_none(void **state)
{
	(void)state;
	static const char *const bad[] = { "",	   "1",	   "0 4096",	 "1 0",
					   "-1 5", "1 5x", "1 5 6",	 "x 5",
					   "1  ",  " ",	   "1\x1b[2J 5", "0x1 5" };
	for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++)
		assert_null(words(US_LIMIT_TASKS, bad[k]));
	assert_non_null(
		words(US_LIMIT_TASKS, "9999999999999999999999 99999999999999999999"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reached),
		cmocka_unit_test(in_their_units),
		cmocka_unit_test(all_of_them),
		cmocka_unit_test(values_that_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
