/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bpf backend and its VMM in a PID namespace of their own, as in a container. */
#include "bpf-run.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

static int no_namespace; /* errno, if there is none */

static void must_be_inside(void)
{
	if (no_namespace) {
		print_message("# SKIP a PID namespace: %s\n", strerror(no_namespace));
		skip();
	}
	must_be_possible();
}

/* The first is busy all the time, in threads whose names do not tell a vCPU. */
static void must_be_busy(struct mini_layout l, unsigned n_vcpu)
{
	static struct us_capture c;
	struct run r;
	unsigned looks = 0;
	begin_as(&r, l, pushes, sizeof(pushes), 500);
	assert_int_equal(r.b->n_vcpu, n_vcpu);
	for (uint64_t end = us_now_ns() + 20 * SECOND; looks < 20;) {
		assert_true(us_now_ns() < end);
		if (r.b->ops->next(r.b, end, &c) != 1)
			continue;
		assert_true(c.vcpu || c.state != US_VCPU_OFF);
		looks += c.vcpu == 0 && c.form == US_CAPTURE_WINDOW;
		r.b->ops->release(r.b, &c);
	}
	end(&r);
}

static void a_busy_vcpu_is_found(void **state)
{
	(void)state;
	must_be_inside();
	must_be_busy((struct mini_layout){ 0 }, 1);
}

static void one_that_sleeps_does_not_hide_it(void **state)
{
	(void)state;
	must_be_inside();
	must_be_busy((struct mini_layout){ .unstarted = true }, 2);
}

static int run_inside(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_vcpu_is_found),
		cmocka_unit_test(one_that_sleeps_does_not_hide_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Without LeakSanitizer's search, which finds no threads in another namespace. */
static _Noreturn void end_now(int status)
{
	fflush(NULL);
	_exit(status);
}

int main(void)
{
	int status = 0;
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0) {
		no_namespace = errno;
		return run_inside();
	}
	pid_t first = fork();
	if (first == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("proc", "/proc", "proc", 0, NULL) < 0)
			no_namespace = errno;
		end_now(run_inside());
	}
	waitpid(first, &status, 0);
	end_now(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
