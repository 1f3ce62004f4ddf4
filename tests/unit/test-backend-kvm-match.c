/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread of a vCPU is found, and no thread stays stopped, however late it stops. */
#include "unit.h"

#include "backend/kvm/match.h"
#include "backend/kvm/thread.h"
#include "base/clock.h"
#include "mini-vmm.h"
#include "qemu.h"

static const uint8_t port_code[] = { 0xe6, 0x80, 0xeb, 0xfc }; /* 1: out; jmp 1b */

static uint64_t deaf_until_ns;

pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

/* Until then no stop is noticed, as if the threads had no CPU to stop on. */
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	if (options & WNOHANG && us_now_ns() < deaf_until_ns)
		return 0;
	return __real_waitpid(pid, status, options);
}

struct rig {
	struct mini_vmm vmm;
	struct us_kvm_match match;
	struct us_guest *g;
	struct us_err e;
};

static void rig_start(struct rig *r, uint64_t deaf_ms)
{
	if (!have_kvm())
		skip();
	deaf_until_ns = 0;
	mini_start(&r->vmm, port_code, sizeof(port_code));
	r->match = (struct us_kvm_match){ 0 };
	r->g = calloc(1, sizeof(*r->g));
	assert_non_null(r->g);
	r->g->pid = r->vmm.pid;
	r->g->n_vcpu = 1;
	r->g->vcpu[0].fd = r->vmm.shared->vcpu_fd;
	deaf_until_ns = us_now_ns() + deaf_ms * US_NS_PER_MS;
}

static void rig_stop(struct rig *r)
{
	deaf_until_ns = 0;
	us_kvm_match_close(&r->match, r->g);
	free(r->g);
	mini_stop(&r->vmm);
}

static void assert_goes_on(const struct rig *r)
{
	int before = r->vmm.shared->exits;
	for (int i = 0; i < 10000 && r->vmm.shared->exits - before < 10; i++)
		usleep(1000);
	assert_true(r->vmm.shared->exits - before >= 10);
}

/* On a busy host the thread may get no CPU in all that time. */
static void match(struct rig *r)
{
	for (int i = 0; !r->g->vcpu[0].tid && i < 100; i++)
		assert_int_equal(us_kvm_match_threads(&r->match, r->g, &r->e), 0);
	assert_int_equal(r->g->vcpu[0].tid, r->vmm.pid);
}

static void settle(struct rig *r)
{
	for (int i = 0; us_kvm_match_settle(&r->match, r->g) && i < 10000; i++)
		usleep(1000);
	assert_int_equal(r->match.n_asked, 0);
}

static void threads_are_matched(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, 0);
	match(&r);
	r.g->vcpu[0].fd = 0;
	r.g->vcpu[0].tid = 0;
	assert_int_equal(us_kvm_match_threads(&r.match, r.g, &r.e), 0);
	assert_int_equal(r.g->vcpu[0].tid, 0);
	settle(&r);
	assert_goes_on(&r);
	rig_stop(&r);
}

static void a_late_stop_is_an_answer(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, 1000); /* later than a stop is waited for before the next */
	match(&r);
	settle(&r);
	assert_goes_on(&r);
	rig_stop(&r);
}

static void a_very_late_stop_is_ended(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, 60000);
	assert_int_equal(us_kvm_match_threads(&r.match, r.g, &r.e), 0);
	assert_int_equal(r.g->vcpu[0].tid, 0);
	assert_int_equal(r.match.n_asked, 1);
	deaf_until_ns = 0;
	settle(&r);
	assert_goes_on(&r);
	rig_stop(&r);
}

static void the_end_waits_for_late_stops(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, 60000);
	us_kvm_match_again(&r.match, r.g);
	assert_int_equal(r.match.n_asked, 1);
	deaf_until_ns = us_now_ns() + 100 * US_NS_PER_MS;
	us_kvm_match_close(&r.match, r.g);
	assert_goes_on(&r);
	rig_stop(&r);
}

/* A VMM that was killed while its thread was held can be reaped. */
static void a_killed_thread_is_reaped(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, 60000);
	us_kvm_match_again(&r.match, r.g);
	kill(r.vmm.pid, SIGKILL);
	deaf_until_ns = 0;
	settle(&r);
	assert_int_equal(waitpid(r.vmm.pid, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
	free(r.g);
	munmap(r.vmm.shared, 4096);
}

static void start_with_copy(struct rig *r, const uint8_t *code, size_t len)
{
	if (!have_kvm())
		skip();
	deaf_until_ns = 0;
	*r = (struct rig){ 0 };
	mini_start_as(&r->vmm, (struct mini_layout){ .copies = true }, code, len);
	r->g = calloc(1, sizeof(*r->g));
	assert_non_null(r->g);
	for (int i = 0; i < 1000 && !r->g->vcpu[0].n_more_fd; i++) {
		usleep(1000);
		assert_int_equal(us_guest_inspect(r->vmm.pid, r->g, &r->e), 0);
	}
	assert_int_equal(r->g->n_vcpu, 1);
	assert_false(r->g->several);
	assert_int_equal(r->g->vcpu[0].fd, r->vmm.shared->vcpu_fd);
	assert_int_equal(r->g->vcpu[0].n_more_fd, 1);
	assert_false(us_vcpu_has_fd(&r->g->vcpu[0], -1));
	r->g->vcpu[0].tid = 0; /* was known, as the only thread */
}

/* A VMM may run a vCPU by any of its descriptors. */
static void a_copied_descriptor_is_the_vcpu(void **state)
{
	static const uint8_t halt_code[] = { 0xf4, 0xeb, 0xfd }; /* 1: hlt; jmp 1b */
	(void)state;
	struct rig r;
	struct us_kvm_thread t;
	enum us_kvm_asleep asleep = US_KVM_IN_VMM;
	start_with_copy(&r, port_code, sizeof(port_code));
	match(&r);
	assert_goes_on(&r);
	rig_stop(&r);

	start_with_copy(&r, halt_code, sizeof(halt_code));
	match(&r);
	assert_int_equal(us_kvm_thread_open(&t, r.vmm.pid, &r.g->vcpu[0], &r.e), 0);
	for (int i = 0; i < 5000 && asleep != US_KVM_IN_RUN; i++) {
		usleep(1000);
		us_kvm_thread_peek(&t, &asleep);
	}
	assert_int_equal(asleep, US_KVM_IN_RUN);
	us_kvm_thread_close(&t);
	rig_stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_matched),
		cmocka_unit_test(a_late_stop_is_an_answer),
		cmocka_unit_test(a_very_late_stop_is_ended),
		cmocka_unit_test(the_end_waits_for_late_stops),
		cmocka_unit_test(a_killed_thread_is_reaped),
		cmocka_unit_test(a_copied_descriptor_is_the_vcpu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
