/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was meant by a mistyped name. */
#include "unit.h"

#include "base/nearest.h"

static const char *nearest(const char *word)
{
	static const char *const names[] = { "ps",   "record", "report", "annotate",
					     "dump", "doctor", "kvm",	 "gdb" };
	struct us_nearest n = us_nearest_to(word);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		us_nearest_try(&n, names[i]);
	return n.best ? n.best : "";
}

static void typing_mistakes(void **state)
{
	(void)state;
	assert_string_equal(nearest("repot"), "report");
	assert_string_equal(nearest("rpeort"), "report");
	assert_string_equal(nearest("recrod"), "record");
	assert_string_equal(nearest("Report"), "report");
	assert_string_equal(nearest("anotate"), "annotate");
	assert_string_equal(nearest("annot"), "annotate");
	assert_string_equal(nearest("dmup"), "dump");
	assert_string_equal(nearest("kvn"), "kvm");
	assert_string_equal(nearest("sp"), "ps");
	assert_string_equal(nearest("gdbb"), "gdb");
}

static void other_words(void **state)
{
	char much[300];
	(void)state;
	assert_string_equal(nearest(""), "");
	assert_string_equal(nearest("x"), "");
	assert_string_equal(nearest("zebra"), "");
	assert_string_equal(nearest("12345"), "");
	memset(much, 'r', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	assert_string_equal(nearest(much), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typing_mistakes),
		cmocka_unit_test(other_words),
	};
	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
