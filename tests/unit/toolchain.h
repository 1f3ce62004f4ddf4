/* SPDX-License-Identifier: GPL-2.0-or-later */
/* toolchain.h: a directory of its own for a test, and programs run in it. */
#ifndef US_TEST_TOOLCHAIN_H
#define US_TEST_TOOLCHAIN_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static char work_dir[64];

/* Run a shell command in the directory; true: it ended with 0. */
__attribute__((__format__(__printf__, 1, 2))) static inline bool run(const char *fmt,
								     ...)
{
	char what[4096], all[4300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(all, sizeof(all), "cd %s && %s", work_dir, what);
	int status = system(all);
	return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static inline int enter_work_dir(void **state)
{
	(void)state;
	strcpy(work_dir, "/tmp/uniscope-test-XXXXXX");
	return mkdtemp(work_dir) ? 0 : -1;
}

static inline int leave_work_dir(void **state)
{
	(void)state;
	return run("rm -rf %s", work_dir) ? 0 : -1;
}

/* The path of a file in the directory; good until the fourth call after. */
static inline const char *in_work_dir(const char *name)
{
	static char path[4][128];
	static unsigned turn;
	char *p = path[turn++ % 4];
	snprintf(p, sizeof(path[0]), "%s/%s", work_dir, name);
	return p;
}

static inline void write_file(const char *name, const void *bytes, size_t len)
{
	int fd = open(in_work_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

/* The whole file; the caller's to free. */
static inline uint8_t *load_file(const char *name, size_t *ret_len)
{
	FILE *f = fopen(in_work_dir(name), "rb");
	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	*ret_len = (size_t)ftell(f);
	rewind(f);
	uint8_t *p = malloc(*ret_len + 1);
	assert_non_null(p);
	assert_int_equal(fread(p, 1, *ret_len, f), *ret_len);
	fclose(f);
	p[*ret_len] = '\0';
	return p;
}

/* Skip the test, saying why, unless the command works here. */
#define need(...)                                                                      \
	do {                                                                           \
		if (!run(__VA_ARGS__)) {                                               \
			print_message("# SKIP: does not work here: %s\n",              \
				      #__VA_ARGS__);                                   \
			skip();                                                        \
		}                                                                      \
	} while (0)

#endif
