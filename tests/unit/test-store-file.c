/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-store-file.c: what is written is what is read. */
#include "store-file.h"

#include "base/clock.h"
#include "store/intern.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

static struct heard h;

static struct us_writer *open_writer(int *ret_fd)
{
	struct us_writer *w;
	struct us_err e;
	*ret_fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(*ret_fd, &w, &e), 0);
	return w;
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* A made-up stack that depends on key alone: of several depths, with shared callers. */
static size_t make_stack(unsigned key, us_gva *pc)
{
	size_t n = key % 23;
	for (size_t i = 0; i < n; i++)
		pc[i] = 0xffffffff80000000 + (key % (1 + 7 * (n - i))) * 0x1235 +
			(n - i) * 64;
	return n;
}

static void all_kinds_come_back(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = open_writer(&fd);
	struct us_err e;
	struct us_module m = { .start = 0xffffffff80000000,
			       .end = UINT64_MAX,
			       .bias = 0x7f000000,
			       .build_id = { 1, 2, 3 },
			       .build_id_len = 20,
			       .match = US_MATCH_NO,
			       .number = 7,
			       .root = 0x123000,
			       .from_ns = 5000,
			       .until_ns = 123456789000,
			       .path = "/boot/kern\xc3\xa9l \xff" };
	struct us_record_stats s;
	for (size_t i = 0; i < US_STATS_FIELDS; i++)
		((uint64_t *)&s)[i] = UINT64_MAX - i;
	assert_int_equal(us_writer_fact(w, "command", "", &e), 0);
	assert_int_equal(us_writer_fact(w, "target", "qmp:/run/a b\n", &e), 0);
	assert_int_equal(us_writer_module(w, &m, &e), 0);
	struct us_process process = { .root = 0x123456000,
				      .pair = true,
				      .pid = 107,
				      .from_ns = 5999,
				      .until_ns = 9000,
				      .name = "sh" };
	assert_int_equal(us_writer_process(w, &process, &e), 0);
	struct us_task task = { .id = 77,
				.stack = 0xffffc90000004000,
				.stack_size = 0x4000,
				.from_ns = 5999,
				.until_ns = 9000,
				.started_ns = 1234567,
				.pid = 108,
				.tgid = 107,
				.inner = 2,
				.kernel_thread = true,
				.name = "worker",
				.process = "sh",
				.cgroup = "/a/b" };
	assert_int_equal(us_writer_task(w, &task, &e), 0);
	assert_int_equal(us_writer_end(w, &s, US_RECORD_GUEST_GONE, "it went", &e), 0);
	assert_int_equal(us_writer_bytes(w), lseek(fd, 0, SEEK_CUR));
	assert_int_equal(us_writer_good_bytes(w), us_writer_bytes(w));
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	assert_true(h.result.ended && !h.result.cut);
	assert_int_equal(h.result.bytes, us_writer_bytes(w));
	assert_int_equal(h.n_fact, 2);
	assert_string_equal(h.last_key, "target");
	assert_string_equal(h.last_value, "qmp:/run/a b\n");
	assert_int_equal(h.n_module, 1);
	assert_true(h.module.start == m.start && h.module.end == m.end);
	assert_true(h.module.bias == m.bias && h.module.match == m.match);
	assert_int_equal(h.module.build_id_len, 20);
	assert_memory_equal(h.module.build_id, m.build_id, 20);
	assert_string_equal(h.module.path, m.path);
	assert_int_equal(h.module.number, m.number);
	assert_int_equal(h.module.root, m.root);
	assert_int_equal(h.module.from_ns, m.from_ns);
	assert_int_equal(h.module.until_ns, m.until_ns);
	assert_int_equal(h.n_process, 1);
	assert_string_equal(h.process.name, "sh");
	assert_true(h.process.root == process.root && h.process.pair);
	assert_int_equal(h.process.pid, 107);
	assert_int_equal(h.process.from_ns, 5000);
	assert_int_equal(h.process.until_ns, 9000);
	assert_int_equal(h.n_task, 1);
	assert_string_equal(h.task_names, "worker sh /a/b");
	assert_true(h.task.id == 77 && h.task.stack == task.stack);
	assert_true(h.task.stack_size == 0x4000 && h.task.kernel_thread);
	assert_true(h.task.from_ns == 5000 && h.task.until_ns == 9000);
	assert_true(h.task.started_ns == 1234567 && h.task.pid == 108);
	assert_true(h.task.tgid == 107 && h.task.inner == 2);
	assert_memory_equal(&h.stats, &s, sizeof(s));
	assert_int_equal(h.end, US_RECORD_GUEST_GONE);
	assert_string_equal(h.words, "it went");
	us_writer_close(w);
	close(fd);
}

#define N 30000
static struct us_sample written[N];

static void waits_come_back(void **state)
{
	(void)state;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct us_writer *w;
	struct us_wait_stats sums;
	us_gva pc[3] = { 0xffffffff81000030, 0xffffffff81000020, 0xffffffff81000010 };
	us_gva got[US_MAX_FRAMES];
	for (size_t i = 0; i < sizeof(sums) / sizeof(uint64_t); i++)
		((uint64_t *)&sums)[i] = UINT64_MAX - i;
	struct us_waiter waiter = { .number = 1,
				    .pid = 108,
				    .process = 107,
				    .name = "worker",
				    .process_name = "server" };
	struct us_wait wait = { .waiter = 1, .inside = 2, .state = US_WAIT_BLOCKED };
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(us_writer_wait(w, &wait, pc, NULL, 3, NULL), -EINVAL);
	assert_int_equal(us_writer_waiter(w, &waiter, NULL), 0);
	assert_int_equal(us_writer_waiter(w, &waiter, NULL), -EINVAL); /* again */
	for (unsigned i = 0; i < 20000; i++) {
		wait.t_ns = i / 10 * 250000000ULL;
		wait.end = i % 2 ? US_END_ROOT : US_END_NO_RULE;
		assert_int_equal(us_writer_wait(w, &wait, pc, NULL, 2 + i % 2, NULL),
				 0);
	}
	wait.inside = 4;
	assert_int_equal(us_writer_wait(w, &wait, pc, NULL, 3, NULL), -EINVAL);
	assert_int_equal(us_writer_wait_stats(w, &sums, NULL), 0);
	assert_int_equal(us_writer_end(w, &(struct us_record_stats){ 0 },
				       US_RECORD_DONE, "", NULL),
			 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	close(fd);
	assert_string_equal(h.waiter_text, "server/worker");
	assert_true(h.waiter.pid == 108 && h.waiter.process == 107);
	assert_int_equal(h.n_wait, 20000);
	assert_int_equal(h.n_sample, 0);
	const struct us_wait *last = &h.wait[19999 % 256];
	assert_true(last->t_ns == 1999 * 250000000ULL && last->end == US_END_ROOT);
	assert_true(last->state == US_WAIT_BLOCKED && last->inside == 2);
	assert_int_equal(unfold(&h, last->stack, got), 3);
	assert_memory_equal(got, pc, sizeof(pc));
	assert_memory_equal(&h.wait_stats, &sums, sizeof(sums));
}

/* Some stacks have a user part, some were broken off by an interrupt. */
static uint8_t flags_at(unsigned key, size_t i)
{
	uint8_t flags = key % 5 == 0 && i >= key % 8 ? US_PC_USER : 0;
	if (key % 3 == 0 && i == 2)
		flags |= US_PC_EXACT;
	return flags;
}

static void write_samples(struct us_writer *w)
{
	uint8_t flags[US_MAX_FRAMES];
	uint64_t random = 7, t = 5 * US_NS_PER_SEC;
	us_gva pc[US_MAX_FRAMES];
	for (unsigned i = 0; i < N; i++) {
		unsigned key = (unsigned)(next_random(&random) % 3000);
		t += next_random(&random) % 2000000 - 300000; /* now and then back */
		written[i] = (struct us_sample){
			.t_ns = t / 1000 * 1000,
			.stack = key,
			.vcpu = (uint16_t)(key % US_MAX_VCPUS),
			.end = (uint8_t)(key % US_N_END),
			.state = (uint8_t)(i % US_N_VCPU_STATE),
			.weight = i % 10 ? 1 : (uint32_t)next_random(&random),
		};
		size_t n = make_stack(key, pc);
		for (size_t k = 0; k < n; k++)
			flags[k] = flags_at(key, k);
		assert_int_equal(us_writer_sample(w, &written[i], pc, flags, n, NULL),
				 0);
	}
}

static void check_samples(void)
{
	us_gva pc[US_MAX_FRAMES], want[US_MAX_FRAMES];
	assert_int_equal(h.n_sample, N);
	for (unsigned i = 0; i < N; i++) {
		size_t n = make_stack(written[i].stack, want);
		assert_int_equal(unfold(&h, h.sample[i].stack, pc), n);
		assert_memory_equal(pc, want, n * sizeof(*pc));
		us_stack_id id = h.sample[i].stack;
		for (size_t k = 0; k < n; k++, id = h.node[id].parent)
			assert_int_equal(h.node[id].flags,
					 flags_at(written[i].stack, k));
		struct us_sample s = h.sample[i];
		s.stack = written[i].stack;
		assert_memory_equal(&s, &written[i],
				    offsetof(struct us_sample, weight) + 4);
	}
}

static void samples_come_back(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = open_writer(&fd);
	write_samples(w);
	assert_int_equal(us_writer_flush(w, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	assert_true(!h.result.ended && !h.result.cut);
	check_samples();
	us_writer_close(w);
	close(fd);
}

struct several {
	uint64_t n, busy_ns;
};

/* The same ones, in the same order. */
static int hear_several(void *ctx, const struct us_sample *s, size_t n)
{
	struct several *x = ctx;
	assert_true(n > 0 && x->n + n <= N);
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(&s[i], &h.sample[x->n + i], sizeof(*s));
	x->n += n;
	return 0;
}

static int hear_busy(void *ctx, uint64_t t_ns)
{
	struct several *x = ctx;
	x->busy_ns = x->busy_ns < t_ns ? t_ns : x->busy_ns;
	x->n++;
	return 0;
}

/* What is read in two ways: several at a time; and when some of them were, without
 * their stacks: one of each chunk, so near the last one, and never after it. */
static void samples_come_in_other_ways(void **state)
{
	(void)state;
	static const struct us_reader_ops several = { .samples = hear_several };
	static const struct us_reader_ops busy = { .busy_at = hear_busy };
	struct us_reader_result r;
	struct several x = { 0 };
	uint64_t last_ns = 0;
	int fd;
	struct us_writer *w = open_writer(&fd);
	write_samples(w);
	assert_int_equal(us_writer_flush(w, NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_read(fd, &several, &x, &r, NULL), 0);
	assert_int_equal(x.n, N);
	x = (struct several){ 0 };
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_read(fd, &busy, &x, &r, NULL), 0);
	for (unsigned i = 0; i < N; i++)
		if (h.sample[i].t_ns > last_ns && h.sample[i].state != US_VCPU_HALTED &&
		    h.sample[i].state != US_VCPU_OFF)
			last_ns = h.sample[i].t_ns;
	assert_in_range(x.n, 2, N / 1000);
	assert_in_range(x.busy_ns, last_ns / 2, last_ns);
	close(fd);
}

static void *write_to_pipe(void *arg)
{
	struct us_writer *w;
	struct us_record_stats s = { 0 };
	int fd = *(int *)arg;
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	write_samples(w);
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	close(fd);
	return NULL;
}

/* Not blocking, so that every write is short, and small, so that there are many. */
static void a_pipe_carries_the_same(void **state)
{
	(void)state;
	int p[2];
	pthread_t thread;
	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	fcntl(p[1], F_SETPIPE_SZ, 4096);
	assert_int_equal(pthread_create(&thread, NULL, write_to_pipe, &p[1]), 0);
	assert_int_equal(hear(p[0], &h), 0);
	pthread_join(thread, NULL);
	assert_true(h.result.ended);
	check_samples();
	close(p[0]);
}

/* More stacks than the cache takes: it forgets, and the file stays right. */
static void endless_stacks_are_survived(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = open_writer(&fd);
	us_gva pc[3] = { 1, 0xffffffff80001000, 0xffffffff80002000 };
	struct us_sample s = { .weight = 1, .end = US_END_ROOT };
	const unsigned n = US_INTERN_MAX_NODES + 5000;
	for (unsigned i = 0; i < n; i++) {
		pc[0] = i * 16;
		assert_int_equal(us_writer_sample(w, &s, pc, NULL, 3, NULL), 0);
	}
	assert_int_equal(us_writer_flush(w, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	assert_int_equal(h.n_sample, n);
	assert_true(h.n_stack > n + 2 && h.n_stack < n + 10);
	us_writer_close(w);
	close(fd);
}

static void numbers_of_stacks_run_out_with_a_word(void **state)
{
	(void)state;
	struct us_intern in;
	us_gva pc[3] = { 1, 2, 3 };
	us_stack_id id;
	assert_int_equal(us_intern_init(&in), 0);
	in.base = UINT32_MAX - 3;
	assert_int_equal(us_intern_stack(&in, pc, NULL, 3, &id), 0);
	assert_int_equal(id, UINT32_MAX);
	pc[0] = 9;
	assert_int_equal(us_intern_stack(&in, pc, NULL, 3, &id), -EOVERFLOW);
	us_intern_fini(&in);
}

static void a_full_disk_is_told(void **state)
{
	(void)state;
	struct us_writer *w;
	struct us_err e;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		skip();
	assert_int_equal(us_writer_open(fd, &w, &e), -ENOSPC);
	assert_non_null(strstr(e.msg, "No space left"));
	assert_true(e.hint[0]);
	close(fd);
}

/* A file that may not grow: the good part is told, and nothing follows half a chunk. */
static void good_bytes_after_a_failed_write(void **state)
{
	(void)state;
	struct us_writer *w;
	struct us_err e, again;
	us_gva pc[1] = { 1 };
	struct us_sample s = { .weight = 1 };
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	assert_int_equal(us_writer_fact(w, "a", "b", &e), 0);
	uint64_t good = us_writer_good_bytes(w);
	assert_int_equal(ftruncate(fd, (off_t)good + 5), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(us_writer_sample(w, &s, pc, NULL, 1, &e), 0);
	assert_true(us_writer_flush(w, &e) < 0);
	assert_int_equal(us_writer_good_bytes(w), good);
	assert_true(us_writer_bytes(w) >= good);
	assert_int_equal(us_writer_fact(w, "c", "d", &again), e.code);
	assert_string_equal(again.msg, e.msg);
	assert_int_equal(us_writer_flush(w, NULL), e.code);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	assert_true(h.result.cut && !h.result.ended);
	assert_int_equal(h.result.bytes, good);
	assert_int_equal(h.n_fact, 1);
	us_writer_close(w);
	close(fd);
}

static void bad_values_are_refused(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = open_writer(&fd);
	us_gva pc[US_MAX_FRAMES + 1] = { 0 };
	struct us_err e;
	struct us_sample s = { .weight = 1, .vcpu = US_MAX_VCPUS };
	struct us_module m = { .start = 2, .end = 1, .path = "x" };
	char *long_value = calloc(1, 70000);
	memset(long_value, 'x', 69999);
	assert_int_equal(us_writer_sample(w, &s, pc, NULL, 1, &e), -EINVAL);
	s.vcpu = 0;
	assert_int_equal(us_writer_sample(w, &s, pc, NULL, US_MAX_FRAMES + 1, &e),
			 -EINVAL);
	assert_int_equal(us_writer_sample(w, &s, pc, NULL, US_MAX_FRAMES, &e), 0);
	assert_int_equal(us_writer_module(w, &m, &e), -EINVAL);
	struct us_process process = { .from_ns = 2, .until_ns = 1, .name = "x" };
	assert_int_equal(us_writer_process(w, &process, &e), -EINVAL);
	struct us_task task = {
		.from_ns = 2, .until_ns = 1, .name = "x", .process = "x", .cgroup = ""
	};
	assert_int_equal(us_writer_task(w, &task, &e), -EINVAL);
	task.from_ns = 0;
	task.stack = UINT64_MAX;
	task.stack_size = 1;
	assert_int_equal(us_writer_task(w, &task, &e), -EINVAL);
	assert_int_equal(us_writer_fact(w, "", "b", &e), -EINVAL);
	assert_int_equal(us_writer_fact(w, long_value, "b", &e), -EINVAL);
	assert_int_equal(us_writer_fact(w, "a", long_value, &e), -E2BIG);
	assert_int_equal(us_writer_flush(w, &e), 0);
	free(long_value);
	us_writer_close(w);
	close(fd);
}

/* 200 distinct stacks, skewed, 997 a second with jitter, two vCPUs. */
static void a_sample_takes_few_bytes(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = open_writer(&fd);
	uint64_t random = 3, t = 0;
	us_gva pc[US_MAX_FRAMES];
	struct us_sample s = { .weight = 1, .end = US_END_ROOT };
	for (unsigned i = 0; i < N; i++) {
		uint64_t u = next_random(&random) % 200, v = next_random(&random) % 200;
		t += (501504 + next_random(&random) % 1003009) / 2;
		s.t_ns = t;
		s.vcpu = i & 1;
		size_t n = make_stack((unsigned)(u * v / 200), pc);
		assert_int_equal(us_writer_sample(w, &s, pc, NULL, n, NULL), 0);
		if (i % 400 == 399)
			assert_int_equal(us_writer_flush(w, NULL), 0);
	}
	assert_int_equal(us_writer_flush(w, NULL), 0);
	print_message("# %.2f bytes a sample\n", (double)us_writer_bytes(w) / N);
	assert_true(us_writer_bytes(w) <= 8 * N);
	us_writer_close(w);
	close(fd);
}

/* Answers once for each function of 256 bytes; those of the upper half are a module's.
 */
static bool name_once(void *ctx, us_gva pc, struct us_named *ret)
{
	static char name[32];
	bool *told = ctx;
	unsigned i = pc >> 8 & 255;
	if (pc >> 16 != 0xffffffff8123 || told[i])
		return false;
	told[i] = true;
	snprintf(name, sizeof(name), "function_%u", i);
	*ret = (struct us_named){ pc & ~255ULL, 256, name,
				  i < 128 ? "linux" : "virtio" };
	return true;
}

static void names_come_back(void **state)
{
	(void)state;
	int fd;
	struct us_writer *w = open_writer(&fd);
	struct us_err e;
	bool told[256] = { 0 };
	const struct us_namer namer = { name_once, told };
	const struct us_sample s = { .end = US_END_ROOT, .weight = 1 };
	const us_gva early[] = { 0xffffffff81230010, 0xffffffff81238200 };
	const us_gva late[] = { 0xffffffff81230020, 0xffffffff81230500, 0x1234 };
	/* What was written before the names were known is named too. */
	assert_int_equal(us_writer_sample(w, &s, early, NULL, 2, &e), 0);
	assert_int_equal(us_writer_flush(w, &e), 0);
	us_writer_name_by(w, &namer);
	assert_int_equal(us_writer_sample(w, &s, late, NULL, 3, &e), 0);
	assert_int_equal(us_writer_flush(w, &e), 0);
	us_writer_name_by(w, &(struct us_namer){ 0 });
	assert_int_equal(
		us_writer_sample(w, &s, (us_gva[]){ 0xffffffff81234010 }, NULL, 1, &e),
		0);
	assert_int_equal(us_writer_flush(w, &e), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	static const struct {
		us_gva start;
		const char *text;
	} want[] = {
		/* From the outermost frame; a return address, and the call before it.
		 */
		{ 0xffffffff81238200, "virtio:function_130" },
		{ 0xffffffff81238100, "virtio:function_129" },
		{ 0xffffffff81230000, "linux:function_0" },
		{ 0xffffffff81230500, "linux:function_5" },
		{ 0xffffffff81230400, "linux:function_4" },
	};
	assert_int_equal(h.n_named, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(h.named[i].start, want[i].start);
		assert_int_equal(h.named[i].size, 256);
		assert_string_equal(h.text[i], want[i].text);
	}
	close(fd);
}

static bool name_host(void *ctx, us_gva pc, struct us_named *ret)
{
	unsigned *n = ctx;
	*ret = (struct us_named){ pc, 16, "poll", "[kernel]" };
	return ++*n == 1;
}

/* Beside the guest's, under numbers of their own, over many chunks. */
static void hosts_stacks_come_back(void **state)
{
	enum { M = 50000 };
	static const uint8_t flags[] = { 0, US_PC_EXIT, US_PC_HOST, US_PC_HOST };
	unsigned n_named = 0;
	struct us_err e;
	int fd;
	(void)state;
	struct us_writer *w = open_writer(&fd);
	us_writer_name_host_by(w, &(struct us_namer){ name_host, &n_named });
	for (unsigned i = 0; i < M; i++) {
		const us_gva pc[] = { 0x1000 + i % 7, 0x10201,
				      0xffffffff81000000 + i % 100, 0x7f0000 };
		struct us_sample s = { .t_ns = i * 1000ULL, .weight = 1 };
		size_t n = i % 3 ? 4 : 2;
		assert_int_equal(us_writer_sample(w, &s, pc, flags, n, &e), 0);
	}
	assert_int_equal(us_writer_flush(w, &e), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	assert_int_equal(h.n_sample, M);
	assert_int_equal(h.n_host, 101);
	assert_int_equal(h.n_stack, 8);
	assert_int_equal(h.n_host_named, 1);
	assert_string_equal(h.host_text, "[kernel]:poll");
	for (unsigned i = 0; i < M; i++) {
		us_stack_id id = h.sample[i].host;
		assert_int_equal(id != 0, i % 3 != 0);
		if (!id)
			continue;
		assert_int_equal(h.host[id].pc, 0xffffffff81000000 + i % 100);
		assert_int_equal(h.host[h.host[id].parent].pc, 0x7f0000);
		assert_int_equal(h.host[h.host[id].parent].parent, 0);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_come_back),
		cmocka_unit_test(waits_come_back),
		cmocka_unit_test(names_come_back),
		cmocka_unit_test(samples_come_back),
		cmocka_unit_test(samples_come_in_other_ways),
		cmocka_unit_test(hosts_stacks_come_back),
		cmocka_unit_test(a_pipe_carries_the_same),
		cmocka_unit_test(endless_stacks_are_survived),
		cmocka_unit_test(numbers_of_stacks_run_out_with_a_word),
		cmocka_unit_test(a_full_disk_is_told),
		cmocka_unit_test(good_bytes_after_a_failed_write),
		cmocka_unit_test(bad_values_are_refused),
		cmocka_unit_test(a_sample_takes_few_bytes),
	};
	return cmocka_run_group_tests_name("store-file", tests, NULL, NULL);
}
