/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest-physical memory: mapped, copied from a process, or asked of a callback. */
#include "unit.h"

#include "guest/memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint8_t ram[3][4096];

static long host_page; /* 0: as it is */

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	return name == _SC_PAGESIZE && host_page ? host_page : __real_sysconf(name);
}

static void fill(void)
{
	for (unsigned i = 0; i < sizeof(ram); i++)
		((uint8_t *)ram)[i] = (uint8_t)(i * 7 + i / 256);
}

/* Two adjacent runs, a hole, and a third; the last one is not page-sized. */
static struct us_region region[3] = {
	{ .start = 0x1000, .size = 4096 },
	{ .start = 0x2000, .size = 4096 },
	{ .start = 0x100000, .size = 100 },
};

static void setup(struct us_mem *m, bool host, pid_t pid)
{
	fill();
	for (int i = 0; i < 3; i++) {
		region[i].host = host ? ram[i] : NULL;
		region[i].hva = (uintptr_t)ram[i];
	}
	memset(m, 0, sizeof(*m));
	m->region = region;
	m->n_region = 3;
	m->pid = pid;
	us_mem_init(m);
}

static void check_reads(struct us_mem *m)
{
	static uint8_t buf[9000];
	for (int round = 0; round < 2; round++) {
		assert_true(us_mem_read(m, 0x1000, buf, 1));
		assert_int_equal(buf[0], ram[0][0]);
		assert_true(us_mem_read(m, 0x1ffc, buf, 8));
		assert_memory_equal(buf, ram[0] + 0xffc, 8);
		assert_true(us_mem_read(m, 0x11fd, buf, 300));
		assert_memory_equal(buf, ram[0] + 0x1fd, 300);
		assert_true(us_mem_read(m, 0x1001, buf, 8000));
		assert_memory_equal(buf, &ram[0][1], 8000);
		assert_true(us_mem_read(m, 0x100000 + 90, buf, 10));
		assert_memory_equal(buf, ram[2] + 90, 10);
		assert_true(us_mem_read(m, 0xffff000, buf, 0));

		assert_false(us_mem_read(m, 0x100000 + 90, buf, 11));
		assert_false(us_mem_read(m, 0xfff, buf, 2));
		assert_false(us_mem_read(m, 0x2fff, buf, 2));
		assert_false(us_mem_read(m, 0, buf, 1));
		assert_false(us_mem_read(m, UINT64_MAX, buf, 1));
		assert_false(us_mem_read(m, UINT64_MAX - 3, buf, 9));
		us_mem_new_sample(m);
	}
	assert_int_equal(us_mem_size(m), 8192 + 100);
}

static void mapped(void **state)
{
	(void)state;
	struct us_mem m;
	setup(&m, true, 0);
	check_reads(&m);
}

static void copied(void **state)
{
	(void)state;
	struct us_mem m;
	setup(&m, false, getpid());
	check_reads(&m);
}

/* A page that the file lacks reads as zeroes, and is still not there after that. */
static void read_from_a_file(void **state)
{
	(void)state;
	struct us_mem m;
	struct stat before, after;
	uint8_t buf[4096], zero[4096] = { 0 };
	fill();
	int fd = memfd_create("us-test", MFD_CLOEXEC);
	assert_true(fd > 0);
	assert_int_equal(ftruncate(fd, 8 * 4096), 0);
	assert_int_equal(pwrite(fd, ram[0], 4096, 2 * 4096), 4096);
	struct us_region r = {
		.start = 0x10000, .size = 4 * 4096, .file = fd, .file_at = 4096
	};
	memset(&m, 0, sizeof(m));
	m.region = &r;
	m.n_region = 1;
	us_mem_init(&m);
	assert_int_equal(fstat(fd, &before), 0);
	assert_true(us_mem_read(&m, 0x11000 + 100, buf, 8));
	assert_memory_equal(buf, ram[0] + 100, 8);
	assert_true(us_mem_read(&m, 0x11000, buf, 4096));
	assert_memory_equal(buf, ram[0], 4096);
	assert_true(us_mem_read(&m, 0x12008, buf, 8));
	assert_true(us_mem_read(&m, 0x13000, buf + 8, 4088));
	assert_memory_equal(buf, zero, 4096);
	assert_false(us_mem_read(&m, 0x13ffc, buf, 8));
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(after.st_blocks, before.st_blocks);

	static struct us_mem_pages pages;
	us_mem_use_pages(&m, &pages);
	assert_true(us_mem_read(&m, 0x11000 + 200, buf, 8));
	assert_memory_equal(buf, ram[0] + 200, 8);
	close(fd);
}

static void lines_last_one_sample(void **state)
{
	(void)state;
	struct us_mem m;
	uint8_t c;
	setup(&m, false, getpid());
	assert_true(us_mem_read(&m, 0x1010, &c, 1));
	ram[0][0x10] ^= 0xff;
	uint8_t old = c;
	assert_true(us_mem_read(&m, 0x1010, &c, 1));
	assert_int_equal(c, old);
	us_mem_new_sample(&m);
	assert_true(us_mem_read(&m, 0x1010, &c, 1));
	assert_int_equal(c, old ^ 0xff);

	/* Also when the sample counter goes round. */
	m.epoch = UINT32_MAX;
	assert_true(us_mem_read(&m, 0x1010, &c, 1));
	us_mem_new_sample(&m);
	assert_int_equal(m.epoch, 1);
	ram[0][0x10] ^= 0xff;
	assert_true(us_mem_read(&m, 0x1010, &c, 1));
	assert_int_equal(c, old);
}

static uint8_t at(struct us_mem *m, us_gpa pa)
{
	uint8_t c = 0;
	assert_true(us_mem_read(m, pa, &c, 1));
	return c;
}

/* The third run is no whole page: lines and words as before. */
static void pages_in_place_of_lines(void **state)
{
	(void)state;
	static struct us_mem_pages pages;
	struct us_mem m;
	setup(&m, false, getpid());
	us_mem_use_pages(&m, &pages);
	check_reads(&m);
	uint8_t old = at(&m, 0x1010);
	ram[0][0x10] ^= 0xff;
	ram[0][0xff0] ^= 0xff; /* of another line, and the same page */
	assert_int_equal(at(&m, 0x1010), old);
	assert_int_equal(at(&m, 0x1ff0), ram[0][0xff0] ^ 0xff);
	us_mem_forget(&m, 0x2010); /* of another page */
	assert_int_equal(at(&m, 0x1010), old);
	us_mem_forget(&m, 0x1010);
	assert_int_equal(at(&m, 0x1010), old ^ 0xff);
	ram[0][0x10] ^= 0xff;
	us_mem_new_sample(&m);
	assert_int_equal(at(&m, 0x1010), old);
	ram[0][0x10] ^= 0xff;
	us_mem_use_pages(&m, NULL);
	us_mem_use_pages(&m, &pages); /* what it had may be of any time */
	assert_int_equal(at(&m, 0x1010), old ^ 0xff);
	m.epoch = UINT32_MAX;
	assert_int_equal(at(&m, 0x1010), old ^ 0xff);
	us_mem_new_sample(&m);
	ram[0][0x10] ^= 0xff;
	assert_int_equal(at(&m, 0x1010), old);
}

static void a_line_is_forgotten(void **state)
{
	(void)state;
	struct us_mem m;
	setup(&m, false, getpid());
	uint8_t old = at(&m, 0x1010);
	ram[0][0x10] ^= 0xff;
	us_mem_forget(&m, 0x1210);
	assert_int_equal(at(&m, 0x1010), old);
	us_mem_forget(&m, 0x1011);
	assert_int_equal(at(&m, 0x1010), old ^ 0xff);
}

static void gone_process(void **state)
{
	(void)state;
	struct us_mem m;
	uint8_t c;
	setup(&m, false, getpid());
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	munmap(page, 4096);
	region[0].hva = (uintptr_t)page;
	assert_false(us_mem_read(&m, 0x1010, &c, 1));
	region[0].hva = 0;
	assert_false(us_mem_read(&m, 0x1010, &c, 1));
	m.pid = 0;
	assert_false(us_mem_read(&m, 0x2010, &c, 1));
}

struct asked {
	unsigned calls;
	uint64_t lo, hi;
};

static bool answer(void *ctx, uint64_t at, void *buf, size_t len)
{
	struct asked *a = ctx;
	a->calls++;
	if (at < a->lo || at + len > a->hi)
		return false;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)(at + i);
	return true;
}

static void callback(void **state)
{
	(void)state;
	struct asked a = { .lo = 0x1100, .hi = 0x3000 };
	struct us_mem m = { .read = answer, .read_gva = answer, .ctx = &a };
	uint8_t buf[1024];
	us_mem_init(&m);

	assert_true(us_mem_read(&m, 0x1208, buf, 8));
	assert_true(us_mem_read(&m, 0x1300, buf, 8));
	assert_int_equal(a.calls, 1);
	assert_int_equal(buf[1], 1);
	/* A line that starts before what the callback has: asked for exactly. */
	assert_true(us_mem_read(&m, 0x1108, buf, 8));
	assert_int_equal(buf[0], 8);
	assert_int_equal(a.calls, 3);
	assert_false(us_mem_read(&m, 0x10fc, buf, 8));
	assert_true(us_mem_read(&m, 0x1203, buf, 1024));
	assert_int_equal(buf[1023], (uint8_t)(0x1203 + 1023));

	a.calls = 0;
	assert_true(us_mem_read_gva(&m, 0x13fc, buf, 8));
	assert_true(us_mem_read_gva(&m, 0x1204, buf, 8));
	assert_int_equal(a.calls, 2);
	assert_int_equal(buf[0], 4);
	assert_false(us_mem_read_gva(&m, UINT64_MAX - 2, buf, 8));
	m.read_gva = NULL;
	assert_false(us_mem_read_gva(&m, 0x1204, buf, 8));
}

static void callback_where_copying_fails(void **state)
{
	(void)state;
	struct us_mem m;
	struct asked a = { .lo = 0, .hi = UINT64_MAX };
	uint8_t c;
	setup(&m, false, 0);
	m.read = answer;
	m.ctx = &a;
	assert_true(us_mem_read(&m, 0x1234, &c, 1));
	assert_int_equal(c, 0x34);
	assert_false(us_mem_read(&m, 0x5000, &c, 1)); /* not RAM: not asked */
	assert_int_equal(a.calls, 1);
}

static const uint8_t *page_of(void *ctx, us_gpa pa)
{
	++*(unsigned *)ctx;
	return pa >= 0x5000 && pa < 0x7000 ? ram[(pa - 0x5000) / US_MEM_PAGE] : NULL;
}

static void pages_are_asked_for_one_by_one(void **state)
{
	(void)state;
	static struct us_mem m;
	static uint8_t buf[2 * US_MEM_PAGE];
	unsigned asked = 0;
	fill();
	m = (struct us_mem){ .page = page_of, .ctx = &asked };
	us_mem_init(&m);
	assert_true(us_mem_read(&m, 0x5ffc, buf, 8));
	assert_memory_equal(buf, ram[0] + 0xffc, 8);
	assert_int_equal(asked, 2);
	assert_true(us_mem_read(&m, 0x5000, buf, sizeof(buf)));
	assert_memory_equal(buf, ram, sizeof(buf));
	assert_false(us_mem_read(&m, 0x6ffc, buf, 5));
	assert_false(us_mem_read(&m, 0x4fff, buf, 1));
	assert_false(us_mem_read(&m, UINT64_MAX, buf, 1));
}

/* A pagemap that says of one page of the host alone that it is there. */
static int pagemap_with(uint64_t page)
{
	static const uint64_t present = 1ULL << 63;
	int fd = memfd_create("pagemap", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)((page + 2) * 8)), 0);
	assert_int_equal(pwrite(fd, &present, 8, (off_t)(page * 8)), 8);
	return fd;
}

/* As on arm64 hosts, where a kernel's pages may have 64 KiB. */
static void lazy_pages_are_the_hosts(void **state)
{
	(void)state;
	static struct us_mem m;
	static _Alignas(65536) uint8_t bytes[3 * 65536];
	static struct us_mem_pages pages;
	struct us_region lazy = { .size = sizeof(bytes),
				  .hva = (uintptr_t)bytes,
				  .lazy = true };
	uint8_t buf[16];
	memset(bytes, 'x', sizeof(bytes));
	host_page = 65536;
	m = (struct us_mem){ .region = &lazy,
			     .n_region = 1,
			     .pid = getpid(),
			     .pagemap = pagemap_with(lazy.hva / 65536 + 1) };
	for (int with_pages = 0; with_pages < 2; with_pages++) {
		us_mem_init(&m);
		us_mem_use_pages(&m, with_pages ? &pages : NULL);
		assert_true(us_mem_read(&m, 65536, buf, 16));
		assert_true(us_mem_read(&m, 65536 + 0x5000, buf, 16));
		assert_true(us_mem_read(&m, 2 * 65536 - 16, buf, 16));
		assert_false(us_mem_read(&m, 2 * 65536 - 8, buf, 16));
		assert_false(us_mem_read(&m, 65536 - 0x1000, buf, 16));
		assert_false(us_mem_read(&m, 2 * 65536, buf, 16));
	}
	close(m.pagemap);
	host_page = 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapped),
		cmocka_unit_test(read_from_a_file),
		cmocka_unit_test(copied),
		cmocka_unit_test(lines_last_one_sample),
		cmocka_unit_test(pages_in_place_of_lines),
		cmocka_unit_test(a_line_is_forgotten),
		cmocka_unit_test(gone_process),
		cmocka_unit_test(callback),
		cmocka_unit_test(callback_where_copying_fails),
		cmocka_unit_test(pages_are_asked_for_one_by_one),
		cmocka_unit_test(lazy_pages_are_the_hosts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
