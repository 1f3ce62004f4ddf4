/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's file: to a recording, to a profile; and files that lie. */
#include "unit.h"

#include "profile/profile.h"
#include "trace/counts_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define NODES 8
#define SIZE  (US_COUNTS_PAGE + 2 * (US_COUNTS_PAGE + US_COUNTS_PAGE))

struct file {
	char path[64];
	uint8_t *bytes;
};

static struct us_counts_head *head(const struct file *f)
{
	return (void *)f->bytes;
}

static struct us_counts_vcpu *vcpu(const struct file *f, unsigned i)
{
	return (void *)(f->bytes + US_COUNTS_PAGE + (size_t)i * 2 * US_COUNTS_PAGE);
}

static struct us_counts_node *nodes(const struct file *f, unsigned i)
{
	return (void *)((uint8_t *)vcpu(f, i) + US_COUNTS_PAGE);
}

static int start(void **state)
{
	struct file *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	snprintf(f->path, sizeof(f->path), "/tmp/uniscope-counts-%d", (int)getpid());
	int fd = open(f->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0 && ftruncate(fd, SIZE) == 0);
	f->bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(f->bytes, MAP_FAILED);
	close(fd);
	*head(f) = (struct us_counts_head){ .version = US_COUNTS_VERSION,
					    .api = 1,
					    .n_vcpu = 2,
					    .n_node = NODES,
					    .vcpu_offset = US_COUNTS_PAGE,
					    .vcpu_stride = 2 * US_COUNTS_PAGE,
					    .node_offset = US_COUNTS_PAGE,
					    .size = SIZE,
					    .n_seen = 2,
					    .target = "x86_64" };
	memcpy(head(f)->magic, US_COUNTS_MAGIC, 8);
	/* main calls f; f calls itself; an interrupt; both vCPUs alike. */
	for (unsigned i = 0; i < 2; i++) {
		struct us_counts_node *n = nodes(f, i);
		n[1] = (struct us_counts_node){ 0x100000, 1, 100, 0, 16 };
		n[2] = (struct us_counts_node){ 0x200000, 5, 50, 1, 17 };
		n[3] = (struct us_counts_node){ 0x200000, 7, 30, 2, 17 };
		n[4] = (struct us_counts_node){ US_COUNTS_INTERRUPTS, 0, 0, 0, 2 };
		n[5] = (struct us_counts_node){ 0x300000, 3, 9, 4, 18 };
		*vcpu(f, i) = (struct us_counts_vcpu){
			.insns = 200 + i, .charged = 190, .node = 2, .n_node = 6
		};
		n[0].self = 1;
	}
	*state = f;
	return 0;
}

static int stop(void **state)
{
	struct file *f = *state;
	munmap(f->bytes, SIZE);
	unlink(f->path);
	free(f);
	return 0;
}

/* -errno, or the profile in *ret if that is not NULL. */
static int read_file(const struct file *f, uint64_t mask, struct us_profile **ret)
{
	struct us_counts c;
	struct us_counts_sums sums;
	struct us_writer *w;
	struct us_err e;
	struct us_record_stats stats = { 0 };
	int r = us_counts_open(f->path, &c, &e);
	if (r < 0)
		return r;
	int fd = memfd_create("recording", 0);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	r = us_counts_record(&c, w, &sums, &e);
	if (r == 0)
		r = us_writer_end(w, &stats, US_RECORD_DONE, "", &e);
	us_writer_close(w);
	us_counts_close(&c);
	lseek(fd, 0, SEEK_SET);
	struct us_profile_opts o = { .vcpu_mask = mask };
	struct us_profile *p = NULL;
	if (r == 0)
		r = us_profile_read(fd, &o, &p, &e);
	if (ret)
		*ret = p;
	else
		us_profile_free(p);
	close(fd);
	return r;
}

static const struct us_profile_func *func(const struct us_profile *p, const char *name)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return &f[i];
	fail_msg("no function %s", name);
	return f;
}

static void a_profile(void **state)
{
	struct us_profile *p;
	assert_int_equal(read_file(*state, 0, &p), 0);
	assert_true(us_profile_is_counted(p));
	const struct us_profile_func *f = func(p, "0x200000");
	assert_int_equal(f->calls, 24);
	assert_int_equal(f->self, 2 * 80 + 10 + 11); /* with what is not charged yet */
	assert_int_equal(f->total, f->self);
	assert_true(f->self_low == f->self_high); /* NOLINT: they are exact */
	f = func(p, "0x100000");
	assert_int_equal(f->total, 200 + func(p, "0x200000")->total);
	assert_int_equal(func(p, US_FRAME_INTERRUPTS)->total, 18);
	assert_int_equal(func(p, US_FRAME_UNNAMED)->self, 2);
	assert_int_equal(us_profile_summary(p)->running, 401);
	assert_int_equal(us_profile_summary(p)->calls, 32);
	us_profile_free(p);
	assert_int_equal(read_file(*state, 2, &p), 0); /* vCPU 1 alone */
	assert_int_equal(us_profile_summary(p)->running, 201);
	us_profile_free(p);
}

static void files_that_lie(void **state)
{
	struct file *f = *state;
	static const struct {
		size_t at, size;
		uint64_t value;
	} lies[] = {
#define LIE(field, value)                                                              \
	{ offsetof(struct us_counts_head, field),                                      \
	  sizeof(((struct us_counts_head *)0)->field), value }
		LIE(magic, 0),
		LIE(version, 99),
		LIE(n_vcpu, 0),
		LIE(n_vcpu, UINT32_MAX),
		LIE(n_node, UINT32_MAX),
		LIE(vcpu_stride, 8),
		LIE(vcpu_stride, UINT64_MAX - 7),
		LIE(vcpu_offset, UINT64_MAX - 7),
		LIE(node_offset, 3),
		LIE(size, UINT64_MAX),
	};
	struct us_counts_head good = *head(f);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		memcpy(f->bytes + lies[i].at, &lies[i].value, lies[i].size);
		assert_int_equal(read_file(f, 0, NULL), -EBADMSG);
		*head(f) = good;
	}
	assert_int_equal(read_file(f, 0, NULL), 0);
}

static void another_version_says_so(void **state)
{
	struct file *f = *state;
	struct us_counts c;
	struct us_err e;
	head(f)->version++;
	assert_int_equal(us_counts_open(f->path, &c, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "of another version of uniscope"));
	head(f)->version--;
	assert_int_equal(us_counts_open(f->path, &c, &e), 0);
	us_counts_close(&c);
}

/* The first ones are recorded. */
static void more_vcpus_than_a_recording_has(void **state)
{
	enum { N = US_MAX_VCPUS + 1 };
	struct file *f = *state;
	const off_t last = US_COUNTS_PAGE + (N - 1) * 2 * US_COUNTS_PAGE;
	const struct us_counts_vcpu v = { .insns = 1000, .n_node = 1 };
	struct us_profile *p;
	struct us_counts c;
	struct us_err e;
	int fd = open(f->path, O_RDWR | O_CLOEXEC);
	head(f)->n_vcpu = head(f)->n_seen = N;
	head(f)->size = (uint64_t)last + 2 * US_COUNTS_PAGE;
	assert_int_equal(ftruncate(fd, (off_t)head(f)->size), 0);
	assert_int_equal(pwrite(fd, &v, sizeof(v), last), sizeof(v));
	close(fd);
	assert_int_equal(read_file(f, 0, &p), 0);
	assert_int_equal(us_profile_summary(p)->running, 401);
	us_profile_free(p);
	assert_int_equal(us_counts_open(f->path, &c, &e), 0);
	assert_int_equal(us_counts_sums_of(&c).n_vcpu, US_MAX_VCPUS);
	assert_int_equal(us_counts_sums_of(&c).n_beyond, 1);
	us_counts_close(&c);
}

/* Any bytes in a tree give a profile, or an error. */
static void trees_that_lie(void **state)
{
	struct file *f = *state;
	uint64_t x = 88172645463325252;
	for (int round = 0; round < 500; round++) {
		for (int k = 0; k < 20; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			size_t from = US_COUNTS_PAGE;
			f->bytes[from + x % (SIZE - from)] = (uint8_t)(x >> 40);
		}
		vcpu(f, 0)->n_node = round & 1 ? UINT32_MAX : NODES;
		(void)!read_file(f, 0, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_profile, start, stop),
		cmocka_unit_test_setup_teardown(files_that_lie, start, stop),
		cmocka_unit_test_setup_teardown(another_version_says_so, start, stop),
		cmocka_unit_test_setup_teardown(trees_that_lie, start, stop),
		cmocka_unit_test_setup_teardown(more_vcpus_than_a_recording_has, start,
						stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
