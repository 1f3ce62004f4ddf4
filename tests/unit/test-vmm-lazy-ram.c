/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that a userfaultfd serves is read where it is, and never waited for. */
#include "made-up-vmm.h"

#include "base/clock.h"
#include "vmm/lazy_ram.h"
#include "vmm/ram.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE	  ((34ULL << 20) + 8192) /* that nothing else in the process has */
#define THERE	  (2ULL << 20)
#define THERE_LEN 65536
#define PATIENCE  30 /* seconds: who waits for a page does so for ever */

/* Serve no page: as a handler that is slow, or gone. */
static int register_lazy(void *at)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .range = { (uintptr_t)at, SIZE },
				     .mode = UFFDIO_REGISTER_MODE_MISSING };
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &r))
		return -1;
	return fd;
}

/* fd: a memfd, or -1. */
static bool be_lazy(const void *what)
{
	int fd = *(const int *)what;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (p == MAP_FAILED)
		return false;
	memset(p + THERE, 'x', THERE_LEN);
	return register_lazy(p) >= 0;
}

/* As a VMM that is being restored. */
static struct us_guest start_lazy(int fd)
{
	struct us_guest g = { .accel = US_ACCEL_KVM,
			      .memory = SIZE,
			      .vmm = "firecracker" };
	if (begin_made_up(&g, be_lazy, &fd))
		return g;
	print_message("# SKIP: no userfaultfd for us here\n");
	skip();
	return g;
}

static void check_lazy(int fd)
{
	static uint8_t got[2 * THERE_LEN], want[THERE_LEN];
	static struct us_mem_pages pages;
	struct us_guest g = start_lazy(fd);
	struct stat before = { 0 }, after = { 0 };
	struct us_err e = { 0 };
	struct us_ram *r;
	if (fd >= 0)
		assert_int_equal(fstat(fd, &before), 0);
	memset(want, 'x', sizeof(want));
	alarm(PATIENCE);
	if (us_ram_open(&g, NULL, &r, &e))
		fail_msg("%s", e.msg);
	assert_false(us_ram_is_file(r));
	struct us_mem *m = us_ram_mem(r);
	for (int with_pages = 0; with_pages < 2; with_pages++) {
		us_mem_use_pages(m, with_pages ? &pages : NULL);
		us_mem_new_sample(m);
		assert_true(us_mem_read(m, THERE, got, THERE_LEN));
		assert_memory_equal(got, want, THERE_LEN);
		assert_true(us_mem_read(m, THERE + THERE_LEN - 8, got, 8));
		assert_false(us_mem_read(m, THERE + THERE_LEN - 8, got, 16));
		assert_false(us_mem_read(m, THERE + THERE_LEN, got, 8));
		assert_false(us_mem_read(m, THERE, got, 2 * THERE_LEN));
		assert_false(us_mem_read(m, 0, got, 1));
	}
	us_ram_close(r);
	alarm(0);
	/* No page was made where the guest's own is still to come. */
	if (fd >= 0)
		assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(before.st_blocks, after.st_blocks);
	end_made_up(&g);
}

static void private_memory_is_not_waited_for(void **state)
{
	(void)state;
	check_lazy(-1);
}

static void a_file_gets_no_pages(void **state)
{
	(void)state;
	int fd = memfd_create("guest_mem", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)SIZE), 0);
	check_lazy(fd);
	close(fd);
}

static void *late;

static void on_late(int sig)
{
	(void)sig;
	register_lazy(late);
}

static bool be_late(const void *what)
{
	int fd = *(const int *)what;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	const struct sigaction a = { .sa_handler = on_late };
	char *p = late = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (p == MAP_FAILED)
		return false;
	memset(p + THERE, 'x', THERE_LEN);
	return sigaction(SIGUSR1, &a, NULL) == 0;
}

static bool reads(struct us_ram *r, us_gpa at)
{
	uint8_t got;
	us_mem_new_sample(us_ram_mem(r));
	return us_mem_read(us_ram_mem(r), at, &got, 1);
}

static void check_late(int fd)
{
	struct us_guest can = start_lazy(-1), g = { .accel = US_ACCEL_KVM,
						    .memory = SIZE,
						    .vmm = "firecracker" };
	struct stat before = { 0 }, after = { 0 };
	struct us_err e = { 0 };
	struct us_ram *r;
	uint64_t now = 0;
	end_made_up(&can);
	assert_true(begin_made_up(&g, be_late, &fd));
	if (us_ram_open(&g, NULL, &r, &e))
		fail_msg("%s", e.msg);
	if (fd >= 0)
		assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(us_ram_is_file(r), fd >= 0);
	us_ram_look_again(r, now += 100 * US_NS_PER_SEC);
	assert_true(reads(r, THERE));
	assert_true(reads(r, 0)); /* zeroes */
	kill(g.pid, SIGUSR1);
	alarm(PATIENCE);
	do {
		usleep(1000);
		us_ram_look_again(r, now += 100 * US_NS_PER_SEC);
	} while (reads(r, THERE + THERE_LEN + (1 << 20)));
	alarm(0);
	assert_true(reads(r, THERE));
	assert_true(reads(r, THERE + THERE_LEN - 1));
	if (fd >= 0)
		assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(before.st_blocks, after.st_blocks);
	us_ram_close(r);
	end_made_up(&g);
}

static void what_comes_later_is_noticed(void **state)
{
	(void)state;
	int fd = memfd_create("guest_mem", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)SIZE), 0);
	check_late(fd);
	close(fd);
}

static void others_have_none(void **state)
{
	(void)state;
	struct us_lazy_ram l;
	us_lazy_ram_open(getpid(), &l);
	assert_int_equal(l.pagemap, -1);
	assert_false(us_lazy_ram_has(&l, 0, UINT64_MAX));
	us_lazy_ram_close(&l);
	us_lazy_ram_open(INT_MAX, &l);
	assert_false(us_lazy_ram_has(&l, 0, UINT64_MAX));
	us_lazy_ram_close(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_memory_is_not_waited_for),
		cmocka_unit_test(a_file_gets_no_pages),
		cmocka_unit_test(what_comes_later_is_noticed),
		cmocka_unit_test(others_have_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
