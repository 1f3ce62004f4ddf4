/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pauses by the xen backend, on a hypervisor that is made up: whatever ends, the domain
 * goes on. */
#include "xen-guest.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void the_end_of_a_domain_is_told(void **state)
{
	(void)state;
	static const char *const why[] = { "it is being destroyed",
					   "it has shut down or crashed", "it is gone",
					   "it is gone" };
	for (int how = 0; how < 4; how++) {
		struct us_backend *b = open_started(1, 2000);
		struct us_capture c;
		struct us_err e = { 0 };
		take(b, &c);
		b->ops->release(b, &c);
		fake_xen->domain.dying = how == 0;
		fake_xen->domain.shut_down = how == 1;
		fake_xen->domain_code = how == 2 ? -ESRCH : 0;
		fake_xen->pause_code = how == 3 ? -ESRCH : 0;
		/* Its vCPU has run since: one more sample may be taken. */
		int r = b->ops->next(b, soon(), &c);
		if (r == 1) {
			b->ops->release(b, &c);
			r = b->ops->next(b, soon(), &c);
		}
		assert_int_equal(r, -ESRCH);
		b->ops->explain(b, -ESRCH, &e);
		assert_non_null(strstr(e.msg, "the end of domain 7"));
		assert_non_null(strstr(e.msg, why[how]));
		assert_int_equal(b->ops->next(b, soon(), &c), -ESRCH);
		close_it(b);
		assert_int_equal(atomic_load(&fake_xen->paused), 0);
		assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
	}
}

/* Two vCPUs for a while.  The first samples may still be as before. */
static void pass_as(struct us_backend *b, enum us_vcpu_state state)
{
	struct us_capture c;
	for (unsigned i = 0; i < 20; i++) {
		take(b, &c);
		assert_true(i < 4 || c.state == state);
		b->ops->release(b, &c);
	}
}

/* A checkpoint: the domain suspends itself, is saved, and goes on. */
static void a_suspended_domain_goes_on(void **state)
{
	(void)state;
	struct us_backend *b = open_started(2, 2000);
	pass_as(b, US_VCPU_GUEST);
	fake_xen->domain.shut_down = true;
	fake_xen->domain.reason = US_XEN_SUSPENDED;
	pass_as(b, US_VCPU_OFF);
	int n_pause = atomic_load(&fake_xen->n_pause);
	pass_as(b, US_VCPU_OFF);
	assert_int_equal(atomic_load(&fake_xen->n_pause), n_pause);
	fake_xen->domain.shut_down = false;
	pass_as(b, US_VCPU_GUEST);
	assert_int_equal(atomic_load(&fake_xen->paused), 0);
	assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
	close_it(b);
}

static void a_paused_domain_stays_paused(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_capture c;
	atomic_store(&fake_xen->paused, 1);
	for (unsigned i = 0; i < 5; i++) {
		take(b, &c);
		assert_int_equal(c.state, US_VCPU_OFF);
		b->ops->release(b, &c);
		assert_int_equal(c.held_ns, 0);
		assert_int_equal(atomic_load(&fake_xen->paused), 1);
	}
	assert_int_equal(atomic_load(&fake_xen->n_pause), 0);
	close_it(b);
}

/* Its owner pauses it while we do: one unpause each. */
static void pauses_nest(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_capture c;
	take(b, &c);
	atomic_fetch_add(&fake_xen->paused, 1);
	b->ops->release(b, &c);
	assert_int_equal(atomic_load(&fake_xen->paused), 1);
	close_it(b);
	assert_int_equal(atomic_load(&fake_xen->paused), 1);
}

/* Whatever is left of a stop, a new start, or letting go, resumes the domain. */
static void a_new_start_lets_go(void **state)
{
	static const struct us_schedule s = { .hz = 1000, .seed = 1 };
	(void)state;
	for (unsigned n = 1; n <= FAKE_VCPUS; n++)
		for (unsigned taken = 1; taken <= n; taken++) {
			struct us_backend *b = open_started(n, 1000);
			struct us_capture c;
			for (unsigned i = 0; i < taken; i++) {
				take(b, &c);
				b->ops->release(b, &c);
			}
			if (taken % 2)
				us_backend_let_go(b);
			else
				assert_int_equal(b->ops->start(b, &s, NULL), 0);
			assert_int_equal(atomic_load(&fake_xen->paused), 0);
			assert_int_equal(b->ops->start(b, &s, NULL), 0);
			take(b, &c);
			assert_int_equal(c.state, US_VCPU_GUEST);
			b->ops->release(b, &c);
			close_it(b);
			assert_int_equal(atomic_load(&fake_xen->paused), 0);
			assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
		}
}

static void what_is_not_understood_is_refused(void **state)
{
	(void)state;
	static const struct us_xen_guest guest = { .domain = { .id = FAKE_DOMAIN } };
	static const struct us_xen_guest other = { .domain = { .id = 1 } };
	struct us_target t = { .xen = &guest, .xen_calls = &fake_calls };
	struct us_backend *b = NULL;
	struct us_err e;
	fake_setup(1);
	fake_xen->width = 32;
	assert_int_equal(us_backend_open(&t, NULL, &b, NULL, 0, &e), -ENOTSUP);
	assert_non_null(strstr(e.msg, "32-bit"));
	fake_xen->domain.n_vcpu = 0;
	assert_int_equal(us_backend_open(&t, "xen", &b, NULL, 0, &e), -ENOTSUP);
	fake_xen->domain.n_vcpu = US_MAX_VCPUS + 1;
	assert_int_equal(us_backend_open(&t, "xen", &b, NULL, 0, &e), -ENOTSUP);
	t.xen = &other;
	assert_int_equal(us_backend_open(&t, "xen", &b, NULL, 0, &e), -ESRCH);
	t.xen = NULL;
	assert_int_equal(us_backend_open(&t, "xen", &b, NULL, 0, &e), -ENODEV);
}

/* A close in mid pause, as after an error or a signal, lets it go as well. */
static void close_lets_go(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_capture c;
	take(b, &c);
	assert_int_equal(atomic_load(&fake_xen->paused), 1);
	close_it(b);
	assert_int_equal(atomic_load(&fake_xen->paused), 0);
	assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_nsec = (long)ns };
	nanosleep(&t, NULL);
}

/* Samples as fast as it can until it is killed. */
static _Noreturn void sample_for_ever(bool hold)
{
	is_child = true;
	struct us_backend *b = open_started(2, 100000);
	struct us_capture c;
	for (;;) {
		take(b, &c);
		while (hold)
			pause();
		b->ops->release(b, &c);
	}
}

static void a_kill_lets_the_domain_go(void **state)
{
	(void)state;
	/* Its watchdog then becomes our child: one that still runs would take the next
	 * one's pause for its own. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (int i = 0; i < 100; i++) {
		bool hold = i % 2;
		fake_setup(2);
		pid_t child = fork();
		assert_true(child >= 0);
		if (!child)
			sample_for_ever(hold);
		while (!atomic_load(&fake_xen->n_pause) ||
		       (hold && !atomic_load(&fake_xen->paused))) {
			assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
			sleep_ns(US_NS_PER_MS / 5);
		}
		sleep_ns((uint64_t)(i * 7919 % 1000) * 1000);
		kill(child, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0)
			;
		assert_int_equal(atomic_load(&fake_xen->paused), 0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(the_end_of_a_domain_is_told),
		TEST(a_suspended_domain_goes_on),
		TEST(a_paused_domain_stays_paused),
		TEST(pauses_nest),
		TEST(close_lets_go),
		TEST(a_new_start_lets_go),
		TEST(what_is_not_understood_is_refused),
		TEST(a_kill_lets_the_domain_go),
	};
	/* A Xen, or its policy, that refuses many calls in one. */
	if (argc > 1 && !strcmp(argv[1], "refuses"))
		fake_sample_code = -EPERM;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
