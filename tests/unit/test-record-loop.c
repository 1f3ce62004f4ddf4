/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-record-loop.c: a recording from its start to each of its possible ends. */
#include "script-backend.h"
#include "store-file.h"

#include "record/record.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

static struct heard h;
static struct us_record_stats stats;
static enum us_record_end end;
static struct us_err e;
static unsigned n_unbalanced, n_unlike;

static uint64_t decided(const struct us_record_stats *s)
{
	return s->running + s->idle + s->off + s->late + s->backed_off + s->failed +
	       s->lost;
}

/* Every statistics chunk balances, and agrees with the samples before it. */
static int check_stats(void *ctx, const struct us_record_stats *s)
{
	uint64_t running = h.weight[US_VCPU_GUEST] + h.weight[US_VCPU_EXIT] +
			   h.weight[US_VCPU_READY];
	n_unbalanced += s->due != decided(s);
	n_unlike += s->running != running || s->idle != h.weight[US_VCPU_HALTED] ||
		    s->off != h.weight[US_VCPU_OFF];
	return hear_stats(ctx, s);
}

static void check_file(int fd)
{
	struct us_reader_ops ops = hear_all;
	ops.stats = check_stats;
	memset(&h, 0, sizeof(h));
	n_unbalanced = n_unlike = 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		assert_int_equal(errno, ESPIPE);
	assert_int_equal(us_read(fd, &ops, &h, &h.result, &h.e), 0);
	assert_int_equal(n_unbalanced, 0);
	assert_int_equal(n_unlike, 0);
}

/* Record from s; the file is then heard in h. */
static int record(struct script *s, struct us_record_opts *o)
{
	struct us_writer *w;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	e = (struct us_err){ 0 };
	int r = us_record(&s->base, NULL, w, o, &stats, &end, &e);
	us_writer_close(w);
	assert_int_equal(stats.due, decided(&stats));
	check_file(fd);
	assert_true(h.result.ended);
	assert_int_equal(h.end, end);
	assert_memory_equal(&h.stats, &stats, sizeof(stats));
	close(fd);
	return r;
}

/* 5000 captures, now and then none, now and then interrupted; then this: */
static int code_at_end;

static int five_thousand(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	(void)deadline_ns;
	if (s->samples > 6000)
		return code_at_end;
	if (s->samples % 6 == 0)
		return s->samples % 4 ? 0 : -EINTR;
	script_capture(c, s->samples);
	return 1;
}

static void the_guest_goes(void **state)
{
	(void)state;
	struct script s = SCRIPT(five_thousand);
	struct us_record_opts o = { 0 };
	s.words = "pid 42 was killed by signal 9";
	s.held_ns = 12345;
	s.counts.late = 5;
	s.counts.due = 5;
	code_at_end = -ESRCH;
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(end, US_RECORD_GUEST_GONE);
	assert_string_equal(e.msg, s.words);
	assert_string_equal(h.words, s.words);
	assert_int_equal(h.n_sample, 5000);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.late, 5);
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.due, s.counts.due);
	assert_int_equal(stats.stolen_ns, 5000 * 12345);
	assert_int_equal(stats.held_max_ns, 12345);
	assert_int_equal(stats.held_p50_ns, 12345);
	/* The stacks are those that were taken. */
	struct us_capture c;
	us_gva pc[US_MAX_FRAMES];
	for (unsigned i = 0, look = 0; i < 5000; i++) {
		look += 1 + ((look + 1) % 6 == 0);
		script_capture(&c, look);
		size_t n = unfold(&h, h.sample[i].stack, pc);
		assert_int_equal(n, c.form == US_CAPTURE_NONE ? 0 : c.stack.n);
		assert_memory_equal(pc, c.stack.pc, n * sizeof(*pc));
		assert_int_equal(h.sample[i].weight, c.weight);
		assert_int_equal(h.sample[i].vcpu, c.vcpu);
		assert_int_equal(h.sample[i].end, n ? c.stack.end : US_END_NONE);
	}
}

static struct us_record_stats shown;

static void show(void *ctx, const struct us_record_stats *s)
{
	(void)ctx;
	shown = *s;
}

static void the_last_sums_are_shown(void **state)
{
	(void)state;
	struct script s = SCRIPT(five_thousand);
	struct us_record_opts o = { .progress = show };
	code_at_end = -ESRCH;
	assert_int_equal(record(&s, &o), 0);
	assert_memory_equal(&shown, &stats, sizeof(stats));
}

static void the_connection_is_lost(void **state)
{
	(void)state;
	struct script s = SCRIPT(five_thousand);
	struct us_record_opts o = { 0 };
	code_at_end = -ECONNRESET;
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(end, US_RECORD_LOST_TOUCH);
	assert_string_equal(e.msg, "sample the guest: Connection reset by peer");
	s = (struct script)SCRIPT(five_thousand);
	code_at_end = -EIO;
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(end, US_RECORD_LOST_TOUCH);
	assert_int_equal(h.n_sample, 5000);
}

static int never(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	(void)s;
	(void)c;
	(void)deadline_ns;
	return -EIO;
}

static void it_cannot_begin(void **state)
{
	(void)state;
	struct script s = SCRIPT(never);
	struct us_record_opts o = { 0 };
	s.words = "the registers cannot be read";
	assert_int_equal(record(&s, &o), -EIO);
	assert_string_equal(e.msg, s.words);
	assert_string_equal(h.words, s.words);
	s.start_code = -EPERM;
	assert_int_equal(record(&s, &o), -EPERM);
	assert_string_equal(e.msg, "start: refused");
	assert_string_equal(h.words, e.msg);
	assert_int_equal(h.end, US_RECORD_LOST_TOUCH);
}

static int thousand_a_second(struct script *s, uint64_t deadline_ns,
			     struct us_capture *c)
{
	uint64_t due = us_now_ns() + US_NS_PER_MS;
	sleep_until(due < deadline_ns ? due : deadline_ns);
	if (due >= deadline_ns)
		return 0;
	script_capture(c, s->samples);
	return 1;
}

static atomic_uint n_progress, n_open_signals;

static void count_progress(void *ctx, const struct us_record_stats *s)
{
	sigset_t blocked;
	assert_ptr_equal(ctx, &n_progress);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	n_open_signals += !sigismember(&blocked, SIGINT) ||
			  !sigismember(&blocked, SIGTERM);
	n_progress += s->due == decided(s);
}

static void the_duration_is_over(void **state)
{
	(void)state;
	struct script s = SCRIPT(thousand_a_second);
	struct us_record_opts o = { .duration_ns = 1200 * US_NS_PER_MS,
				    .progress = count_progress,
				    .ctx = &n_progress };
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(end, US_RECORD_DONE);
	assert_true(stats.elapsed_ns >= o.duration_ns);
	assert_true(n_progress > 0);
	assert_int_equal(n_open_signals, 0);
	assert_int_equal(stats.due, s.counts.due);
}

/* Three seconds, as the captures have it, in no time. */
static int three_seconds(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	(void)deadline_ns;
	if (s->samples > 3000)
		return -ESRCH;
	script_capture(c, s->samples);
	c->t_ns += s->samples * US_NS_PER_MS;
	return 1;
}

static void sums_are_written_every_second(void **state)
{
	(void)state;
	struct script s = SCRIPT(three_seconds);
	struct us_record_opts o = { 0 };
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(h.n_sample, 3000);
	assert_true(h.n_stats >= 3 && h.n_stats <= 5);
}

static void on_alarm(int sig)
{
	(void)sig;
	us_record_stop();
}

/* It sleeps through the signal, as if another thread had got it. */
static int deaf(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	(void)s;
	(void)c;
	uint64_t now = us_now_ns();
	assert_true(deadline_ns <= now + 100 * US_NS_PER_MS);
	sleep_until(deadline_ns);
	return 0;
}

static void the_user_stops_it(void **state)
{
	(void)state;
	struct script s = SCRIPT(deaf);
	struct us_record_opts o = { 0 };
	struct sigaction act = { .sa_handler = on_alarm }, before;
	sigaction(SIGALRM, &act, &before);
	const struct itimerval soon = { .it_value.tv_usec = 150000 };
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(end, US_RECORD_INTERRUPTED);
	assert_true(s.samples > 0);
	sigaction(SIGALRM, &before, NULL);

	us_record_stop(); /* before it begins */
	s.samples = 0;
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(end, US_RECORD_INTERRUPTED);
	assert_int_equal(s.samples, 0);
}

static int endless(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	(void)deadline_ns;
	script_capture(c, s->samples);
	c->stack.pc[0] = s->samples * 16; /* all different: the file grows */
	sleep_until(c->t_ns + 50 * US_NS_PER_US);
	return 1;
}

/* Nothing else would end it. */
static void the_disk_is_full(void **state)
{
	(void)state;
	struct script s = SCRIPT(endless);
	struct us_record_opts o = { 0 };
	struct us_writer *w;
	int fd = memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(ftruncate(fd, 9000), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(us_record(&s.base, NULL, w, &o, &stats, &end, &e), -EPERM);
	assert_int_equal(end, US_RECORD_CUT);
	assert_non_null(strstr(e.msg, "write the recording"));
	assert_int_equal(stats.due, decided(&stats));
	assert_int_equal(stats.due, s.counts.due);
	assert_int_equal(s.held, 0);
	uint64_t good = us_writer_good_bytes(w);
	us_writer_close(w);
	check_file(fd);
	assert_true(h.result.cut || good == 9000);
	assert_int_equal(h.result.bytes, good);
	close(fd);
}

static sem_t reader_may_start;

static void let_reader_start(void *ctx)
{
	(void)ctx;
	sem_post(&reader_may_start);
}

static void *read_late(void *arg)
{
	sem_wait(&reader_may_start);
	check_file(*(int *)arg);
	return NULL;
}

static int fifty_thousand(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	(void)deadline_ns;
	if (s->samples > 50000)
		return -ESRCH;
	script_capture(c, s->samples);
	return 1;
}

/* A small ring, and a pipe that nobody reads from until all is over: most is lost, and
 * it is said how much. */
static void what_is_lost_is_counted(void **state)
{
	(void)state;
	struct script s = SCRIPT(fifty_thousand);
	struct us_record_opts o = { .ring_bytes = 4096 };
	struct us_writer *w;
	pthread_t thread;
	int p[2];
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	fcntl(p[1], F_SETPIPE_SZ, 4096);
	sem_init(&reader_may_start, 0, 0);
	s.on_explain = let_reader_start;
	assert_int_equal(pthread_create(&thread, NULL, read_late, &p[0]), 0);
	assert_int_equal(us_writer_open(p[1], &w, NULL), 0);
	assert_int_equal(us_record(&s.base, NULL, w, &o, &stats, &end, &e), 0);
	us_writer_close(w);
	pthread_join(thread, NULL);
	assert_true(stats.lost > 0);
	assert_int_equal(stats.due, s.counts.due);
	assert_int_equal(stats.due, decided(&stats));
	assert_memory_equal(&h.stats, &stats, sizeof(stats));
	assert_int_equal(end, US_RECORD_GUEST_GONE);
	close(p[0]);
	close(p[1]);
}

/* The reader of our pipe goes away: an error, not a SIGPIPE. */
static void the_reader_goes(void **state)
{
	(void)state;
	struct script s = SCRIPT(endless);
	struct us_record_opts o = { 0 };
	struct us_writer *w;
	int p[2];
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(us_writer_open(p[1], &w, NULL), 0);
	close(p[0]);
	assert_int_equal(us_record(&s.base, NULL, w, &o, &stats, &end, &e), -EPIPE);
	assert_non_null(strstr(e.msg, "Broken pipe"));
	us_writer_close(w);
	close(p[1]);
}

/* A backend that counts looks which it never answers. */
static int forgetful(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	s->counts.due += s->samples <= 100;
	code_at_end = -ESRCH;
	return five_thousand(s, deadline_ns, c);
}

static void silence_is_failure(void **state)
{
	(void)state;
	struct script s = SCRIPT(forgetful);
	struct us_record_opts o = { 0 };
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(stats.failed, 100);
	assert_int_equal(stats.due, s.counts.due);
}

/* Two captures of each stop, of which the first is behind the end. */
static int two_a_stop(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	sleep_until(deadline_ns);
	script_capture(c, s->samples);
	s->stands = s->samples % 2;
	return 1;
}

static bool stood;

static void note_stop(void *ctx)
{
	stood = ((const struct script *)ctx)->stands;
}

static void the_guest_does_not_wait_for_the_end(void **state)
{
	(void)state;
	struct script s = SCRIPT(two_a_stop);
	struct us_record_opts o = { .duration_ns = 10 * US_NS_PER_MS,
				    .finish = note_stop,
				    .ctx = &s };
	stood = true;
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(end, US_RECORD_DONE);
	assert_int_equal(h.n_sample, 1);
	assert_false(stood);
}

static void count_search(void *ctx)
{
	++*(unsigned *)ctx;
}

/* Before the first sample that counts, and not after it. */
static void warm_up_searches(void **state)
{
	(void)state;
	unsigned n = 0;
	struct script s = SCRIPT(thousand_a_second);
	struct us_record_opts o = { .duration_ns = 50 * US_NS_PER_MS,
				    .warm_up = true,
				    .search = count_search,
				    .ctx = &n };
	assert_int_equal(record(&s, &o), 0);
	assert_true(n > 0);
	o.warm_up = false;
	n = 0;
	assert_int_equal(record(&s, &o), 0);
	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_guest_goes),
		cmocka_unit_test(the_last_sums_are_shown),
		cmocka_unit_test(the_connection_is_lost),
		cmocka_unit_test(it_cannot_begin),
		cmocka_unit_test(the_duration_is_over),
		cmocka_unit_test(warm_up_searches),
		cmocka_unit_test(the_guest_does_not_wait_for_the_end),
		cmocka_unit_test(sums_are_written_every_second),
		cmocka_unit_test(the_user_stops_it),
		cmocka_unit_test(the_disk_is_full),
		cmocka_unit_test(what_is_lost_is_counted),
		cmocka_unit_test(the_reader_goes),
		cmocka_unit_test(silence_is_failure),
	};
	return cmocka_run_group_tests_name("record-loop", tests, NULL, NULL);
}
