/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folders of --symbols: on a disk that answers, and on one that never does. */
#include "unit.h"

#include "cmd/record/id_index.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* A file system whose server never says a word, in a name space of its own. */
static bool mount_silent(void)
{
	char map[64], options[96];
	unsigned uid = getuid(), gid = getgid();
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (uid && unshare(CLONE_NEWUSER) < 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (uid && !write_file("/proc/self/uid_map", map))
		return false;
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd, uid ? 0 : uid,
		 uid ? 0 : gid);
	return mount("silent", folder, "fuse", 0, options) == 0;
}

enum {
	GOOD,
	CANNOT = 77,
	WRONG = 99,
};

static int ask_silent(void)
{
	const char *dir[] = { folder };
	const struct us_debug_dirs dirs = { .dir = dir, .n = 1 };
	struct us_id_index x = { 0 };
	atomic_bool news = false;
	if (!mount_silent())
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
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(ask_silent());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT)
		skip();
	assert_int_equal(WEXITSTATUS(status), GOOD);
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
