/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples by QEMU's plugin: what its file says becomes captures, and what lies in it
 * does no harm. This process stands for QEMU. */
#include "unit.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "vmm/plugin_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODES  400 /* more than a stack has frames */
#define STRIDE (8 * US_COUNTS_PAGE)
#define SIZE   (US_COUNTS_PAGE + 2 * STRIDE)

struct file {
	struct us_guest guest;
	uint8_t *bytes;
	struct us_backend *backend;
	struct us_capture capture;
};

static struct us_counts_head *head(const struct file *f)
{
	return (void *)f->bytes;
}

static struct us_counts_vcpu *vcpu(const struct file *f, unsigned i)
{
	return (void *)(f->bytes + US_COUNTS_PAGE + (size_t)i * STRIDE);
}

static struct us_counts_node *nodes(const struct file *f, unsigned i)
{
	return (void *)((uint8_t *)vcpu(f, i) + US_COUNTS_PAGE);
}

static int start(void **state)
{
	struct file *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	assert_int_equal(us_guest_inspect(getpid(), &f->guest, NULL), -ENOENT);
	f->guest = (struct us_guest){ .pid = getpid(), .accel = US_ACCEL_TCG };
	unsigned long long began = 0;
	FILE *stat = fopen("/proc/self/stat", "r");
	assert_non_null(stat);
	assert_int_equal(fscanf(stat,
				"%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
				"%*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
				&began),
			 1);
	fclose(stat);
	f->guest.start_time = began;
	snprintf(f->guest.counts, sizeof(f->guest.counts), "/tmp/uniscope-plugin-%d",
		 (int)getpid());
	int fd = open(f->guest.counts, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0 && ftruncate(fd, SIZE) == 0);
	f->bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(f->bytes, MAP_FAILED);
	close(fd);
	*head(f) = (struct us_counts_head){ .version = US_COUNTS_VERSION,
					    .api = 1,
					    .n_vcpu = 2,
					    .n_node = NODES,
					    .vcpu_offset = US_COUNTS_PAGE,
					    .vcpu_stride = STRIDE,
					    .node_offset = US_COUNTS_PAGE,
					    .size = SIZE,
					    .n_seen = 2,
					    .target = "x86_64" };
	memcpy(head(f)->magic, US_COUNTS_MAGIC, 8);
	for (unsigned i = 0; i < 2; i++) {
		struct us_counts_node *n = nodes(f, i);
		n[1] = (struct us_counts_node){ 0x100000, 1, 100, 0, 16 };
		n[2] = (struct us_counts_node){ 0x200000, 5, 50, 1, 17 };
		vcpu(f, i)->n_node = 3;
	}
	*state = f;
	return 0;
}

static int stop(void **state)
{
	struct file *f = *state;
	us_backend_close(f->backend);
	munmap(f->bytes, SIZE);
	unlink(f->guest.counts);
	free(f);
	return 0;
}

static int attach(struct file *f, struct us_err *e)
{
	const struct us_target t = { .guest = &f->guest };
	return us_backend_open(&t, "plugin", &f->backend, NULL, 0, e);
}

static void begin(struct file *f)
{
	const struct us_schedule s = { .hz = 5000, .seed = 1 };
	struct us_err e = { 0 };
	if (!f->backend)
		assert_int_equal(attach(f, &e), 0);
	assert_int_equal(f->backend->ops->start(f->backend, &s, &e), 0);
}

static void put(const struct file *f, uint32_t node, enum us_counts_doing doing)
{
	for (unsigned i = 0; i < 2; i++) {
		vcpu(f, i)->node = node;
		vcpu(f, i)->doing = doing;
	}
}

/* A capture of what is in the file now, or what next() says instead: one of a look that
 * was made before comes first, from each vCPU. */
static int take(struct file *f)
{
	const struct us_backend_ops *o = f->backend->ops;
	int r = 1;
	for (unsigned seen[2] = { 0, 0 }; r == 1 && (seen[0] < 2 || seen[1] < 2);) {
		r = o->next(f->backend, us_now_ns() + 20 * US_NS_PER_MS, &f->capture);
		if (r != 1)
			return r;
		o->release(f->backend, &f->capture);
		seen[f->capture.vcpu]++;
	}
	return r;
}

static void tells_the_path(void **state)
{
	struct file *f = *state;
	begin(f);
	assert_int_equal(f->backend->n_vcpu, 2);
	assert_true(f->backend->caps & US_CAP_NO_STOP);
	put(f, 2, US_COUNTS_RUNS);
	assert_int_equal(take(f), 1);
	const struct us_capture *c = &f->capture;
	assert_int_equal(c->state, US_VCPU_GUEST);
	assert_int_equal(c->form, US_CAPTURE_STACK);
	assert_int_equal(c->stack.n, 2);
	assert_int_equal(c->stack.end, US_END_ROOT);
	assert_int_equal(c->stack.pc[0], 0x200000);
	assert_int_equal(c->stack.pc[1], 0x100000);
	/* Of the root nothing is known. */
	put(f, 0, US_COUNTS_RUNS);
	assert_int_equal(take(f), 1);
	assert_int_equal(c->stack.n, 1);
	assert_int_equal(c->stack.pc[0], US_COUNTS_UNNAMED);
}

static void tells_states_apart(void **state)
{
	struct file *f = *state;
	begin(f);
	put(f, 2, US_COUNTS_HALTED);
	assert_int_equal(take(f), 1);
	assert_int_equal(f->capture.state, US_VCPU_HALTED);
	assert_int_equal(f->capture.form, US_CAPTURE_NONE);
	put(f, 2, US_COUNTS_OFF);
	assert_int_equal(take(f), 1);
	assert_int_equal(f->capture.state, US_VCPU_OFF);
	/* One thread for both: the other one waits. */
	put(f, 2, US_COUNTS_RUNS);
	head(f)->in_turns = 1;
	head(f)->turn = 1;
	bool seen[2] = { false, false };
	for (int i = 0; i < 50 && !(seen[0] && seen[1]); i++) {
		assert_int_equal(take(f), 1);
		assert_int_equal(f->capture.state,
				 f->capture.vcpu ? US_VCPU_GUEST : US_VCPU_READY);
		seen[f->capture.vcpu] = true;
	}
	assert_true(seen[0] && seen[1]);
}

/* Its time is no sample, and all of it is counted as taken. */
static void leaves_the_plugins_time_out(void **state)
{
	struct file *f = *state;
	struct us_backend_counts n;
	begin(f);
	put(f, 2, US_COUNTS_PLUGIN);
	assert_int_equal(take(f), 0);
	f->backend->ops->counts(f->backend, &n);
	assert_int_equal(n.due, 0);
	assert_true(n.vcpu_ns > 0 && n.stolen_ns == n.vcpu_ns);
}

/* The file is another's: a node that is not there, a ring of parents, a deep tree. */
static void follows_no_lie(void **state)
{
	struct file *f = *state;
	const struct us_stack *s = &f->capture.stack;
	begin(f);
	put(f, UINT32_MAX, US_COUNTS_RUNS);
	assert_int_equal(take(f), 1);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->pc[0], US_COUNTS_UNNAMED);
	for (unsigned i = 0; i < 2; i++)
		nodes(f, i)[1].parent = 2;
	put(f, 2, US_COUNTS_RUNS);
	assert_int_equal(take(f), 1);
	assert_int_equal(s->n, 2);
	for (unsigned i = 0; i < 2; i++) {
		for (uint32_t k = 1; k < NODES; k++)
			nodes(f, i)[k] = (struct us_counts_node){ k * 4096, 1, 1, k - 1,
								  16 };
		vcpu(f, i)->n_node = UINT32_MAX;
	}
	put(f, NODES - 1, US_COUNTS_RUNS);
	assert_int_equal(take(f), 1);
	assert_int_equal(s->n, US_MAX_FRAMES);
	assert_int_equal(s->end, US_END_DEPTH);
	put(f, NODES, UINT32_MAX);
	assert_true(take(f) >= 0);
}

static void ends_with_the_guest(void **state)
{
	struct file *f = *state;
	struct us_err e = { 0 };
	begin(f);
	head(f)->ended = 1;
	int r = take(f);
	assert_int_equal(r, -ESRCH);
	f->backend->ops->explain(f->backend, r, &e);
	assert_non_null(strstr(e.msg, "has ended"));
}

static void refuses(struct file *f, const char *words)
{
	struct us_err e = { 0 };
	assert_true(attach(f, &e) < 0);
	if (!strstr(e.msg, words))
		fail_msg("%s: not %s", e.msg, words);
}

static void says_why_not(void **state)
{
	struct file *f = *state;
	head(f)->mixed = 1;
	refuses(f, "one thread");
	head(f)->mixed = 0;
	head(f)->flat = 1;
	refuses(f, "only counts calls");
	head(f)->flat = 0;
	snprintf(head(f)->target, sizeof(head(f)->target), "vax");
	refuses(f, "vax is not known");
	chmod(f->guest.counts, 0666);
	snprintf(head(f)->target, sizeof(head(f)->target), "x86_64");
	refuses(f, "cut the file");
	f->guest.counts[0] = '\0';
	refuses(f, "without uniscope's plugin");
	f->guest.accel = US_ACCEL_KVM;
	refuses(f, "KVM");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tells_the_path, start, stop),
		cmocka_unit_test_setup_teardown(tells_states_apart, start, stop),
		cmocka_unit_test_setup_teardown(leaves_the_plugins_time_out, start,
						stop),
		cmocka_unit_test_setup_teardown(follows_no_lie, start, stop),
		cmocka_unit_test_setup_teardown(ends_with_the_guest, start, stop),
		cmocka_unit_test_setup_teardown(says_why_not, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
