/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The RAM of a VMM that gives its guest a library's mapping as its kernel: a made-up
 * one with libkrun's regions, as strace shows them (libkrun 1.17, libkrunfw 5.6). */
#include "made-up-vmm.h"

#include "vmm/ram.h"
#include "vmm/ram_bundled.h"

#include <string.h>
#include <sys/mman.h>

#define MIB	(1ULL << 20)
#define GIB	(1ULL << 30)
#define FIRST	(16 * MIB)
#define KERNEL	(5 * MIB + 0x30000)
#define BEHIND	(FIRST + KERNEL)
#define HOLE	0xd0000000ULL
#define SHARED	(512 * MIB)
#define BELOW	0x90000 /* between two parts, of which the lower is aligned */
#define N_ENTRY 2

struct entry {
	uint64_t start, size;
	uint32_t type;
} __attribute__((packed));

struct vmm {
	uint64_t second, high; /* sizes */
	bool shared;
	uint8_t entries; /* as the boot parameters have it */
	char magic[4];
	struct entry e820[N_ENTRY];
};

static void mark(char *start, uint64_t size, const char *tag)
{
	memcpy(start, tag, 4);
	memcpy(start + size - 4, tag, 4);
}

static char *map(char *at, uint64_t size, int fd)
{
	int flags = MAP_PRIVATE | MAP_NORESERVE | (at ? MAP_FIXED : 0);
	return mmap(at, size, PROT_READ | PROT_WRITE,
		    flags | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
}

static void leave_parameters(char *first, const struct vmm *v)
{
	char *page = first + 0x7000;
	page[0x1e8] = (char)v->entries;
	page[0x1fe] = 0x55;
	page[0x1ff] = (char)0xaa;
	memcpy(page + 0x202, v->magic, 4);
	memcpy(page + 0x2d0, v->e820, sizeof(v->e820));
}

/* From the top down, and another kind of mapping around it. */
static bool be_vmm(const void *what)
{
	const struct vmm *v = what;
	int file = memfd_create("kernel.so", 0);
	uint64_t all = SHARED + v->high + BELOW + v->second + FIRST;
	char *low = mmap(NULL, all + 8192, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (file < 0 || low == MAP_FAILED || ftruncate(file, KERNEL + 4096) < 0)
		return false;
	char *kernel = map(NULL, KERNEL + 4096, file);
	char *first = low + 4096 + all - FIRST, *second = first - v->second;
	char *high = second - (v->high ? BELOW : 0) - v->high, *shared = high - SHARED;
	if (v->high)
		munmap(second - BELOW, BELOW);
	if (kernel == MAP_FAILED || map(first, FIRST, -1) != first ||
	    map(second, v->second, -1) != second ||
	    (v->high && map(high, v->high, -1) != high) ||
	    (v->shared && map(shared, SHARED, -1) != shared))
		return false;
	mark(first, FIRST, "one ");
	mark(kernel, KERNEL, "code");
	mark(second, v->second, "two ");
	if (v->high)
		mark(high, v->high, "high");
	if (v->shared)
		mark(shared, SHARED, "file");
	leave_parameters(first, v);
	return true;
}

static struct us_guest start(bool (*be)(const void *), const struct vmm *v)
{
	struct us_guest g = { .accel = US_ACCEL_KVM, .vmm = "krun" };
	assert_true(begin_made_up(&g, be, v));
	return g;
}

static void check_part(struct us_mem *m, us_gpa at, uint64_t size, const char *tag)
{
	char got[4];
	assert_true(us_mem_read(m, at, got, 4));
	assert_memory_equal(got, tag, 4);
	assert_true(us_mem_read(m, at + size - 4, got, 4));
	assert_memory_equal(got, tag, 4);
}

static void check(bool (*be)(const void *), const struct vmm *v, us_gpa shared_at)
{
	struct us_guest g = start(be, v);
	struct us_ram *r;
	struct us_err e = { 0 };
	char got;
	assert_int_equal(us_ram_open(&g, NULL, &r, &e), 0);
	struct us_mem *m = us_ram_mem(r);
	us_mem_new_sample(m);
	check_part(m, 0, FIRST, "one ");
	check_part(m, FIRST, KERNEL, "code");
	check_part(m, BEHIND, v->second, "two ");
	if (v->high)
		check_part(m, 4 * GIB, v->high, "high");
	if (shared_at)
		check_part(m, shared_at, SHARED, "file");
	assert_false(us_mem_read(m, BEHIND + v->second, &got, 1));
	us_ram_close(r);
	end_made_up(&g);
}

static void below_the_hole(void **state)
{
	(void)state;
	struct vmm v = { .second = 512 * MIB,
			 .shared = true,
			 .entries = 2,
			 .magic = "HdrS",
			 .e820 = { { 0, 0x9fc00, 1 },
				   { MIB, BEHIND + 512 * MIB - MIB + 1, 1 } } };
	check(be_vmm, &v, 4 * GIB);
	v.shared = false; /* an older one, or without files */
	check(be_vmm, &v, 0);
}

static void above_the_hole(void **state)
{
	(void)state;
	struct vmm v = { .second = HOLE - BEHIND,
			 .high = 2672 * MIB,
			 .shared = true,
			 .entries = 2,
			 .magic = "HdrS",
			 .e820 = { { MIB, HOLE - MIB, 1 },
				   { 4 * GIB, 2672 * MIB + 1, 1 } } };
	check(be_vmm, &v, 7 * GIB);
}

/* As microsandbox 0.7.2 has them: apart, with malloc()'s arenas behind them. */
static bool be_apart(const void *what)
{
	const struct vmm *v = what;
	const uint64_t unit = 64 * MIB, arena = 0x21000;
	int file = memfd_create("kernel.so", 0);
	char *low = mmap(NULL, 32 * unit, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (file < 0 || low == MAP_FAILED || ftruncate(file, KERNEL + 4096) < 0)
		return false;
	low += unit - (uintptr_t)low % unit;
	char *second = low + 16 * unit - v->second, *first = low + 20 * unit - FIRST;
	char *kernel = map(NULL, KERNEL + 4096, file);
	if (kernel == MAP_FAILED || map(second, v->second + arena, -1) != second ||
	    map(first, FIRST + arena, -1) != first)
		return false;
	mark(first, FIRST, "one ");
	mark(kernel, KERNEL, "code");
	mark(second, v->second, "two ");
	leave_parameters(first, v);
	return true;
}

static void beside_arenas(void **state)
{
	(void)state;
	const struct vmm v = { .second = 512 * MIB,
			       .entries = 1,
			       .magic = "HdrS",
			       .e820 = { { MIB, BEHIND + 511 * MIB, 1 } } };
	check(be_apart, &v, 0);
}

/* What does not fit is not laid out like that: 0 layouts. */
static void check_refused(const struct vmm *v)
{
	struct us_ram_layout l[US_RAM_BUNDLED];
	struct us_maps maps = { 0 };
	struct us_err e;
	struct us_guest g = start(be_vmm, v);
	assert_int_equal(us_maps_read(g.pid, &maps, &e), 0);
	assert_int_equal(us_ram_bundled(g.pid, &maps, l), 0);
	us_maps_fini(&maps);
	end_made_up(&g);
}

static void bad_parameters(void **state)
{
	(void)state;
	const struct vmm good = { .second = 64 * MIB,
				  .entries = 1,
				  .magic = "HdrS",
				  .e820 = { { MIB, BEHIND + 63 * MIB + 1, 1 } } };
	struct vmm v = good;
	check(be_vmm, &v, 0);
	v.magic[0] = 'X';
	check_refused(&v);
	v = good;
	v.entries = 255;
	check_refused(&v);
	v = good;
	v.e820[0].type = 2;
	check_refused(&v);
	v = good;
	v.e820[0].size = 3 * MIB; /* ends before the kernel does */
	check_refused(&v);
	v.e820[0].size = UINT64_MAX;
	check_refused(&v);
	v.e820[0].size = 2 * GIB; /* there is not that much */
	check_refused(&v);
	v = good;
	v.entries = 2;
	v.e820[1] = (struct entry){ 4 * GIB, 1ULL << 47, 1 };
	check_refused(&v);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_the_hole),
		cmocka_unit_test(above_the_hole),
		cmocka_unit_test(beside_arenas),
		cmocka_unit_test(bad_parameters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
