/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source paths lose the folders that all of an image share, and no more. */
#include "unit.h"

#include "base/paths.h"

struct given {
	const char *dir, *file, *shown;
};

static void check(const char *group, struct us_paths *p, const struct given *v)
{
	char text[US_PATH_SIZE];
	for (size_t i = 0; v[i].file; i++)
		assert_int_equal(us_paths_add(p, group, v[i].dir, v[i].file), 0);
	for (size_t i = 0; v[i].file; i++)
		assert_string_equal(us_paths_show(p, group, v[i].dir, v[i].file, text),
				    v[i].shown);
}

static void check_one(const struct given *v)
{
	struct us_paths p = { 0 };
	check("image", &p, v);
	us_paths_fini(&p);
}

static void what_all_share_is_left_out(void **state)
{
	(void)state;
	check_one((const struct given[]){
		{ NULL, "/home/me/os/kernel/sched.c", "kernel/sched.c" },
		{ NULL, "/home/me/os/kern.c", "kern.c" },
		{ NULL, "/home/me/os/lib/string.c", "lib/string.c" },
		{ 0 } });
	check_one((const struct given[]){ { NULL, "/a/b/only.c", "only.c" }, { 0 } });
}

static void folders_stay_whole(void **state)
{
	(void)state;
	check_one((const struct given[]){ { NULL, "/src/kernel/a.c", "kernel/a.c" },
					  { NULL, "/src/kern/b.c", "kern/b.c" },
					  { 0 } });
	/* A file may be called as a folder. */
	check_one((const struct given[]){ { NULL, "/src/net", "net" },
					  { NULL, "/src/net/b.c", "net/b.c" },
					  { 0 } });
}

static void relative_ones_lie_where_they_were_compiled(void **state)
{
	(void)state;
	check_one((const struct given[]){
		{ "/build/os/lib", "string.c", "lib/string.c" },
		{ "/build/os/kernel/", "sched.c", "kernel/sched.c" },
		{ "/build/os/kernel", "../arch/x.S", "arch/x.S" },
		{ "/elsewhere", "/build/os/./drivers//pci.c", "drivers/pci.c" },
		{ 0 } });
	/* Of a build that hides its folder. */
	check_one((const struct given[]){
		{ ".", "src/a.c", "a.c" }, { NULL, "src/b.c", "b.c" }, { 0 } });
	check_one((const struct given[]){
		{ ".", "../../a.c", "a.c" }, { ".", "../../x/b.c", "x/b.c" }, { 0 } });
}

/* One header of the system does not make all others long. */
static void the_programs_own_are_short_beside_others(void **state)
{
	(void)state;
	check_one((const struct given[]){
		{ "/home/me/os", "kernel/sched.c", "kernel/sched.c" },
		{ "/home/me/os", "lib/string.c", "lib/string.c" },
		{ "/home/me/os", "/usr/include/x86.h", "/usr/include/x86.h" },
		{ 0 } });
	check_one((const struct given[]){
		{ NULL, "/x/a.c", "/x/a.c" }, { NULL, "/y/b.c", "/y/b.c" }, { 0 } });
}

static void names_alone_say_nothing_of_folders(void **state)
{
	(void)state;
	check_one((const struct given[]){
		{ NULL, "startup.c", "startup.c" }, /* of the symbol table */
		{ "/home/me", "<artificial>", "<artificial>" },
		{ NULL, "/src/os/a.c", "a.c" },
		{ 0 } });
}

static void each_image_has_its_own(void **state)
{
	(void)state;
	struct us_paths p = { 0 };
	char text[US_PATH_SIZE];
	check("vmlinux", &p,
	      (const struct given[]){ { NULL, "/linux/kernel/a.c", "kernel/a.c" },
				      { NULL, "/linux/mm/b.c", "mm/b.c" },
				      { 0 } });
	check("init", &p,
	      (const struct given[]){ { NULL, "/home/me/init.c", "init.c" }, { 0 } });
	assert_string_equal(us_paths_show(&p, "vmlinux", NULL, "/linux/mm/b.c", text),
			    "mm/b.c");
	/* What was not added and lies elsewhere, in no image, or in an unknown one. */
	assert_string_equal(us_paths_show(&p, "vmlinux", NULL, "/x/c.c", text),
			    "/x/c.c");
	assert_string_equal(us_paths_show(&p, "vmlinux", NULL, "/linux", text),
			    "/linux");
	assert_string_equal(us_paths_show(&p, NULL, NULL, "/linux/mm/b.c", text),
			    "/linux/mm/b.c");
	us_paths_fini(&p);
}

static void hostile_paths_stay_as_they_are(void **state)
{
	(void)state;
	struct us_paths p = { 0 };
	char text[US_PATH_SIZE], *longest = malloc(3 * US_PATH_SIZE);
	static const char *const odd[] = { "",	    "/",       "//",
					   "/..",   "/../..",  "../..",
					   "./",    "a/../..", "/a/../../../b",
					   "..a/.b" };
	assert_non_null(longest);
	memset(longest, 'x', 3 * US_PATH_SIZE);
	longest[0] = '/';
	longest[3 * US_PATH_SIZE - 1] = '\0';
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
			assert_int_equal(us_paths_add(&p, "g", odd[k], odd[i]), 0);
			assert_non_null(us_paths_show(&p, "g", odd[k], odd[i], text));
		}
	assert_int_equal(us_paths_add(&p, "g", longest, "a.c"), 0);
	assert_int_equal(us_paths_add(&p, "g", NULL, longest), 0);
	assert_ptr_equal(us_paths_show(&p, "g", NULL, longest, text), longest);
	us_paths_fini(&p);
	free(longest);
}

static void full_paths_can_be_opened(void **state)
{
	(void)state;
	char text[US_PATH_SIZE];
	assert_string_equal(us_path_full("/src/", "a.c", text), "/src/a.c");
	assert_string_equal(us_path_full("/src", "../a.c", text), "/src/../a.c");
	assert_string_equal(us_path_full("/src", "/b.c", text), "/b.c");
	assert_string_equal(us_path_full(NULL, "c.c", text), "c.c");
}

static void paths_are_called_by_their_ends(void **state)
{
	(void)state;
	char longest[2 * US_PATH_SIZE];
	assert_true(us_path_ends_with(NULL, "kernel/a.c", "a.c"));
	assert_true(us_path_ends_with(NULL, "kernel/a.c", "kernel/a.c"));
	assert_false(us_path_ends_with(NULL, "kernel/aa.c", "a.c"));
	assert_false(us_path_ends_with(NULL, "a.c", "kernel/a.c"));
	assert_true(us_path_ends_with("/src/kernel", "a.c", "kernel/a.c"));
	assert_true(us_path_ends_with("/src/build", "../kernel/a.c", "src/kernel/a.c"));
	assert_true(us_path_ends_with("/src/build", "../kernel/a.c", "../kernel/a.c"));
	assert_false(us_path_ends_with("/src/build", "../kernel/a.c", "build/a.c"));
	assert_false(us_path_ends_with("/src", "/usr/a.c", "src/a.c"));
	assert_false(us_path_ends_with("/src", "", "a.c"));
	assert_true(us_path_ends_with(NULL, "<built-in>", "<built-in>"));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_true(us_path_ends_with(longest, "a.c", "a.c"));
	assert_false(us_path_ends_with(longest, "a.c", "x/a.c"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_all_share_is_left_out),
		cmocka_unit_test(folders_stay_whole),
		cmocka_unit_test(relative_ones_lie_where_they_were_compiled),
		cmocka_unit_test(the_programs_own_are_short_beside_others),
		cmocka_unit_test(names_alone_say_nothing_of_folders),
		cmocka_unit_test(each_image_has_its_own),
		cmocka_unit_test(hostile_paths_stay_as_they_are),
		cmocka_unit_test(full_paths_can_be_opened),
		cmocka_unit_test(paths_are_called_by_their_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
