/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sleep of a vCPU's thread is counted as when it sleeps in the VMM. */
#include "unit.h"

#include "backend/bpf/vcpu_clock.h"
#include "base/clock.h"

#include <errno.h>
#include <linux/kvm.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const struct us_bpf_timer no_timer;

/* A thread in the place of a vCPU's: it waits, for events or not. */
static pid_t start(bool events)
{
	pid_t pid = fork();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!pid)
		if (events)
			poll(NULL, 0, -1);
		else
			pause();
	return pid;
}

static void wait_until_asleep(struct us_kvm_thread *t)
{
	enum us_kvm_asleep asleep;
	for (int i = 0; i < 10000; i++, usleep(1000))
		if (us_kvm_thread_peek(t, &asleep) == US_KVM_ASLEEP && t->same_place)
			break;
	assert_true(t->same_place);
}

/* Which state the time of its sleep is of; run: what KVM tells, or NULL. */
static enum us_vcpu_state slept_as(bool events, const struct kvm_run *run)
{
	static const uint8_t states[] = { US_VCPU_HALTED, US_VCPU_OFF, US_VCPU_EXIT };
	struct us_vcpu_clock c;
	struct us_err e;
	enum us_vcpu_state found = US_N_VCPU_STATE;
	pid_t pid = start(events);
	struct us_vcpu which = { .tid = pid, .fd = -1 };
	if (us_vcpu_clock_open(&c, pid, &which, &no_timer, &e))
		fail_msg("%s", e.msg);
	assert_null(c.run); /* it has no vCPU */
	wait_until_asleep(&c.thread);
	c.run = run;
	us_vcpu_clock_start(&c, us_now_ns() - US_NS_PER_SEC);
	/* On a busy host what was read took too long, and the next time counts. */
	for (int i = 0; i < 100 && found == US_N_VCPU_STATE; i++) {
		us_vcpu_clock_settle(&c, us_now_ns(), US_NS_PER_MS, true);
		for (size_t k = 0; k < sizeof(states); k++)
			if (us_vcpu_clock_take(&c, states[k], US_NS_PER_MS))
				found = states[k];
	}
	c.run = NULL;
	us_vcpu_clock_close(&c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return found;
}

static enum us_vcpu_state slept_after(bool events, uint32_t exit_reason)
{
	struct kvm_run run = { .exit_reason = exit_reason };
	return slept_as(events, &run);
}

/* It asked the VMM to wait, as Solo5's unikernels do. */
static void a_wait_for_events_is_idle(void **state)
{
	(void)state;
	assert_int_equal(slept_after(true, KVM_EXIT_IO), US_VCPU_HALTED);
	assert_int_equal(slept_after(true, KVM_EXIT_MMIO), US_VCPU_HALTED);
	assert_int_equal(slept_as(true, NULL), US_VCPU_HALTED);
}

static void a_halt_that_the_vmm_waits_for_is_idle(void **state)
{
	(void)state;
	assert_int_equal(slept_after(false, KVM_EXIT_HLT), US_VCPU_HALTED);
}

static void a_pause_is_off(void **state)
{
	(void)state;
	assert_int_equal(slept_after(false, KVM_EXIT_INTR), US_VCPU_OFF);
	assert_int_equal(slept_after(false, KVM_EXIT_IO), US_VCPU_OFF);
	assert_int_equal(slept_as(false, NULL), US_VCPU_OFF);
	assert_int_equal(slept_after(true, KVM_EXIT_SHUTDOWN), US_VCPU_OFF);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_for_events_is_idle),
		cmocka_unit_test(a_halt_that_the_vmm_waits_for_is_idle),
		cmocka_unit_test(a_pause_is_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
