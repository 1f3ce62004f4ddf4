/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-store-example.c: the example in docs/format.md is what the writer makes. */
#include "store-file.h"

static uint8_t *make_example(size_t *ret_len)
{
	static const us_gva copy[] = { 0xffffffff80102040, 0xffffffff80101f00,
				       0xffffffff80100010 };
	static const us_gva sum[] = { 0xffffffff80103008, 0xffffffff80101f00,
				      0xffffffff80100010 };
	const struct us_sample s[3] = {
		{ .t_ns = 500000, .end = US_END_ROOT, .weight = 1 },
		{ .t_ns = 1400900, .vcpu = 1, .state = US_VCPU_HALTED, .weight = 2 },
		{ .t_ns = 1300000, .end = US_END_ROOT, .weight = 1 },
	};
	const struct us_record_stats stats = {
		.elapsed_ns = 2000000,
		.due = 5,
		.running = 2,
		.idle = 2,
		.late = 1,
		.stolen_ns = 8000,
		.vcpu_ns = 4000000,
		.held_p50_ns = 4000,
		.held_p99_ns = 4000,
		.held_max_ns = 4000,
	};
	int fd = memfd_create("example", MFD_CLOEXEC);
	struct us_writer *w;
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(us_writer_fact(w, "hz", "997", NULL), 0);
	assert_int_equal(us_writer_sample(w, &s[0], copy, NULL, 3, NULL), 0);
	assert_int_equal(us_writer_sample(w, &s[1], NULL, NULL, 0, NULL), 0);
	assert_int_equal(us_writer_sample(w, &s[2], sum, NULL, 3, NULL), 0);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "done", NULL), 0);
	us_writer_close(w);
	uint8_t *p = file_bytes(fd, ret_len);
	close(fd);
	return p;
}

/* The bytes of the lines "OFFSET: BYTES | words" of the document. */
static size_t documented(FILE *doc, uint8_t *bytes, size_t size)
{
	char line[256];
	size_t n = 0;
	while (fgets(line, sizeof(line), doc)) {
		unsigned at;
		int used = 0;
		if (sscanf(line, "%4x: %n", &at, &used) != 1 || !used)
			continue;
		assert_int_equal(at, n);
		unsigned byte;
		int more;
		for (char *p = line + used; sscanf(p, "%2x %n", &byte, &more) == 1;
		     p += more) {
			assert_true(n < size);
			bytes[n++] = (uint8_t)byte;
		}
	}
	return n;
}

static void the_example_is_true(void **state)
{
	(void)state;
	char path[4096];
	uint8_t told[1024];
	size_t len;
	const char *root = getenv("US_SOURCE_ROOT");
	snprintf(path, sizeof(path), "%s/docs/format.md", root ? root : ".");
	FILE *doc = fopen(path, "r");
	if (!doc) {
		print_message("# SKIP: %s is not there\n", path);
		skip();
	}
	uint8_t *p = make_example(&len);
	size_t n = documented(doc, told, sizeof(told));
	fclose(doc);
	assert_int_equal(n, len);
	assert_memory_equal(told, p, len);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_is_true),
	};
	return cmocka_run_group_tests_name("store-example", tests, NULL, NULL);
}
