/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording says of a guest's programs: as it was written. */
#include "unit.h"

#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	struct us_program_file file;
	struct us_mapping mapping;
	struct us_program_name name;
	char path[64], text[256];
	size_t n_file, n_mapping, n_name;
} heard;

static int on_file(void *ctx, const struct us_program_file *f)
{
	(void)ctx;
	heard.file = *f;
	snprintf(heard.path, sizeof(heard.path), "%s", f->path);
	heard.n_file++;
	return 0;
}

static int on_mapping(void *ctx, const struct us_mapping *m)
{
	(void)ctx;
	heard.mapping = *m;
	heard.n_mapping++;
	return 0;
}

static int on_name(void *ctx, const struct us_program_name *n)
{
	(void)ctx;
	heard.name = *n;
	snprintf(heard.text, sizeof(heard.text), "%s", n->name);
	heard.n_name++;
	return 0;
}

static struct us_writer *begin(int *ret_fd)
{
	struct us_writer *w;
	memset(&heard, 0, sizeof(heard));
	*ret_fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(*ret_fd, &w, NULL), 0);
	return w;
}

static void end(struct us_writer *w, int fd)
{
	static const struct us_reader_ops ops = { .program_file = on_file,
						  .mapping = on_mapping,
						  .program_name = on_name };
	const struct us_record_stats s = { 0 };
	struct us_reader_result r;
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_read(fd, &ops, NULL, &r, NULL), 0);
	assert_true(r.ended);
	close(fd);
}

static void all_come_back(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = begin(&fd);
	const struct us_program_file f = { .number = 7,
					   .kind = US_PROGRAM_VDSO,
					   .build_id = { 1, 2, 3 },
					   .build_id_len = 3,
					   .deleted = true,
					   .path = "[vdso]" };
	const struct us_mapping m = { .file = 7,
				      .pid = 107,
				      .root = 0x123456000,
				      .pair = true,
				      .start = 0x7fff00000000,
				      .end = 0x7fff00002000,
				      .offset = 0x1000,
				      .bias = 0x7ffeffffffff,
				      .has_bias = true,
				      .from_ns = 5999,
				      .until_ns = 9000 };
	struct us_program_name n[] = { { 7, 0x1000, 16, "first" },
				       { 7, 0x800, UINT64_MAX, "" },
				       { 7, 0x900, 32, "second" } };
	assert_int_equal(us_writer_program_file(w, &f, NULL), 0);
	assert_int_equal(us_writer_mapping(w, &m, NULL), 0);
	assert_int_equal(us_writer_program_names(w, n, 3, NULL), 0);
	end(w, fd);
	assert_true(heard.n_file == 1 && heard.n_mapping == 1 && heard.n_name == 2);
	assert_true(heard.file.number == 7 && heard.file.kind == US_PROGRAM_VDSO);
	assert_int_equal(heard.file.build_id_len, 3);
	assert_true(heard.file.deleted);
	assert_memory_equal(heard.file.build_id, f.build_id, sizeof(f.build_id));
	assert_string_equal(heard.path, "[vdso]");
	assert_true(heard.mapping.from_ns == 5000 && heard.mapping.until_ns == 9000);
	assert_true(heard.mapping.file == 7 && heard.mapping.pid == 107);
	assert_true(heard.mapping.root == m.root && heard.mapping.pair);
	assert_true(heard.mapping.start == m.start && heard.mapping.end == m.end);
	assert_true(heard.mapping.offset == m.offset && heard.mapping.bias == m.bias);
	assert_true(heard.mapping.has_bias);
	assert_true(heard.name.address == 0x900 && heard.name.size == 32);
	assert_string_equal(heard.text, "second");
}

/* More than fit a chunk. */
static void many_names(void **state)
{
	(void)state;
	static struct us_program_name n[5000];
	int fd;
	struct us_writer *w = begin(&fd);
	for (size_t k = 0; k < 5000; k++)
		n[k] = (struct us_program_name){ 1, k << 40, 1, "a_name_of_a_length" };
	assert_int_equal(us_writer_program_names(w, n, 5000, NULL), 0);
	end(w, fd);
	assert_int_equal(heard.n_name, 5000);
	assert_true(heard.name.address == 4999ULL << 40);
}

static void wrong_values_are_refused(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = begin(&fd);
	struct us_program_file f = { .path = "x" };
	struct us_mapping m = { .file = 1, .start = 1, .end = 1 };
	assert_int_equal(us_writer_program_file(w, &f, NULL), -EINVAL);
	f.number = 1;
	f.kind = US_N_PROGRAM_KIND;
	assert_int_equal(us_writer_program_file(w, &f, NULL), -EINVAL);
	assert_int_equal(us_writer_mapping(w, &m, NULL), -EINVAL);
	m.end = 2;
	m.from_ns = 2;
	m.until_ns = 1;
	assert_int_equal(us_writer_mapping(w, &m, NULL), -EINVAL);
	end(w, fd);
	assert_int_equal(heard.n_file + heard.n_mapping, 0);
}

static size_t n_seen;

static void see(void *ctx, us_gpa root, us_gva pc)
{
	(void)ctx;
	assert_true(root == 0x5000 && (pc == 0x401000 || pc == 0x402000));
	n_seen++;
}

/* Each frame of a program once, whatever stands around it. */
static void programs_are_seen(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = begin(&fd);
	struct us_sample s = { .weight = 1, .end = US_END_ROOT };
	const us_gva pc[] = { 0xffffffff81000000, 0x401000, 0x402000, 0x5000, 12 };
	const uint8_t flags[] = { 0, US_PC_USER, US_PC_USER, US_PC_SPACE, US_PC_EXIT };
	us_writer_see_programs(w, &(struct us_program_seer){ see, NULL });
	for (unsigned k = 0; k < 3; k++) {
		assert_int_equal(us_writer_sample(w, &s, pc, flags, 5, NULL), 0);
		assert_int_equal(us_writer_flush(w, NULL), 0);
	}
	/* Whose a frame is that has no root, nobody knows. */
	assert_int_equal(us_writer_sample(w, &s, pc, flags, 3, NULL), 0);
	end(w, fd);
	assert_int_equal(n_seen, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_back),
		cmocka_unit_test(many_names),
		cmocka_unit_test(wrong_values_are_refused),
		cmocka_unit_test(programs_are_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
