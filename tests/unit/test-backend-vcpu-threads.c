/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that works is told from one that sleeps; an unknown one is neither. */
#include "unit.h"

#include "backend/vcpu_threads.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child(bool works)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A name that tries to look like the field behind it. */
	prctl(PR_SET_NAME, works ? "x) S 1" : "x) R 1");
	for (;;)
		if (!works)
			pause();
}

/* The state settles soon after the fork; which it then keeps. */
static bool settles(const struct us_vcpu_threads *t, uint64_t want)
{
	for (int i = 0; i < 500; i++) {
		if (us_vcpu_threads_busy(t) == want)
			return true;
		usleep(10000);
	}
	return false;
}

static void one(bool works)
{
	static struct us_guest g;
	static struct us_vcpu_threads t;
	memset(&g, 0, sizeof(g));
	pid_t pid = child(works);
	assert_true(pid > 0);
	g.pid = pid;
	g.n_vcpu = 2; /* the first one's thread is not known */
	g.vcpu[1].tid = pid;
	us_vcpu_threads_open(&t, &g);
	assert_true(settles(&t, works ? 2 : 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(us_vcpu_threads_busy(&t), 0); /* gone */
	us_vcpu_threads_close(&t);
}

static void works(void **state)
{
	(void)state;
	one(true);
}

static void sleeps(void **state)
{
	(void)state;
	one(false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(works),
		cmocka_unit_test(sleeps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
