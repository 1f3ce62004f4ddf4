/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a stop took of a guest whose vCPU ran on until the VMM had time for it.  The
 * guest is a child that computes, or sleeps; its VMM is SIGSTOP. */
#include "unit.h"

#include "backend/whole_stop.h"
#include "base/clock.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOW_MS 60 /* until the VMM stops it */
#define N_STOP	6

static struct {
	pid_t pid;
	struct us_guest guest;
	struct us_whole_stop stop;
	uint64_t wait_ns; /* from the request to the end, of all stops but the first */
	unsigned n_resume;
	bool halts;		   /* by the time it stands */
	bool idles;		   /* and did so before */
	bool begins;		   /* to work, when it is to stop, as told */
	unsigned slow_ms, read_ms; /* before it stands, and behind */
	struct us_regs regs;
	bool told; /* its thread has work unless it begins, and has run so long: */
	struct us_vcpu_thread_time time;
} world;

uint64_t __real_us_vcpu_threads_busy(const struct us_vcpu_threads *t);
uint64_t __wrap_us_vcpu_threads_busy(const struct us_vcpu_threads *t);
uint64_t __wrap_us_vcpu_threads_busy(const struct us_vcpu_threads *t)
{
	return world.told ? !world.begins : __real_us_vcpu_threads_busy(t);
}

bool __real_us_vcpu_threads_time(const struct us_vcpu_threads *t, unsigned vcpu,
				 struct us_vcpu_thread_time *ret);
bool __wrap_us_vcpu_threads_time(const struct us_vcpu_threads *t, unsigned vcpu,
				 struct us_vcpu_thread_time *ret);
bool __wrap_us_vcpu_threads_time(const struct us_vcpu_threads *t, unsigned vcpu,
				 struct us_vcpu_thread_time *ret)
{
	if (world.told)
		*ret = world.time;
	return world.told || __real_us_vcpu_threads_time(t, vcpu, ret);
}

static int sleep_until(void *ctx, uint64_t t_ns)
{
	(void)ctx;
	return us_pacer_sleep(t_ns);
}

static int look(void *ctx)
{
	int status;
	(void)ctx;
	world.stop.asked_ns = us_now_ns();
	usleep(world.slow_ms * 1000);
	assert_return_code(kill(world.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(world.pid, &status, WUNTRACED), world.pid);
	world.stop.t_ns = us_now_ns();
	if (world.begins)
		world.time.ran += world.stop.t_ns - world.stop.asked_ns;
	usleep(world.read_ms * 1000);
	world.stop.got = (1U << world.stop.n_vcpu) - 1;
	return 0;
}

static int resume(void *ctx, uint64_t *ret_ns)
{
	(void)ctx;
	world.wait_ns += us_now_ns() - world.stop.asked_ns;
	world.n_resume++;
	int r = kill(world.pid, SIGCONT);
	*ret_ns = us_now_ns();
	return r;
}

static void fill(void *ctx, unsigned vcpu, struct us_capture *c)
{
	(void)ctx;
	(void)vcpu;
	c->regs = world.regs;
	c->state = world.halts ? US_VCPU_HALTED : US_VCPU_GUEST;
}

static bool ran(void *ctx, unsigned vcpu)
{
	(void)ctx;
	return vcpu == 0 && !world.idles;
}

static bool paused(void *ctx)
{
	(void)ctx;
	return false;
}

static pid_t child(bool works)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		if (!works)
			pause();
}

static void begin(bool works, bool sleeps_stopped)
{
	static const struct us_whole_stop_ops ops = { .sleep = sleep_until,
						      .sample = look,
						      .resume = resume,
						      .fill = fill,
						      .ran = ran,
						      .paused = paused };
	const struct us_schedule s = { .hz = 100, .seed = 1 };
	memset(&world, 0, sizeof(world));
	world.slow_ms = SLOW_MS;
	world.pid = child(works);
	assert_true(world.pid > 0);
	world.guest.pid = world.pid;
	world.guest.n_vcpu = 1;
	world.guest.vcpu[0].tid = world.pid;
	world.stop.ops = &ops;
	world.stop.n_vcpu = 1;
	world.stop.sleeps_stopped = sleeps_stopped;
	assert_int_equal(us_whole_stop_start(&world.stop, &s, &world.guest, NULL), 0);
}

static void end_child(void)
{
	kill(world.pid, SIGKILL);
	waitpid(world.pid, NULL, 0);
}

/* What N_STOP stops took by the books, and by the captures. The first is not counted:
 * nothing is known of the time before it. */
static uint64_t stolen(void)
{
	uint64_t first = 0, by_captures = 0;
	struct us_backend_counts c;
	for (unsigned i = 0; i <= N_STOP; i++) {
		struct us_capture capture;
		assert_int_equal(us_whole_stop_next(&world.stop, UINT64_MAX, &capture),
				 1);
		us_whole_stop_release(&world.stop, &capture);
		us_whole_stop_counts(&world.stop, &c);
		if (!i)
			world.wait_ns = 0, first = c.stolen_ns;
		else
			by_captures += capture.held_ns;
	}
	uint64_t by_books = c.stolen_ns - first;
	us_whole_stop_close(&world.stop);
	end_child();
	print_message("# %.1f ms of %.1f\n", (double)by_books / 1e6,
		      (double)world.wait_ns / 1e6);
	/* Reading the clock twice. */
	assert_true(by_captures + N_STOP * US_NS_PER_MS > by_books);
	assert_true(by_books + N_STOP * US_NS_PER_MS > by_captures);
	return by_books;
}

/* It computed, or waited for a CPU to do so: that was not taken from it. */
static void what_ran_on_was_not_held(void **state)
{
	(void)state;
	begin(true, true);
	uint64_t took = stolen();
	assert_true(took < world.wait_ns - N_STOP * SLOW_MS * US_NS_PER_MS / 2);
}

/* Nobody knows whether one that slept was held or had nothing to do. */
static void what_slept_counts_as_held(void **state)
{
	(void)state;
	begin(false, true);
	uint64_t took = stolen();
	assert_true(took >= N_STOP * SLOW_MS * US_NS_PER_MS);
}

/* Where a stopped vCPU's thread works for the VMM, its time says nothing. */
static void without_knowing_all_counts_as_held(void **state)
{
	(void)state;
	begin(true, false);
	uint64_t took = stolen();
	assert_true(took >= N_STOP * SLOW_MS * US_NS_PER_MS);
}

/* How many of N_STOP stops say that it was busy, of a vCPU that stands halted each
 * time. */
static unsigned busy_though_halted(void)
{
	unsigned n = 0;
	world.halts = true;
	for (unsigned i = 0; i < N_STOP; i++) {
		struct us_capture capture;
		assert_int_equal(us_whole_stop_next(&world.stop, UINT64_MAX, &capture),
				 1);
		us_whole_stop_release(&world.stop, &capture);
		n += capture.state == US_VCPU_GUEST;
	}
	us_whole_stop_close(&world.stop);
	end_child();
	return n;
}

/* It had work when the sample was due, and has ended since. */
static void what_ran_was_busy(void **state)
{
	(void)state;
	begin(true, true);
	world.stop.let_go_ns = us_now_ns(); /* of a stop that did not wake it */
	assert_true(busy_though_halted() > 0);
}

static void take(unsigned n, enum us_vcpu_state state)
{
	for (unsigned i = 0; i < n; i++) {
		struct us_capture c;
		assert_int_equal(us_whole_stop_next(&world.stop, UINT64_MAX, &c), 1);
		us_whole_stop_release(&world.stop, &c);
		assert_int_equal(c.state, state);
	}
}

/* Three found work that began after they were due: three that came after the end of
 * theirs do not count as busy, too. */
static void work_keeps_its_share_at_both_ends(void **state)
{
	(void)state;
	begin(false, true);
	world.slow_ms = 1;
	world.told = world.begins = true;
	take(3, US_VCPU_GUEST);
	assert_int_equal(world.stop.early[0], 3);
	world.begins = false;
	world.halts = true;
	world.stop.early_ns = us_now_ns(); /* not so long ago */
	take(3, US_VCPU_HALTED);
	assert_int_equal(world.stop.early[0], 0);
	take(1, US_VCPU_GUEST);
	us_whole_stop_close(&world.stop);
	end_child();
}

/* The stop's end woke it, and then it slept until the lock was its own: it has work, by
 * its thread, but has executed nothing. */
static void a_vcpu_that_stood_still_was_only_woken(void **state)
{
	(void)state;
	begin(false, true);
	world.slow_ms = 10;
	world.halts = world.idles = world.told = true;
	world.regs = (struct us_regs){ .pc = 0x1000, .sp = 0x2000, .valid = 0xffff };
	take(1, US_VCPU_GUEST); /* nothing is known of the time before */
	for (unsigned i = 0; i < 3; i++) {
		world.time.ran += 40000;
		world.time.waited += 1000000;
		take(1, US_VCPU_HALTED);
	}
	world.time.ran += 40000;
	world.regs.gpr[US_X86_RAX]++;
	take(1, US_VCPU_GUEST);
	world.time.ran += 5000000; /* in a handler that changed no register */
	take(1, US_VCPU_GUEST);
	us_whole_stop_close(&world.stop);
	end_child();
}

/* It began to work when it was to stop: what came due meanwhile came due in that. */
static void what_came_due_in_work_is_its_loss(void **state)
{
	(void)state;
	begin(false, true);
	world.begins = world.told = true;
	struct us_pacer_fates *fates = world.stop.pacer.slot[0].fates;
	take(1, US_VCPU_GUEST);
	assert_true(fates[1].lost >= 2 && fates[1].lost > 4 * fates[0].lost);
	us_whole_stop_close(&world.stop);
	end_child();
}

/* Of many stops of an idle guest, each twice as long as the interval: the shortest
 * distance from one due sample to the next, less the stop.  Nothing is stolen. */
static uint64_t least_distance_ns(bool clock_stands)
{
	uint64_t least = UINT64_MAX, last, due;
	struct us_capture capture;
	struct us_backend_counts c;
	begin(false, clock_stands);
	world.idles = world.halts = true;
	world.slow_ms = 0;
	world.read_ms = 20;
	for (unsigned i = 0; i < 8 * N_STOP; i++) {
		us_pacer_next(&world.stop.pacer, &last);
		assert_int_equal(us_whole_stop_next(&world.stop, UINT64_MAX, &capture),
				 1);
		us_whole_stop_release(&world.stop, &capture);
		us_pacer_next(&world.stop.pacer, &due);
		uint64_t stood = world.stop.let_go_ns - world.stop.t_ns;
		least = due - last - stood < least ? due - last - stood : least;
	}
	us_whole_stop_counts(&world.stop, &c);
	us_whole_stop_close(&world.stop);
	end_child();
	assert_int_equal(c.stolen_ns, 0);
	return least;
}

/* Its time stood with it, and it is the guest's time that samples are spread over: half
 * an interval is the shortest distance. */
static void what_idled_with_its_clock_rests_for_an_interval(void **state)
{
	(void)state;
	assert_true(least_distance_ns(true) >= 5 * US_NS_PER_MS);
	/* What is left of the distance in which the stop ended. */
	assert_true(least_distance_ns(false) < 5 * US_NS_PER_MS);
}

/* What is left of a stop is dropped, by a new start too, and the guest runs. */
static void what_is_left_lets_go(void **state)
{
	static const struct us_schedule s = { .hz = 100, .seed = 1 };
	struct us_capture capture;
	(void)state;
	begin(false, false);
	world.stop.n_vcpu = 2;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			us_whole_stop_start(&world.stop, &s, &world.guest, NULL), 0);
		assert_int_equal(world.n_resume, i);
		assert_int_equal(us_whole_stop_next(&world.stop, UINT64_MAX, &capture),
				 1);
		us_whole_stop_release(&world.stop, &capture);
		assert_int_equal(world.n_resume, i);
	}
	us_whole_stop_let_go(&world.stop);
	us_whole_stop_let_go(&world.stop);
	assert_int_equal(world.n_resume, 2);
	us_whole_stop_close(&world.stop);
	end_child();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ran_on_was_not_held),
		cmocka_unit_test(what_is_left_lets_go),
		cmocka_unit_test(what_slept_counts_as_held),
		cmocka_unit_test(without_knowing_all_counts_as_held),
		cmocka_unit_test(what_ran_was_busy),
		cmocka_unit_test(work_keeps_its_share_at_both_ends),
		cmocka_unit_test(a_vcpu_that_stood_still_was_only_woken),
		cmocka_unit_test(what_came_due_in_work_is_its_loss),
		cmocka_unit_test(what_idled_with_its_clock_rests_for_an_interval),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
