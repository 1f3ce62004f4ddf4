/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folders of --symbols: on a disk that answers, and on one that never does. */
#include "unit.h"

#include "cmd/record/id_index.h"
#include "silent-disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/uniscope-XXXXXX";

static void wait_for(atomic_bool *news)
{
	while (!atomic_exchange(news, false))
		usleep(1000);
}

static void folders_that_answer(void **state)
{
	(void)state;
	const char *dir[] = { folder, "/nowhere" };
	const struct us_debug_dirs dirs = { .dir = dir, .n = 2 };
	struct us_id_index x = { 0 };
	atomic_bool news = false;
	if (!us_id_index_there(&x, &dirs, &news))
		wait_for(&news);
	assert_true(us_id_index_there(&x, &dirs, &news));
	assert_int_equal(us_id_index_pending(&x), 0); /* nobody wants its files */
	const struct us_id_files *files = us_id_index_get(&x, &dirs, &news);
	while (!files) {
		wait_for(&news);
		files = us_id_index_get(&x, &dirs, &news);
	}
	assert_int_equal(files->looked, 1);
	assert_int_equal(us_id_index_pending(&x), 0);
	us_id_index_fini(&x);
	assert_null(x.walk);
}

/* It is opened, and nobody wants its files: the thread ends nevertheless. */
static void nobody_asks(void **state)
{
	(void)state;
	const char *dir[] = { folder };
	const struct us_debug_dirs dirs = { .dir = dir, .n = 1 };
	struct us_id_index none = { 0 }, x = { 0 };
	atomic_bool news = false;
	us_id_index_fini(&none);
	(void)us_id_index_there(&x, &dirs, &news);
	us_id_index_fini(&x);
}

static int ask_silent(void)
{
	const char *dir[] = { folder };
	const struct us_debug_dirs dirs = { .dir = dir, .n = 1 };
	struct us_id_index x = { 0 };
	atomic_bool news = false;
	if (!mount_silent(folder))
		return CANNOT;
	for (unsigned k = 0; k < 20; k++) {
		if (us_id_index_there(&x, &dirs, &news) ||
		    us_id_index_get(&x, &dirs, &news))
			return WRONG;
		usleep(1000);
	}
	if (!us_id_index_pending(&x))
		return WRONG;
	us_id_index_fini(&x); /* comes back */
	return atomic_load(&news) || x.walk ? WRONG : GOOD;
}

static void one_that_does_not(void **state)
{
	(void)state;
	int said = on_silent_disk(ask_silent);
	if (said == CANNOT)
		skip();
	assert_int_equal(said, GOOD);
}

static int make_folder(void **state)
{
	char path[64];
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
	char path[64];
	(void)state;
	snprintf(path, sizeof(path), "%s/file", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_that_answer),
		cmocka_unit_test(nobody_asks),
		cmocka_unit_test(one_that_does_not),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
