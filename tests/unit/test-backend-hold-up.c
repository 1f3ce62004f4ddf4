/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A QEMU or a profiler that gets no CPU for longer than the watchdog waits: the guest
 * runs afterwards.  By SIGSTOP, and of several guests at a time. */
#include "remote.h"

extern const struct us_backend_ops us_backend_gdb;

#define N_RIG 4

static bool start_rigs(struct rig rig[N_RIG])
{
	for (unsigned i = 0; i < N_RIG; i++)
		if (!rig_start(&rig[i], false, 1, false))
			return false;
	return true;
}

/* looked_at: somebody still stops it now and then, so it may just stand. */
static void each_runs(const struct rig rig[N_RIG], bool looked_at)
{
	for (unsigned i = 0; i < N_RIG; i++) {
		for (unsigned k = 0; k < 3; k++)
			assert_true(goes_on(&rig[i]));
		if (!looked_at)
			expect_status(&rig[i], "running");
	}
}

/* In a process of its own: 0: it has taken samples. */
static int look(const struct rig *r, unsigned n)
{
	struct us_target t = { 0 };
	struct us_schedule s = { .hz = 100, .seed = 1 };
	static struct us_capture c;
	struct us_backend *b;
	struct us_err e = { 0 };
	strcpy(t.gdb, r->gdb);
	int got = us_backend_gdb.open(&t, &b, &e);
	if (got < 0) {
		printf("# %s\n", e.msg);
		fflush(stdout);
		return 1;
	}
	got = b->ops->start(b, &s, &e);
	for (unsigned i = 0; got >= 0 && i < n; i++) {
		got = b->ops->next(b, us_now_ns() + PATIENCE_NS, &c);
		if (got == 1)
			b->ops->release(b, &c);
	}
	us_backend_close(b);
	return got < 0;
}

/* QEMU answers a debugger that comes ms[i] later.  Returns how many guests could be
 * looked at. */
static unsigned attach_late(const struct rig rig[N_RIG], const unsigned ms[N_RIG])
{
	pid_t pid[N_RIG];
	unsigned good = 0, waited_ms = 0;
	fflush(stdout);
	for (unsigned i = 0; i < N_RIG; i++) {
		kill(rig[i].qemu.pid, SIGSTOP);
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(look(&rig[i], 20));
		}
	}
	for (unsigned i = 0; i < N_RIG; i++) {
		usleep((ms[i] - waited_ms) * 1000);
		waited_ms = ms[i];
		kill(rig[i].qemu.pid, SIGCONT);
	}
	for (unsigned i = 0; i < N_RIG; i++) {
		int status;
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		good += WEXITSTATUS(status) == 0;
	}
	return good;
}

/* Later than the watchdog waits, and earlier than the profiler gives up.  Whether the
 * guest can be looked at then is a matter of time: of three tries once.  That it runs
 * afterwards is not; nor is it where nobody waits so long. */
static void qemu_stops_late(void **state)
{
	(void)state;
	struct rig rig[N_RIG];
	static const unsigned ms[N_RIG] = { 3200, 3300, 3500, 3700 };
	static const unsigned too_late_ms[N_RIG] = { 5000, 6000, 7000, 9000 };
	unsigned good = 0;
	if (!start_rigs(rig))
		skip();
	for (unsigned i = 0; i < 3 && !good; i++) {
		good = attach_late(rig, ms);
		printf("# %u of %u were looked at\n", good, N_RIG);
		each_runs(rig, false);
	}
	assert_true(good > 0);
	assert_int_equal(attach_late(rig, too_late_ms), 0);
	each_runs(rig, false);
	for (unsigned i = 0; i < N_RIG; i++)
		rig_stop(&rig[i]);
}

/* It is asleep in the middle of a look, most likely, and wakes up when the watchdog has
 * let the guest go. */
static void profiler_is_held_up(void **state)
{
	(void)state;
	struct rig rig[N_RIG];
	pid_t pid[N_RIG];
	struct us_target t[N_RIG] = { 0 };
	if (!start_rigs(rig))
		skip();
	for (unsigned i = 0; i < N_RIG; i++) {
		strcpy(t[i].gdb, rig[i].gdb);
		pid[i] = profile_in_child(&us_backend_gdb, &t[i], false);
	}
	for (unsigned i = 0; i < N_RIG; i++)
		kill(pid[i], SIGSTOP);
	each_runs(rig, true); /* by its watchdog, if it was held */
	for (unsigned i = 0; i < N_RIG; i++)
		kill(pid[i], SIGCONT);
	usleep(500000);
	each_runs(rig, true);
	for (unsigned i = 0; i < N_RIG; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	each_runs(rig, false);
	for (unsigned i = 0; i < N_RIG; i++)
		rig_stop(&rig[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(qemu_stops_late),
		cmocka_unit_test(profiler_is_held_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
