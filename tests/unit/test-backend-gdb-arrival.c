/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that its owner has paused stays so, also where its stub does not say whether
 * it ran, as QEMU's does not from 8.1 on: one that keeps that to itself stands between
 * us and a real QEMU. */
#include "remote.h"

#include "vmm/thread_runs.h"

#include <poll.h>

extern const struct us_backend_ops us_backend_gdb;

/* Threads. */

static atomic_bool spin;
static atomic_int tids[2];

static void *sleep_for_ever(void *arg)
{
	atomic_store(&tids[1], gettid());
	for (;;)
		pause();
	return arg;
}

static bool is_known(pid_t tid, bool asleep)
{
	struct us_thread_runs t;
	bool found = false;
	if (us_thread_runs_read(getpid(), &t) < 0)
		return false;
	for (size_t i = 0; i < t.n; i++)
		found |= t.v[i].tid == tid && (t.v[i].sleeps || !asleep);
	us_thread_runs_fini(&t);
	return found;
}

static void *spin_for_ever(void *arg)
{
	atomic_store(&tids[0], gettid());
	while (atomic_load(&spin))
		;
	return arg;
}

static void threads_that_ran_are_told(void **state)
{
	(void)state;
	struct us_thread_runs before, after;
	pthread_t runner, sleeper;
	atomic_store(&spin, true);
	assert_int_equal(pthread_create(&runner, NULL, spin_for_ever, NULL), 0);
	assert_int_equal(pthread_create(&sleeper, NULL, sleep_for_ever, NULL), 0);
	/* Until the scheduler's first tick in it, the one that spins has no run time.
	 */
	while (!is_known(atomic_load(&tids[0]), false) ||
	       !is_known(atomic_load(&tids[1]), true))
		usleep(1000);
	assert_int_equal(us_thread_runs_read(getpid(), &before), 0);
	usleep(300000);
	assert_int_equal(us_thread_runs_read(getpid(), &after), 0);
	assert_int_equal(us_thread_ran(&before, &after, atomic_load(&tids[0])),
			 US_THREAD_RAN);
	assert_int_equal(us_thread_ran(&before, &after, atomic_load(&tids[1])),
			 US_THREAD_SLEPT);
	assert_int_equal(us_thread_ran(&before, &after, 1), US_THREAD_NOT_KNOWN);
	assert_true(us_thread_worked(&before, &after, atomic_load(&tids[0]), 1, 1000));
	assert_false(us_thread_worked(&before, &after, atomic_load(&tids[1]), 1, 1));
	assert_false(us_thread_worked(&before, &after, 1, 0, 0));
	us_thread_runs_fini(&before);
	us_thread_runs_fini(&after);
	atomic_store(&spin, false);
	pthread_join(runner, NULL);
	assert_true(us_thread_runs_read(-1, &after) < 0);
	us_thread_runs_fini(&after);
}

/* The stub between us and QEMU's. */

static char real_stub[64];

/* QEMU 7.2 says at once that the guest has stopped, if it ran. */
static size_t without_stop_reply(char *buf, size_t n)
{
	if (n < 2 || memcmp(buf, "$T", 2) != 0)
		return n;
	const char *end = memchr(buf, '#', n);
	assert_non_null(end);
	size_t skip = (size_t)(end - buf) + 3;
	memmove(buf, buf + skip, n - skip);
	return n - skip;
}

/* "info version": 9.2.0. */
static bool answers_itself(int fd, const char *buf, size_t n)
{
	static const char ask[] = "qRcmd,696e666f2076657273696f6e";
	static const char reply[] = "+$O392e322e300d0a#d6$OK#9a";
	if (!memmem(buf, n, ask, sizeof(ask) - 1))
		return false;
	return send(fd, reply, sizeof(reply) - 1, MSG_NOSIGNAL) > 0;
}

static void serve_newer(int fd, struct peer_page *page, int behaviour)
{
	(void)page, (void)behaviour;
	char buf[16384];
	int real = us_socket_connect(real_stub, 2000, NULL);
	bool first = true;
	struct pollfd p[2] = { { fd, POLLIN, 0 }, { real, POLLIN, 0 } };
	for (ssize_t n; poll(p, 2, -1) > 0;) {
		if (p[1].revents) {
			n = recv(real, buf, sizeof(buf), 0);
			if (n <= 0)
				break;
			n = first ? (ssize_t)without_stop_reply(buf, (size_t)n) : n;
			first = false;
			if (n && send(fd, buf, (size_t)n, MSG_NOSIGNAL) < 0)
				break;
		}
		if (p[0].revents) {
			n = recv(fd, buf, sizeof(buf), 0);
			if (n <= 0)
				break;
			if (!answers_itself(fd, buf, (size_t)n) &&
			    send(real, buf, (size_t)n, MSG_NOSIGNAL) < 0)
				break;
		}
	}
	close(real);
}

struct scene {
	struct rig rig;
	struct peer peer;
	struct us_guest guest;
	struct us_target target;
};

static void scene_open(struct scene *s, bool with_monitor)
{
	struct us_err e;
	load_functions();
	strcpy(real_stub, s->rig.gdb);
	peer_start(&s->peer, serve_newer, 0);
	assert_int_equal(us_guest_inspect(s->rig.qemu.pid, &s->guest, &e), 0);
	assert_non_null(strstr(s->guest.qmp, s->rig.qemu.qmp));
	if (!with_monitor)
		s->guest.qmp[0] = '\0';
	s->target = (struct us_target){ .guest = &s->guest };
	strcpy(s->target.gdb, s->peer.path);
}

/* Its owner has paused it a while ago: no thread is on its way to sleep, on a host
 * however busy. */
static void wait_until_it_sleeps(const struct scene *s)
{
	for (int i = 0; i < 300; i++) {
		struct us_thread_runs a, b;
		bool slept = true;
		assert_int_equal(us_thread_runs_read(s->rig.qemu.pid, &a), 0);
		usleep(100000);
		assert_int_equal(us_thread_runs_read(s->rig.qemu.pid, &b), 0);
		for (size_t k = 0; k < b.n; k++)
			slept &= us_thread_ran(&a, &b, b.v[k].tid) == US_THREAD_SLEPT;
		us_thread_runs_fini(&a);
		us_thread_runs_fini(&b);
		if (slept)
			return;
	}
	fail_msg("a guest that is paused does not sleep");
}

static void attach_and_leave(struct scene *s, bool paused, const char *hazard)
{
	unsigned states[US_N_VCPU_STATE];
	struct us_backend *b = open_backend(&us_backend_gdb, &s->target);
	printf("# %s | %s\n", b->how, b->hazard);
	assert_int_equal(strstr(b->how, "the guest was paused at the start") != NULL,
			 paused);
	/* On a busy host it may not be clear that it ran; that is said. */
	if (hazard)
		assert_non_null(strstr(b->hazard, hazard));
	else if (b->hazard[0])
		assert_non_null(strstr(b->hazard, "paused before: it runs now"));
	sample(b, 100, 10, states);
	us_backend_close(b);
	expect_status(&s->rig, paused ? "paused" : "running");
}

static void by_its_threads(bool kvm)
{
	static struct scene s;
	if (!rig_start(&s.rig, kvm, 2, false))
		skip();
	scene_open(&s, false);
	for (int i = 0; i < 3; i++) {
		attach_and_leave(&s, false, NULL);
		assert_true(goes_on(&s.rig));
		command(&s.rig, "stop");
		wait_until_it_sleeps(&s);
		attach_and_leave(&s, true, "taken for paused");
		wait_until_it_sleeps(&s);
		attach_and_leave(&s, true, "taken for paused");
		command(&s.rig, "cont");
	}
	/* Whose threads they are is not known: it runs, and that is said. */
	s.target.guest = NULL;
	attach_and_leave(&s, false, "not known whether the guest was paused");
	assert_true(goes_on(&s.rig));
	peer_stop(&s.peer);
	rig_stop(&s.rig);
}

static void told_by_threads_under_tcg(void **state)
{
	(void)state;
	by_its_threads(false);
}

static void told_by_threads_under_kvm(void **state)
{
	(void)state;
	by_its_threads(true);
}

static void told_by_the_guests_own_monitor(void **state)
{
	(void)state;
	static struct scene s;
	if (!rig_start(&s.rig, false, 1, false))
		skip();
	scene_open(&s, true);
	attach_and_leave(&s, false, "a stop by QEMU's monitor may be lost");
	command(&s.rig, "stop");
	attach_and_leave(&s, true, "a stop by QEMU's monitor may be lost");
	/* Nobody else has the monitor, or libvirt has, which gets its own words. */
	s.guest.qmp_is_ours = true;
	attach_and_leave(&s, true, NULL);
	s.guest.qmp_is_ours = false;
	s.guest.libvirt = true;
	attach_and_leave(&s, true, "a virsh suspend during a stop may be lost");
	peer_stop(&s.peer);
	rig_stop(&s.rig);
}

/* Halted vCPUs' threads sleep, too: firmware that found nothing to boot, and a vCPU
 * that was never started. */
static void a_halted_guest_is_not_paused(void **state)
{
	(void)state;
	static struct scene s;
	struct rig *r = &s.rig;
	if (!have_program(QEMU)) {
		printf("# SKIP no " QEMU " here\n");
		skip();
	}
	qemu_start(&r->qemu, "-accel tcg -smp 2 -m 64 -gdb unix:%s/gdb,server=on,"
			     "wait=off -qmp unix:%s/qmp,server=on,wait=off");
	snprintf(r->gdb, sizeof(r->gdb), "%s/gdb", r->qemu.dir);
	assert_true(qemu_wait_file(&r->qemu, r->qemu.qmp));
	assert_true(qemu_wait_file(&r->qemu, r->gdb));
	scene_open(&s, false);
	for (int i = 0; i < 5; i++) {
		struct us_backend *b = open_backend(&us_backend_gdb, &s.target);
		assert_null(strstr(b->hazard, "taken for paused"));
		us_backend_close(b);
		expect_status(r, "running");
		usleep(300000);
	}
	peer_stop(&s.peer);
	rig_stop(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_ran_are_told),
		cmocka_unit_test(told_by_threads_under_tcg),
		cmocka_unit_test(told_by_threads_under_kvm),
		cmocka_unit_test(told_by_the_guests_own_monitor),
		cmocka_unit_test(a_halted_guest_is_not_paused),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
