/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-record-kill.c: the recorder is killed at random moments; its file is good. */
#include "store-file.h"

#include "backend/fake/fake.h"
#include "base/clock.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define CHILDREN 10 /* at a time */
#define ROUNDS	 5

static struct heard h;
static unsigned n_unbalanced, n_unlike;

static void record_until_killed(int fd, unsigned seed)
{
	const struct us_fake_opts fake = { .n_vcpu = 2,
					   .n_stack = 300,
					   .depth = 12,
					   .halted_permille = 200,
					   .held_ns = 5000 };
	const struct us_target t = { .fake = &fake };
	const struct us_record_opts o = { .schedule = { .hz = 2000, .seed = seed } };
	struct us_record_stats stats;
	enum us_record_end end;
	struct us_backend *b;
	struct us_unwinder *u;
	struct us_writer *w;
	struct us_err e;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* should a check fail in the parent */
	if (us_backend_open(&t, "fake", &b, NULL, 0, &e) ||
	    us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u) ||
	    us_writer_open(fd, &w, &e) || us_writer_fact(w, "target", "fake", &e) ||
	    us_record(b, u, w, &o, &stats, &end, &e))
		_exit(1);
	_exit(2);
}

static int check_stats(void *ctx, const struct us_record_stats *s)
{
	n_unbalanced += s->due != s->running + s->idle + s->off + s->late +
					  s->backed_off + s->failed + s->lost;
	n_unlike += s->running != h.weight[US_VCPU_GUEST] ||
		    s->idle != h.weight[US_VCPU_HALTED];
	return hear_stats(ctx, s);
}

/* Microseconds between the last sample and the kill; negative: no sample yet. */
static double check_file(int fd, uint64_t lived_ns)
{
	struct us_reader_ops ops = hear_all;
	ops.stats = check_stats;
	memset(&h, 0, sizeof(h));
	lseek(fd, 0, SEEK_SET);
	int r = us_read(fd, &ops, &h, &h.result, &h.e);
	if (r == -ENOEXEC && lseek(fd, 0, SEEK_END) < US_STORE_HEAD)
		return -1; /* killed before it began */
	assert_int_equal(r, 0);
	assert_false(h.result.ended);
	assert_int_equal(h.result.cut, (off_t)h.result.bytes < lseek(fd, 0, SEEK_END));
	if (!h.n_sample)
		return -1;
	for (unsigned i = 0; i < h.n_sample; i++) {
		us_gva pc[US_MAX_FRAMES];
		size_t n = unfold(&h, h.sample[i].stack, pc);
		assert_int_equal(n, h.sample[i].state == US_VCPU_GUEST ? 12 : 0);
	}
	uint64_t last = h.sample[h.n_sample - 1].t_ns;
	return lived_ns > last ? (double)(lived_ns - last) / 1e6 : 0;
}

static void the_file_is_good_up_to_its_last_chunk(void **state)
{
	(void)state;
	uint64_t random = 11;
	double oldest = 0;
	unsigned n_sample = 0, n_stats = 0, n_cut = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		pid_t pid[CHILDREN];
		int fd[CHILDREN];
		uint64_t born[CHILDREN];
		for (unsigned i = 0; i < CHILDREN; i++) {
			fd[i] = memfd_create("recording", MFD_CLOEXEC);
			born[i] = us_now_ns();
			pid[i] = fork();
			assert_true(pid[i] >= 0);
			if (!pid[i])
				record_until_killed(fd[i], round * CHILDREN + i);
		}
		for (unsigned i = 0; i < CHILDREN; i++) {
			int status;
			random = random * 6364136223846793005ULL +
				 1442695040888963407ULL;
			const struct timespec t = {
				.tv_nsec = (long)((random >> 33) %
						  (round ? 200000000 : 40000000)),
			};
			nanosleep(&t, NULL);
			kill(pid[i], SIGKILL);
			uint64_t lived = us_now_ns() - born[i];
			assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
			assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
			double age = check_file(fd[i], lived);
			oldest = age > oldest ? age : oldest;
			n_sample += h.n_sample;
			n_stats += h.n_stats;
			n_cut += h.result.cut;
			close(fd[i]);
		}
	}
	print_message(
		"# %u samples, %u sums, %u cut in a chunk; the last sample was at "
		"most %.0f ms old\n",
		n_sample, n_stats, n_cut, oldest);
	assert_int_equal(n_unbalanced, 0);
	assert_int_equal(n_unlike, 0);
	assert_true(n_sample > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_is_good_up_to_its_last_chunk),
	};
	return cmocka_run_group_tests_name("record-kill", tests, NULL, NULL);
}
