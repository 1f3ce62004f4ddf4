/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vCPU whose thread sleeps: why it does, and that one that sleeps where nothing stops
 * it is not left stopped.  Other processes are in the places of VMMs. */
#include "unit.h"

#include "backend/kvm/vcpu.h"
#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void lines_of_waits(void **state)
{
	(void)state;
	assert_true(us_kvm_awaits_events("7 0x7ffd 0x1 0xffffffff\n")); /* poll */
	assert_true(
		us_kvm_awaits_events("281 0x4 0x7f00 0x1 0xffff\n")); /* epoll_pwait */
	assert_false(us_kvm_awaits_events("0 0x3 0x7ffd 0x1\n"));     /* read */
	assert_false(us_kvm_awaits_events("202 0x7f00 0x80\n"));      /* futex */
	assert_false(us_kvm_awaits_events("-1 0x7ffd 0x7f00\n"));
	assert_false(us_kvm_awaits_events("running\n"));
	assert_false(us_kvm_awaits_events(""));
}

/* For ever, in one of the system calls that wait for events, or in others. */
static _Noreturn void wait_in(int call)
{
	struct timeval hour = { .tv_sec = 3600 };
	struct epoll_event event;
	int epoll = epoll_create1(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		switch (call) {
		case 0:
			poll(NULL, 0, -1);
			break;
		case 1:
			epoll_pwait(epoll, &event, 1, -1, NULL);
			break;
		case 2:
			select(0, NULL, NULL, NULL, &hour);
			break;
		default:
			pause();
		}
}

/* By the reason of its last exit, at the first peek and when it is still there. */
static void assert_asleep_as(struct us_kvm_vcpu *v, uint32_t reason,
			     enum us_vcpu_state first, enum us_vcpu_state then)
{
	enum us_vcpu_state s = US_N_VCPU_STATE;
	v->run->exit_reason = reason;
	v->thread.asleep_in[0] = '\0';
	assert_int_equal(us_kvm_vcpu_peek(v, &s), US_KVM_ASLEEP);
	assert_int_equal(s, first);
	assert_int_equal(us_kvm_vcpu_peek(v, &s), US_KVM_ASLEEP);
	assert_int_equal(s, then);
}

/* A guest that asks its VMM to wait (Solo5) is idle; what else its VMM does is not. */
static void a_wait_in_the_vmm_is_idle(void **state)
{
	(void)state;
	static struct kvm_run run;
	for (int call = 0; call < 4; call++) {
		struct us_kvm_vcpu v = { .run = &run };
		struct us_err e;
		enum us_vcpu_state waits = call < 3 ? US_VCPU_HALTED : US_VCPU_EXIT, s;
		pid_t pid = fork();
		if (!pid)
			wait_in(call);
		struct us_vcpu which = { .tid = pid, .fd = 3 };
		assert_int_equal(us_kvm_thread_open(&v.thread, pid, &which, &e), 0);
		for (int i = 0; i < 10000; i++, usleep(1000)) /* until it is there */
			if (us_kvm_vcpu_peek(&v, &s) == US_KVM_ASLEEP &&
			    v.thread.same_place)
				break;
		assert_asleep_as(&v, KVM_EXIT_IO, waits, waits);
		assert_asleep_as(&v, KVM_EXIT_MMIO, waits, waits);
		assert_asleep_as(&v, KVM_EXIT_HYPERCALL, waits, waits);
		assert_asleep_as(&v, KVM_EXIT_HLT, US_VCPU_HALTED, US_VCPU_HALTED);
		assert_asleep_as(&v, KVM_EXIT_INTR, US_VCPU_EXIT, US_VCPU_OFF);
		assert_asleep_as(&v, KVM_EXIT_SHUTDOWN, US_VCPU_OFF, US_VCPU_OFF);
		us_kvm_thread_close(&v.thread);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* It is asked once whether it was ever started, and if not, when it has run since. */
static void an_unstarted_vcpu_is_asked_again_when_it_has_run(void **state)
{
	(void)state;
	struct us_kvm_vcpu v = { .asleep_ns = 5 };
	assert_true(us_kvm_vcpu_asks_start(&v));
	us_kvm_vcpu_note_start(&v, true);
	assert_true(v.unstarted);
	v.asleep_ns = 7; /* it had to run to stop */
	assert_false(us_kvm_vcpu_asks_start(&v));
	assert_false(us_kvm_vcpu_asks_start(&v));
	v.asleep_ns = 9;
	assert_true(us_kvm_vcpu_asks_start(&v));
	us_kvm_vcpu_note_start(&v, false);
	assert_false(v.unstarted);
	for (; v.asleep_ns < 20; v.asleep_ns++)
		assert_false(us_kvm_vcpu_asks_start(&v));
	v = (struct us_kvm_vcpu){ .seen = true, .asleep_ns = 5 };
	assert_false(us_kvm_vcpu_asks_start(&v));   /* it ran when it was sampled */
	v = (struct us_kvm_vcpu){ .asleep_ns = 0 }; /* a kernel without these sums */
	us_kvm_vcpu_note_start(&v, true);
	assert_false(v.unstarted);
}

/* One that sleeps in the kernel, where ptrace does not stop it: its child has not yet
 * called execve(). */
static pid_t start_deaf(int *ret_end)
{
	int end[2];
	assert_int_equal(pipe(end), 0);
	pid_t pid = fork();
	if (!pid) {
		char c;
		close(end[1]);
		if (!vfork()) /* NOLINT: that the parent waits is the point */
			_exit((int)syscall(SYS_read, end[0], &c, 1));
		for (;;)
			pause();
	}
	close(end[0]);
	*ret_end = end[1];
	usleep(200000); /* until it is there */
	return pid;
}

static void a_thread_that_does_not_stop_is_left(void **state)
{
	(void)state;
	static struct kvm_run run;
	struct us_kvm_vcpu v = {
		.run = &run,
		.thread = { .syscall_fd = -1, .stat_fd = -1, .schedstat_fd = -1 },
	};
	int end;
	v.tid = start_deaf(&end);
	us_kvm_patience_open(&v.patience);
	uint64_t begun = us_now_ns();
	alarm(60); /* it used to wait for ever */
	assert_int_equal(us_kvm_vcpu_stop(&v), -EINTR);
	alarm(0);
	assert_in_range(us_now_ns() - begun, 150 * US_NS_PER_MS, 50 * US_NS_PER_SEC);
	assert_int_equal(v.hold, US_KVM_ASKED);
	us_kvm_vcpu_settle(&v);
	assert_int_equal(v.hold, US_KVM_ASKED);
	close(end); /* it stops now, and goes on */
	for (int i = 0; v.hold != US_KVM_FREE && i < 10000; i++) {
		us_kvm_vcpu_settle(&v);
		usleep(1000);
	}
	assert_int_equal(v.hold, US_KVM_FREE);
	us_kvm_patience_close(&v.patience);
	kill(v.tid, SIGKILL);
	waitpid(v.tid, NULL, 0);
}

/* Also when uniscope has detached by then, and does something else. */
static void a_stop_after_the_end_is_ended(void **state)
{
	(void)state;
	struct us_kvm_vcpu v = {
		.run = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		.thread = { .syscall_fd = -1, .stat_fd = -1, .schedstat_fd = -1 },
	};
	int end;
	char path[64], status[4096];
	pid_t pid = v.tid = start_deaf(&end);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	us_kvm_patience_open(&v.patience);
	assert_int_equal(us_kvm_vcpu_stop(&v), -EINTR);
	us_kvm_vcpu_close(&v);
	assert_true(us_read_file(AT_FDCWD, path, status, sizeof(status)) > 0);
	assert_null(strstr(status, "TracerPid:\t0\n"));
	close(end); /* it stops now */
	for (int i = 0; i < 3000; i++, usleep(10000))
		if (us_read_file(AT_FDCWD, path, status, sizeof(status)) > 0 &&
		    strstr(status, "TracerPid:\t0\n"))
			break;
	assert_non_null(strstr(status, "TracerPid:\t0\n"));
	assert_null(strstr(status, "State:\tt"));
	assert_null(strstr(status, "State:\tT"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_waits),
		cmocka_unit_test(a_wait_in_the_vmm_is_idle),
		cmocka_unit_test(an_unstarted_vcpu_is_asked_again_when_it_has_run),
		cmocka_unit_test(a_thread_that_does_not_stop_is_left),
		cmocka_unit_test(a_stop_after_the_end_is_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
