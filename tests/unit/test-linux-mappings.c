/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs have mapped: trees and lists as a kernel has them, torn ones, names,
 * and such as no kernel has. */
#include "unit.h"

#include "linux-mappings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define N_BYTES (1U << 20)
#define NODE(n) (TEST_MM + 4096 + 256 * (n))
#define VMA(n)	(TEST_MM + 65536 + 64 * (n))
#define FILE(n) (TEST_MM + 262144 + 64 * (n))
#define NAME(n) (TEST_MM + 524288 + 4096 * (n)) /* a dentry, its name behind it */
#define MOUNT	(TEST_MM + 786432)
#define LEAF	1U
#define ARANGE	3U

static struct us_linux_mappings_layout layout;
static struct us_space space;
static uint8_t memory[N_BYTES];
static struct us_mem mem;
static struct us_paging paging;
static bool endless; /* every node has such nodes below it */

/* Page tables for pages of 64 KiB: 512 MiB at TEST_MM, which are there at BLOCK. */
#define BLOCK	  0x20000000ULL
#define FIRST_AT  (0x10000 + 8 * (TEST_MM >> 42 & 63))
#define SECOND_AT (0x20000 + 8 * (TEST_MM >> 29 & 8191))

static bool read_tables(us_gpa at, void *buf, size_t len)
{
	static const uint64_t entry[][2] = { { FIRST_AT, 0x20003 },
					     { SECOND_AT, BLOCK | 0x401 } };
	memset(buf, 0, len);
	for (size_t k = 0; k < 2; k++)
		if (entry[k][0] >= at && entry[k][0] - at <= len - 8)
			memcpy((uint8_t *)buf + (entry[k][0] - at), &entry[k][1], 8);
	return true;
}

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	if (space.mode != US_PAGING_OFF && at < BLOCK)
		return read_tables(at, buf, len);
	if (at - BLOCK < sizeof(memory))
		at += TEST_MM - BLOCK;
	if (at < TEST_MM || at - TEST_MM > sizeof(memory) - len)
		return false;
	memcpy(buf, memory + (at - TEST_MM), len);
	if (endless && len == US_MAPLE_NODE)
		memcpy(buf, &at, 8); /* its parent is a node like it */
	return true;
}

static void put64(us_gva at, uint64_t v)
{
	memcpy(memory + (at - TEST_MM), &v, sizeof(v));
}

static uint64_t encoded(unsigned node, unsigned type)
{
	return NODE(node) | type << 3 | 2;
}

static void make_vma(unsigned n, us_gva start, us_gva end, bool code, unsigned file,
		     uint64_t page)
{
	put64(VMA(n) + layout.start, start);
	put64(VMA(n) + layout.end, end);
	put64(VMA(n) + layout.flags, code ? 5 : 1);
	put64(VMA(n) + layout.offset, page);
	put64(VMA(n) + layout.file, file ? FILE(file) : 0);
}

/* Slots are numbered from 0; of an inner one, to is what is below. */
static void put_slot(unsigned node, const struct us_maple_layout *l, unsigned slot,
		     uint64_t last, uint64_t to)
{
	if (slot + 1 < l->n_slot)
		put64(NODE(node) + l->pivot + 8 * slot, last);
	put64(NODE(node) + l->slot + 8 * slot, to);
}

static void make_name(unsigned n, unsigned parent, const char *name)
{
	uint32_t len = (uint32_t)strlen(name);
	put64(NAME(n) + layout.parent, NAME(parent));
	put64(NAME(n) + layout.name, NAME(n) + 256);
	memcpy(memory + (NAME(n) + layout.name_length - TEST_MM), &len, 4);
	memcpy(memory + (NAME(n) + 256 - TEST_MM), name, len + 1);
}

static void set_count(uint32_t n)
{
	memcpy(memory + layout.count, &n, 4);
}

/* A mount whose root is the dentry 0, and a file of each number in it. */
static void make_files(void)
{
	make_name(0, 0, "/");
	make_name(1, 0, "bin");
	make_name(2, 1, "dd");
	make_name(3, 0, "libc.so");
	put64(MOUNT + layout.mounted + layout.mount_root, NAME(0));
	put64(MOUNT + layout.mount_parent, MOUNT);
	for (unsigned k = 1; k <= 2; k++) {
		put64(FILE(k) + layout.dentry, NAME(k + 1));
		put64(FILE(k) + layout.mount, MOUNT + layout.mounted);
	}
}

/*
 * A tree of two levels: a program of two mappings, code of nobody; a library, the
 * vdso.
 */
static int set_up(void **state)
{
	(void)state;
	const struct us_maple_layout *leaf = &test_mappings_layout.range;
	const struct us_maple_layout *inner = &test_mappings_layout.arange;
	layout = test_mappings_layout;
	space = (struct us_space){ .mode = US_PAGING_OFF };
	memset(memory, 0, sizeof(memory));
	endless = false;
	mem = (struct us_mem){ .read = read_guest };
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	make_files();
	make_vma(1, 0x400000, 0x401000, false, 1, 0);
	make_vma(2, 0x401000, 0x480000, true, 1, 1);
	make_vma(3, 0x500000, 0x501000, false, 0, 0);
	make_vma(4, 0x600000, 0x601000, true, 0, 0);
	make_vma(5, 0x7f0000000000, 0x7f0000021000, true, 2, 0);
	make_vma(6, 0x7fff00000000, 0x7fff00001000, true, 0, 0);
	put_slot(1, leaf, 0, 0x3fffff, 0);
	put_slot(1, leaf, 1, 0x400fff, VMA(1));
	put_slot(1, leaf, 2, 0x47ffff, VMA(2));
	put_slot(1, leaf, 3, 0x4fffff, 0);
	put_slot(1, leaf, 4, 0x500fff, VMA(3));
	put_slot(1, leaf, 5, 0x5fffff, 0);
	put_slot(1, leaf, 6, 0x600fff, VMA(4));
	put_slot(2, leaf, 0, 0x7effffffffff, 0);
	put_slot(2, leaf, 1, 0x7f0000020fff, VMA(5));
	put_slot(2, leaf, 2, 0x7ffeffffffff, 0);
	put_slot(2, leaf, 3, 0x7fff00000fff, VMA(6));
	put_slot(2, leaf, 4, 0, 0); /* to the end */
	put_slot(2, leaf, 5, 0, VMA(1));
	put_slot(0, inner, 0, 0x600fff, encoded(1, LEAF));
	put_slot(0, inner, 1, 0, encoded(2, LEAF));
	put64(NODE(0), TEST_MM + 64 + 1); /* the tree's */
	put64(NODE(1), NODE(0) | 4);
	put64(NODE(2), NODE(0) | 12);
	put64(TEST_MM + layout.first, encoded(0, ARANGE));
	put64(TEST_MM + layout.vdso, 0x7fff00000000);
	set_count(6);
	return 0;
}

static void read_all(struct us_linux_mappings *m)
{
	assert_int_equal(us_linux_mappings_read(&layout, &paging, &space, TEST_MM, m),
			 0);
}

/* "START+OFFSET code vdso uprobes", one after the other. */
static void expect(const char *want)
{
	struct us_linux_mappings m;
	char got[512] = "";
	read_all(&m);
	for (size_t k = 0; k < m.n; k++) {
		size_t n = strlen(got);
		snprintf(got + n, sizeof(got) - n, "%s%llx+%llx%s%s%s%s", k ? ", " : "",
			 (unsigned long long)m.v[k].start,
			 (unsigned long long)m.v[k].offset, m.v[k].file ? " file" : "",
			 m.v[k].code ? " code" : "", m.v[k].vdso ? " vdso" : "",
			 m.v[k].uprobes ? " uprobes" : "");
	}
	assert_false(m.torn || m.full);
	assert_string_equal(got, want);
	us_linux_mappings_fini(&m);
}

#define ALL                                                                            \
	"400000+0 file, 401000+1000 file code, 600000+0 code, "                        \
	"7f0000000000+0 file code, 7fff00000000+0 code vdso"

static void test_tree(void **state)
{
	(void)state;
	expect(ALL);
	/* One leaf is the root. */
	put64(TEST_MM + layout.first, encoded(1, LEAF));
	put64(NODE(1), TEST_MM + 64 + 1);
	set_count(4);
	expect("400000+0 file, 401000+1000 file code, 600000+0 code");
	put64(TEST_MM + layout.first, 0);
	set_count(0);
	expect("");
}

/* On arm64 the kernel's pages may have 16 or 64 KiB; offsets count those. */
static void test_large_pages(void **state)
{
	(void)state;
	space = (struct us_space){ .mode = US_PAGING_AARCH64,
				   .root_upper = 0x10000,
				   .control = 16 | 16 << 16 | 1 << 14 | 3ULL << 30 };
	make_vma(1, 0x400000, 0x410000, true, 1, 3);
	put_slot(1, &layout.range, 1, 0x40ffff, VMA(1));
	put64(NODE(1) + layout.range.pivot + 8 * 2, 0);
	put64(NODE(1) + layout.range.slot + 8 * 2, 0);
	put64(TEST_MM + layout.first, encoded(1, LEAF));
	put64(NODE(1), TEST_MM + 64 + 1);
	set_count(1);
	expect("400000+30000 file code");
}

static void test_list(void **state)
{
	(void)state;
	layout.tree = false;
	put64(TEST_MM + layout.first, VMA(1));
	for (unsigned k = 1; k < 6; k++)
		put64(VMA(k) + layout.next, VMA(k + 1));
	expect(ALL);
	/* It comes round: what follows is not above what was before. */
	struct us_linux_mappings m;
	put64(VMA(6) + layout.next, VMA(1));
	read_all(&m);
	assert_true(m.torn && m.n == 0);
	us_linux_mappings_fini(&m);
}

static void is_torn(void)
{
	struct us_linux_mappings m;
	read_all(&m);
	assert_true(m.torn);
	assert_int_equal(m.n, 0);
	us_linux_mappings_fini(&m);
	set_up(NULL);
}

static void test_torn(void **state)
{
	(void)state;
	const struct us_maple_layout *leaf = &layout.range, *inner = &layout.arange;
	put64(NODE(2), NODE(1)); /* another's child */
	is_torn();
	put64(NODE(0), NODE(0)); /* given up */
	is_torn();
	put64(VMA(5) + layout.end, 0x7f0000022000); /* not where the tree has it */
	is_torn();
	set_count(7); /* one was added meanwhile */
	is_torn();
	put_slot(1, leaf, 2, 0x400000, VMA(2)); /* an end before its begin */
	is_torn();
	put_slot(0, inner, 1, 0, encoded(1, LEAF)); /* the same node again */
	is_torn();
	put_slot(0, inner, 0, 0x600fff, encoded(0, ARANGE)); /* a cycle */
	is_torn();
	put_slot(1, leaf, 1, 0x400fff, TEST_MM + N_BYTES); /* not mapped */
	is_torn();
	put_slot(1, leaf, 1, 0x400fff, 0x1000); /* no address of the kernel */
	is_torn();
	put64(TEST_MM + layout.first, encoded(0, 7)); /* a kind that there is not */
	is_torn();
	put64(TEST_MM + layout.first, TEST_MM + 4096); /* no node */
	is_torn();
}

/* Nodes below nodes without end, more mappings than a process has. */
static void test_hostile(void **state)
{
	(void)state;
	struct us_linux_mappings m;
	endless = true;
	for (unsigned k = 0; k < 10; k++)
		put_slot(0, &layout.arange, k, 0x1000 * (k + 1), encoded(0, ARANGE));
	read_all(&m);
	assert_true(m.torn);
	us_linux_mappings_fini(&m);
	/* A list whose mappings overlap one another cannot be: the same one for ever.
	 */
	set_up(NULL);
	layout.tree = false;
	put64(TEST_MM + layout.first, VMA(1));
	put64(VMA(1) + layout.next, VMA(1));
	is_torn();
	put64(VMA(1) + layout.end, UINT64_MAX & ~4095ULL);
	is_torn();
}

static void path_is(us_gva file, const char *want)
{
	char got[US_LINUX_MAPPED_NAME] = "";
	bool ok = us_linux_mapping_path(&layout, &paging, &space, file, got);
	assert_int_equal(ok, want != NULL);
	assert_string_equal(got, want ? want : "");
}

static void test_names(void **state)
{
	(void)state;
	path_is(FILE(1), "/bin/dd");
	path_is(FILE(2), "/libc.so");
	/* In a mount in a folder of another. */
	us_gva upper = MOUNT + 1024;
	put64(upper + layout.mounted + layout.mount_root, NAME(1));
	put64(upper + layout.mount_parent, MOUNT);
	put64(upper + layout.mount_point, NAME(4));
	make_name(4, 0, "mnt");
	put64(FILE(1) + layout.mount, upper + layout.mounted);
	path_is(FILE(1), "/mnt/dd");
	/* In no folder. */
	make_name(2, 2, "memfd:jit");
	path_is(FILE(1), "/memfd:jit");
	/* With bytes that are no text: as it is, who shows it sees to that. */
	make_name(2, 1, "\033[31m\n");
	path_is(FILE(1), "/mnt/\033[31m\n");
}

static void test_hostile_names(void **state)
{
	(void)state;
	char longest[256];
	make_name(1, 2, "bin"); /* in its own folder: round and round */
	path_is(FILE(1), NULL);
	set_up(NULL);
	put64(MOUNT + layout.mounted + layout.mount_root, NAME(5));
	put64(MOUNT + layout.mount_point, NAME(1)); /* its root is no other's */
	path_is(FILE(1), "/bin/dd");
	set_up(NULL);
	memset(memory + (NAME(2) + layout.name_length - TEST_MM), 0xff, 4);
	path_is(FILE(1), NULL);
	make_name(2, 1, "");
	path_is(FILE(1), NULL);
	put64(FILE(1) + layout.dentry, 8);
	path_is(FILE(1), NULL);
	/* Names as long as they can be, in as many folders. */
	set_up(NULL);
	memset(longest, 'x', 255);
	longest[255] = '\0';
	for (unsigned k = 1; k < 40; k++)
		make_name(k, k - 1, longest);
	put64(FILE(1) + layout.dentry, NAME(39));
	path_is(FILE(1), NULL);
}

/* Code of no file, where the mm's area for uprobes says that it is. */
static void test_uprobes(void **state)
{
	(void)state;
	const us_gva area = TEST_MM + 128;
	put64(TEST_MM + layout.uprobes, area);
	expect(ALL); /* it is not mapped yet */
	put64(area + layout.uprobes_at, 0x600000);
	us_paging_new_sample(&paging);
	expect("400000+0 file, 401000+1000 file code, 600000+0 code uprobes, "
	       "7f0000000000+0 file code, 7fff00000000+0 code vdso");
	put64(area + layout.uprobes_at, 0x7f0000000000); /* a file's */
	us_paging_new_sample(&paging);
	expect(ALL);
	struct us_linux_mappings m;
	put64(TEST_MM + layout.uprobes, 8);
	us_paging_new_sample(&paging);
	read_all(&m);
	assert_true(m.torn && !m.n);
	us_linux_mappings_fini(&m);
}

static void test_deleted(void **state)
{
	(void)state;
	assert_false(us_linux_mapping_deleted(&layout, &paging, &space, NAME(2)));
	layout.has_hashed = true; /* else it cannot be told */
	layout.hashed = 8;
	assert_true(us_linux_mapping_deleted(&layout, &paging, &space, NAME(2)));
	put64(NAME(2) + layout.hashed, TEST_MM);
	assert_false(us_linux_mapping_deleted(&layout, &paging, &space, NAME(2)));
	/* The root of a tree is in no folder. */
	assert_false(us_linux_mapping_deleted(&layout, &paging, &space, NAME(0)));
	assert_false(us_linux_mapping_deleted(&layout, &paging, &space, 8));
}

static void test_mark(void **state)
{
	(void)state;
	uint64_t one[2], two[2];
	assert_true(us_linux_mappings_mark(&layout, &paging, &space, TEST_MM, one));
	set_count(7);
	us_paging_new_sample(&paging);
	assert_true(us_linux_mappings_mark(&layout, &paging, &space, TEST_MM, two));
	assert_true(one[0] == two[0] && one[1] != two[1]);
	assert_false(us_linux_mappings_mark(&layout, &paging, &space, 4096, two));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_tree, set_up),
		cmocka_unit_test_setup(test_large_pages, set_up),
		cmocka_unit_test_setup(test_list, set_up),
		cmocka_unit_test_setup(test_torn, set_up),
		cmocka_unit_test_setup(test_hostile, set_up),
		cmocka_unit_test_setup(test_names, set_up),
		cmocka_unit_test_setup(test_hostile_names, set_up),
		cmocka_unit_test_setup(test_uprobes, set_up),
		cmocka_unit_test_setup(test_deleted, set_up),
		cmocka_unit_test_setup(test_mark, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
