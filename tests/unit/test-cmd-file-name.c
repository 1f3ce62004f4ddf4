/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of files: found by a person, and never a way out of the folder. */
#include "cmd/file_name.h"

#include "unit.h"

#include <string.h>

static const char *name_of(const char *name, unsigned n)
{
	static char text[128];
	struct us_guest g = { .pid = 4711 };
	strcpy(g.name, name);
	us_file_name(&g, n, text, sizeof(text));
	return text;
}

static void a_guest_is_found_by_its_name(void **state)
{
	(void)state;
	assert_string_equal(name_of("web", 0), "web.data");
	assert_string_equal(name_of("web", 1), "web-4711.data");
	assert_string_equal(name_of("web", 2), "web-4711-2.data");
	assert_string_equal(name_of("", 0), "4711.data");
	assert_string_equal(name_of("", 1), "4711-2.data");
}

static void no_name_leads_out_of_the_folder(void **state)
{
	(void)state;
	assert_string_equal(name_of("../../etc/x", 0), "_._.._etc_x.data");
	assert_string_equal(name_of("/", 0), "_.data");
	assert_string_equal(name_of(".", 0), "_.data");
	assert_string_equal(name_of("a b\"\n\xc3\xa4", 0), "a_b____.data");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_is_found_by_its_name),
		cmocka_unit_test(no_name_leads_out_of_the_folder),
	};
	return cmocka_run_group_tests_name("cmd-file-name", tests, NULL, NULL);
}
