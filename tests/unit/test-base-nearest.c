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

static void first_names_are_listed(void **state)
{
	(void)state;
	char name[20][16], text[64];
	struct us_nearest n = us_nearest_to("name3x");
	assert_string_equal(us_nearest_question(&n, text, sizeof(text)), "");
	for (int i = 0; i < 20; i++) {
		snprintf(name[i], sizeof(name[i]), "name%d", i);
		us_nearest_try(&n, name[i]);
	}
	assert_string_equal(n.list, "name0, name1, name2, name3, name4, name5, name6, "
				    "name7, name8, name9, name10, name11, ...");
	assert_int_equal(n.n, 20);
	assert_string_equal(us_nearest_question(&n, text, sizeof(text)),
			    "; did you mean name3?");
}

/* A long one ends the list, also if it is the first. */
static void long_names_end_the_list(void **state)
{
	(void)state;
	char much[900];
	struct us_nearest n = us_nearest_to("a");
	memset(much, 'm', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	us_nearest_try(&n, much);
	assert_string_equal(n.list, "");
	us_nearest_try(&n, "short");
	us_nearest_try(&n, much);
	us_nearest_try(&n, "other");
	assert_string_equal(n.list, "short, ...");
	for (size_t len = 1; len < 250; len++) {
		n = us_nearest_to("a");
		much[len] = '\0';
		for (int i = 0; i < 20; i++)
			us_nearest_try(&n, much);
		assert_true(strlen(n.list) < sizeof(n.list));
		much[len] = 'm';
	}
}

/* Names that are made in one buffer, one after the other. */
static void what_does_not_last_is_kept(void **state)
{
	char kept[8], text[32];
	struct us_nearest n = us_nearest_to("deep");
	(void)state;
	snprintf(text, sizeof(text), "deep(int)");
	us_nearest_keep(&n, text, kept, sizeof(kept));
	snprintf(text, sizeof(text), "other");
	us_nearest_keep(&n, text, kept, sizeof(kept));
	assert_ptr_equal(n.best, kept);
	assert_string_equal(kept, "deep(in");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typing_mistakes),
		cmocka_unit_test(other_words),
		cmocka_unit_test(first_names_are_listed),
		cmocka_unit_test(long_names_end_the_list),
		cmocka_unit_test(what_does_not_last_is_kept),
	};
	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
