/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of calls, marked at points of a boot: what is counted in which phase. */
#include "unit.h"

#include "profile/profile.h"
#include "trace/phases_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODES 16
#define VCPU  (2 * US_COUNTS_PAGE)
#define SIZE  (US_COUNTS_PAGE + 2 * VCPU)

struct files {
	char counts[64], phases[64];
	uint8_t *bytes;
	struct us_counts c;
	int marks; /* to add to */
};

static struct us_counts_vcpu *vcpu(const struct files *f, unsigned i)
{
	return (void *)(f->bytes + US_COUNTS_PAGE + (size_t)i * VCPU);
}

static struct us_counts_node *nodes(const struct files *f, unsigned i)
{
	return (void *)((uint8_t *)vcpu(f, i) + US_COUNTS_PAGE);
}

static int start(void **state)
{
	struct files *f = calloc(1, sizeof(*f));
	struct us_err e;
	assert_non_null(f);
	snprintf(f->counts, sizeof(f->counts), "/tmp/uniscope-phases-%d-counts",
		 (int)getpid());
	snprintf(f->phases, sizeof(f->phases), "/tmp/uniscope-phases-%d-marks",
		 (int)getpid());
	int fd = open(f->counts, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && ftruncate(fd, SIZE) == 0);
	f->bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(f->bytes, MAP_FAILED);
	close(fd);
	struct us_counts_head head = { .magic = "USCOUNTS",
				       .version = US_COUNTS_VERSION,
				       .api = 1,
				       .n_vcpu = 2,
				       .n_node = NODES,
				       .vcpu_offset = US_COUNTS_PAGE,
				       .vcpu_stride = VCPU,
				       .node_offset = US_COUNTS_PAGE,
				       .size = SIZE,
				       .n_seen = 1,
				       .target = "x86_64" };
	memcpy(f->bytes, &head, sizeof(head));
	vcpu(f, 0)->n_node = 1;
	f->marks = open(f->phases, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
			0600);
	assert_true(f->marks >= 0);
	assert_int_equal(us_counts_open(f->counts, &f->c, &e), 0);
	*state = f;
	return 0;
}

static int stop(void **state)
{
	struct files *f = *state;
	us_counts_close(&f->c);
	munmap(f->bytes, SIZE);
	close(f->marks);
	unlink(f->counts);
	unlink(f->phases);
	free(f);
	return 0;
}

/* The firmware 0x1000 calls 0x2000; then the kernel 0x3000 calls 0x2000, too. */
static void firmware(const struct files *f)
{
	nodes(f, 0)[1] = (struct us_counts_node){ 0x1000, 1, 100, 0, 16 };
	nodes(f, 0)[2] = (struct us_counts_node){ 0x2000, 5, 50, 1, 17 };
	nodes(f, 0)[0].self = 7; /* before anything was called */
	*vcpu(f, 0) = (struct us_counts_vcpu){
		.insns = 160, .charged = 157, .node = 2, .n_node = 3
	};
}

static void kernel(const struct files *f)
{
	nodes(f, 0)[2].self += 3; /* the rest that was not charged yet */
	nodes(f, 0)[3] = (struct us_counts_node){ 0x3000, 1, 1000, 0, 18 };
	nodes(f, 0)[4] = (struct us_counts_node){ 0x2000, 2, 20, 3, 17 };
	nodes(f, 0)[2].calls++;
	nodes(f, 0)[2].self += 4;
	*vcpu(f, 0) = (struct us_counts_vcpu){
		.insns = 1184, .charged = 1184, .node = 4, .n_node = 5
	};
}

static bool any(void *ctx, uint32_t point)
{
	(void)ctx;
	return point < 90;
}

/* -errno, or the profile in *ret if that is not NULL. */
static int read_files(const struct files *f, bool to_end, struct us_profile **ret,
		      struct us_phases *ret_phases)
{
	struct us_counts_sums sums;
	struct us_symbols *s = NULL;
	struct us_phases ph;
	struct us_writer *w;
	struct us_err e;
	struct us_record_stats stats = { 0 };
	int r = us_phases_open(f->phases, any, NULL, &ph, &e);
	if (r < 0)
		return r;
	assert_int_equal(us_symbols_new(&s, &e), 0);
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	assert_int_equal(us_writer_fact(w, "phase:1", "0 31000000 firmware", &e), 0);
	r = us_phases_record(&ph, &f->c, to_end, s, w, &sums, &e);
	if (r == 0)
		r = us_writer_end(w, &stats, US_RECORD_DONE, "", &e);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	struct us_profile *p = NULL;
	if (r == 0)
		r = us_profile_read(fd, NULL, &p, &e);
	if (r == 0 && ret_phases)
		*ret_phases = ph;
	if (ret)
		*ret = p;
	else
		us_profile_free(p);
	us_phases_close(&ph);
	us_symbols_free(s);
	close(fd);
	return r;
}

static void mark(const struct files *f, uint32_t point)
{
	assert_int_equal(us_phases_mark(&f->c, f->marks, point), 0);
}

static uint64_t total_of(const struct us_profile *p, const struct us_profile_phase *x)
{
	size_t n;
	return x->node ? us_profile_nodes(p, &n)[x->node].total : 0;
}

static void each_phase_has_its_own(void **state)
{
	struct files *f = *state;
	struct us_profile *p;
	struct us_phases ph;
	struct us_profile_share row[4];
	size_t n;
	mark(f, 3);
	firmware(f);
	mark(f, 5);
	kernel(f);
	assert_int_equal(read_files(f, true, &p, &ph), 0);
	assert_int_equal(ph.n, 2);
	assert_int_equal(ph.point[1], 5);
	assert_int_equal(ph.insns[0], 160);
	assert_int_equal(ph.insns[1], 1024);
	const struct us_profile_phase *phase = us_profile_phases(p, &n);
	assert_int_equal(n, 2);
	assert_string_equal(phase[0].name, "firmware");
	assert_int_equal(total_of(p, &phase[0]), 160);
	assert_int_equal(total_of(p, &phase[1]), 1024);
	assert_int_equal(us_profile_summary(p)->running, 1184);
	/* The same function in both, each time below who called it. */
	assert_int_equal(us_profile_phase_functions(p, &phase[0], 4, row, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(row[0].func->name, "0x1000");
	assert_string_equal(row[1].func->name, "0x2000");
	assert_int_equal(row[1].self, 53);
	assert_string_equal(row[2].func->name, US_FRAME_UNNAMED);
	assert_int_equal(us_profile_phase_functions(p, &phase[1], 2, row, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(row[0].func->name, "0x3000");
	assert_int_equal(row[1].self, 24);
	us_profile_free(p);
}

/* The last mark is the end, whatever came later; a point counts once. */
static void until_the_last_mark(void **state)
{
	struct files *f = *state;
	struct us_phases ph;
	struct us_profile *p;
	mark(f, 3);
	firmware(f);
	mark(f, 5);
	mark(f, 5);
	mark(f, 99); /* of no interest */
	kernel(f);
	assert_int_equal(read_files(f, false, &p, &ph), 0);
	assert_int_equal(ph.n, 2);
	assert_int_equal(us_profile_summary(p)->running, 160);
	us_profile_free(p);
}

/* What was counted at one place, and found to belong elsewhere later. */
static void what_moves_is_counted_once(void **state)
{
	struct files *f = *state;
	struct us_phases ph;
	mark(f, 3);
	firmware(f);
	mark(f, 5);
	kernel(f);
	nodes(f, 0)[4].self += nodes(f, 0)[2].self;
	nodes(f, 0)[2].self = 0;
	assert_int_equal(read_files(f, true, NULL, &ph), 0);
	assert_int_equal(ph.insns[0], 107);
	assert_int_equal(ph.insns[0] + ph.insns[1], 1184);
}

static void without_marks_it_is_one_phase(void **state)
{
	struct files *f = *state;
	struct us_phases ph;
	firmware(f);
	assert_int_equal(read_files(f, true, NULL, &ph), 0);
	assert_int_equal(ph.n, 0);
	assert_int_equal(ph.insns[0], 160);
	unlink(f->phases);
	assert_int_equal(read_files(f, true, NULL, NULL), -ENOENT);
}

/* More points than phases: the last one goes on. */
static void too_many_points(void **state)
{
	struct files *f = *state;
	struct us_phases ph;
	firmware(f);
	for (uint32_t i = 0; i < 40; i++) {
		nodes(f, 0)[1].self++;
		mark(f, i);
	}
	assert_int_equal(read_files(f, true, NULL, &ph), 0);
	assert_int_equal(ph.n, US_COUNTS_MAX_PHASE);
	uint64_t sum = 0;
	for (unsigned i = 0; i < ph.n; i++)
		sum += ph.insns[i];
	assert_int_equal(sum, 160 + 40);
}

/* A file that was cut ends with its last whole mark; any bytes give a profile, or an
 * error, and together never more than was counted. */
static void files_that_lie(void **state)
{
	struct files *f = *state;
	struct us_phases ph;
	struct stat st;
	uint64_t x = 88172645463325252;
	mark(f, 3);
	firmware(f);
	mark(f, 5);
	kernel(f);
	assert_int_equal(stat(f->phases, &st), 0);
	assert_int_equal(truncate(f->phases, st.st_size - 8), 0);
	assert_int_equal(read_files(f, true, NULL, &ph), 0);
	assert_int_equal(ph.n, 1);
	for (int round = 0; round < 500; round++) {
		assert_int_equal(truncate(f->phases, 0), 0);
		mark(f, 3);
		mark(f, 5);
		int fd = open(f->phases, O_WRONLY | O_CLOEXEC);
		for (int k = 0; k < 8; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			uint8_t byte = (uint8_t)(x >> 40);
			assert_int_equal(pwrite(fd, &byte, 1, (off_t)(x % 200)), 1);
		}
		close(fd);
		if (read_files(f, true, NULL, &ph))
			continue;
		uint64_t sum = 0;
		for (unsigned i = 0; i < US_COUNTS_MAX_PHASE; i++)
			sum += ph.insns[i];
		assert_int_equal(sum, 1184);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_phase_has_its_own),
		TEST(until_the_last_mark),
		TEST(what_moves_is_counted_once),
		TEST(without_marks_it_is_one_phase),
		TEST(too_many_points),
		TEST(files_that_lie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
