/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a thread is frozen, by the files of its cgroup and of those above. */
#include "unit.h"

#include "base/clock.h"
#include "vmm/frozen.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_path_is_that_of_version_2(void **state)
{
	char path[32];
	(void)state;
	assert_true(
		us_frozen_path("0::/a.slice/vm.scope\n", false, path, sizeof(path)));
	assert_string_equal(path, "/a.slice/vm.scope");
	assert_true(us_frozen_path("3:cpu:/x\n1:name=systemd:/0::/y\n0::/z", false,
				   path, sizeof(path)));
	assert_string_equal(path, "/z");
	assert_true(us_frozen_path("0::/\n", false, path, sizeof(path)));
	assert_string_equal(path, "/");
	assert_false(us_frozen_path("3:cpu:/x\n", false, path, sizeof(path)));
	assert_false(us_frozen_path("", false, path, sizeof(path)));
	/* In another part of the tree than this process's namespace shows. */
	assert_false(us_frozen_path("0::/../vm.scope\n", false, path, sizeof(path)));
	assert_false(us_frozen_path("0::/a-name-that-is-longer-than-the-room-for-it\n",
				    false, path, sizeof(path)));
}

static void ask(const char *dir, const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/cgroup.freeze", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void it_is_frozen_with_those_above(void **state)
{
	char top[] = "/tmp/us-test-XXXXXX", slice[40], scope[48], path[64];
	(void)state;
	assert_non_null(mkdtemp(top)); /* as the root, it has no such file */
	snprintf(slice, sizeof(slice), "%s/slice", top);
	snprintf(scope, sizeof(scope), "%s/scope", slice);
	assert_int_equal(mkdir(slice, 0700), 0);
	assert_int_equal(mkdir(scope, 0700), 0);
	ask(slice, "0\n");
	ask(scope, "0\n");
	struct us_frozen f = { .dir = open(scope, O_PATH | O_DIRECTORY | O_CLOEXEC),
			       .v1_dir = -1 };
	assert_true(f.dir >= 0);
	uint64_t now = US_NS_PER_SEC;
	assert_false(us_frozen_now(&f, now));
	ask(scope, "1\n");
	assert_false(us_frozen_now(&f, now + 99 * US_NS_PER_MS)); /* too soon */
	assert_true(us_frozen_now(&f, now + 100 * US_NS_PER_MS));
	ask(scope, "0\n");
	assert_false(us_frozen_now(&f, now + 200 * US_NS_PER_MS));
	ask(slice, "1\n");
	assert_true(us_frozen_now(&f, now + 300 * US_NS_PER_MS));
	us_frozen_close(&f);
	assert_int_equal(f.dir, -1);
	us_frozen_close(&f);
	snprintf(path, sizeof(path), "%s/cgroup.freeze", scope);
	unlink(path);
	snprintf(path, sizeof(path), "%s/cgroup.freeze", slice);
	unlink(path);
	rmdir(scope);
	rmdir(slice);
	rmdir(top);
}

static void so_is_version_1(void **state)
{
	static const char *const said[] = { "THAWED\n", "FREEZING\n", "FROZEN\n" };
	char top[] = "/tmp/us-test-XXXXXX", path[64];
	(void)state;
	assert_true(
		us_frozen_path("12:freezer:/vm\n0::/a\n", true, path, sizeof(path)));
	assert_string_equal(path, "/vm");
	assert_false(us_frozen_path("1:cpu:/x\n0::/a\n", true, path, sizeof(path)));
	assert_non_null(mkdtemp(top));
	struct us_frozen f = { .dir = -1,
			       .v1_dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC) };
	snprintf(path, sizeof(path), "%s/freezer.state", top);
	for (unsigned i = 0; i < 3; i++) {
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		fputs(said[i], file);
		fclose(file);
		assert_int_equal(us_frozen_now(&f, (i + 1) * US_NS_PER_SEC), i > 0);
	}
	us_frozen_close(&f);
	unlink(path);
	rmdir(top);
}

/* Its cgroup is looked up again. */
static void it_is_moved(void **state)
{
	struct us_frozen f;
	(void)state;
	us_frozen_open(&f, getpid(), getpid());
	us_frozen_close(&f); /* as if it had been elsewhere */
	f.v1_dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int was = f.v1_dir;
	us_frozen_now(&f, 10 * US_NS_PER_SEC);
	char link[64] = "", name[64];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", was);
	assert_true(readlink(name, link, sizeof(link) - 1) < 0 || strcmp(link, "/"));
	us_frozen_close(&f);
}

static void nothing_is_frozen_that_is_not_known(void **state)
{
	(void)state;
	struct us_frozen f;
	us_frozen_open(&f, getpid(), -1);
	assert_int_equal(f.dir, -1);
	assert_false(us_frozen_now(&f, US_NS_PER_SEC));
	us_frozen_open(&f, getpid(), getpid()); /* wherever this runs */
	assert_false(us_frozen_now(&f, US_NS_PER_SEC));
	us_frozen_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_path_is_that_of_version_2),
		cmocka_unit_test(it_is_frozen_with_those_above),
		cmocka_unit_test(so_is_version_1),
		cmocka_unit_test(it_is_moved),
		cmocka_unit_test(nothing_is_frozen_that_is_not_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
