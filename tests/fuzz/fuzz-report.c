/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz-report.c: any bytes as a recording, reported in every format.
 *
 * The chunks' sums are set right first, or nothing behind them would be reached.
 * Images are not opened: paths are made to lead nowhere.
 */
#include "profile/groups.h"
#include "profile/stacks.h"
#include "report/report.h"
#include "store/crc32c.h"
#include "store/format.h"
#include "store/varint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void set_right(uint8_t *p, size_t size)
{
	for (size_t at = US_STORE_HEAD; at + US_CHUNK_HEAD <= size;) {
		uint8_t *head = p + at;
		uint32_t len = us_get_le32(head + 4);
		if (len > size - at - US_CHUNK_HEAD)
			break;
		uint32_t sum = us_crc32c(0, head, 8);
		us_put_le32(head + 8, us_crc32c(sum, head + US_CHUNK_HEAD, len));
		at += US_CHUNK_HEAD + len;
	}
}

static void check(const struct us_profile *p)
{
	size_t n;
	const struct us_profile_node *v = us_profile_nodes(p, &n);
	uint64_t self = 0;
	for (size_t i = 0; i < n; i++) {
		must(i == 0 || v[i].parent < i);
		must(v[i].self <= v[i].total);
		must(v[i].low <= v[i].high);
		self += v[i].self;
	}
	must(self == us_profile_summary(p)->running);
}

/* Stacks have the weight of the tree, and nothing that is not there. */
static void check_stacks(const struct us_profile *p)
{
	struct us_profile_stacks s;
	size_t n_func, n_module;
	us_profile_funcs(p, &n_func);
	us_profile_modules(p, &n_module);
	uint64_t weight = 0;
	must(us_profile_stacks(p, &s) == 0);
	for (size_t i = 0; i < s.n_stack; i++) {
		weight += s.stack[i].weight;
		must(s.stack[i].first + (size_t)s.stack[i].n <= s.n_path);
	}
	must(weight == us_profile_summary(p)->running);
	for (size_t i = 0; i < s.n_path; i++)
		must(s.path[i] < s.n_place);
	for (size_t i = 0; i < s.n_place; i++) {
		must(s.place[i].first + (size_t)s.place[i].n <= s.n_frame);
		must(s.place[i].module < n_module ||
		     s.place[i].module == US_STACK_NO_MODULE);
	}
	for (size_t i = 0; i < s.n_frame; i++)
		must(s.frame[i].func < n_func);
	us_profile_stacks_fini(&s);
}

/* Each sample is in one group. */
static void check_groups(const struct us_profile *p)
{
	struct us_profile_groups g;
	for (int by = US_BY_GUEST; by < US_BY_FUNCTION; by++) {
		uint64_t weight = 0;
		must(us_profile_groups(p, (enum us_profile_by)by, &g) == 0);
		for (size_t i = 0; i < g.n; i++)
			weight += g.v[i].weight;
		must(weight == us_profile_summary(p)->running ||
		     us_profile_is_calls_only(p));
		us_profile_groups_fini(&g);
	}
}

/* The same once more beside itself: all counts twice, or it cannot be. */
static void read_twice(int fd, const struct us_profile *one)
{
	struct us_profile *p = NULL;
	struct us_err e;
	int again = dup(fd), copy = memfd_create("fuzz-report-2", MFD_CLOEXEC);
	uint8_t part[4096];
	ssize_t n;
	for (off_t at = 0; (n = pread(fd, part, sizeof(part), at)) > 0; at += n)
		must(write(copy, part, (size_t)n) == n);
	lseek(again, 0, SEEK_SET);
	lseek(copy, 0, SEEK_SET);
	struct us_profile_input in[] = { { "a", again }, { "b", copy } };
	if (us_profile_read_all(in, 2, NULL, &p, &e) == 0) {
		check(p);
		must(us_profile_summary(p)->running ==
		     2 * us_profile_summary(one)->running);
	}
	us_profile_free(p);
	close(again);
	close(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static FILE *null;
	struct us_profile *p = NULL;
	struct us_err e;
	if (fd < 0) {
		fd = memfd_create("fuzz-report", MFD_CLOEXEC);
		null = fopen("/dev/null", "w");
	}
	uint8_t *copy = malloc(size + 1);
	must(fd >= 0 && null && copy);
	memcpy(copy, data, size);
	for (size_t i = 0; i < size; i++)
		if (copy[i] == '/')
			copy[i] = '\\';
	set_right(copy, size);
	must(!ftruncate(fd, 0) && pwrite(fd, copy, size, 0) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	struct us_profile_opts o = { .focus = size & 1 ? "0x" : NULL,
				     .host = size & 2,
				     .by_vcpu = size & 4,
				     .by_time = size & 8,
				     .timeline = size & 16,
				     .part = (enum us_profile_part)(size / 8 % 3) };
	if (us_profile_read(fd, &o, &p, &e) == 0) {
		check(p);
		check_stacks(p);
		check_groups(p);
		if (!o.focus && !o.host && o.part == US_PART_ALL)
			read_twice(fd, p);
		for (size_t i = 0; us_formats[i]; i++)
			must(us_report(p, us_formats[i], NULL, null, &e) == 0);
	}
	us_profile_free(p);
	free(copy);
	return 0;
}
