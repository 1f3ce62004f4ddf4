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
	assert_true(us_frozen_path("0::/a.slice/vm.scope\n", path, sizeof(path)));
	assert_string_equal(path, "/a.slice/vm.scope");
	assert_true(us_frozen_path("3:cpu:/x\n1:name=systemd:/0::/y\n0::/z", path,
				   sizeof(path)));
	assert_string_equal(path, "/z");
	assert_true(us_frozen_path("0::/\n", path, sizeof(path)));
	assert_string_equal(path, "/");
	assert_false(us_frozen_path("3:cpu:/x\n", path, sizeof(path)));
	assert_false(us_frozen_path("", path, sizeof(path)));
	/* In another part of the tree than this process's namespace shows. */
	assert_false(us_frozen_path("0::/../vm.scope\n", path, sizeof(path)));
	assert_false(us_frozen_path("0::/a-name-that-is-longer-than-the-room-for-it\n",
				    path, sizeof(path)));
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
	struct us_frozen f = { .dir = open(scope, O_PATH | O_DIRECTORY | O_CLOEXEC) };
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
		cmocka_unit_test(nothing_is_frozen_that_is_not_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
