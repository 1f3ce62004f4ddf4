/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote-tests.h: what must hold of the gdb and of the qmp backend alike: on real QEMU,
 * and of a peer that is held too long.  Each test gets its struct remote as state.
 */
#ifndef US_TEST_REMOTE_TESTS_H
#define US_TEST_REMOTE_TESTS_H

#include "remote.h"
#include "terminal.h"

struct remote {
	const struct us_backend_ops *ops;
	bool is_monitor;     /* else a stub */
	const char *how;     /* that us_backend.how mentions */
	const char *by_peer; /* the same if the peer reads memory */
	const char *refused; /* what a second one is told */
	/* A peer of the test's own; behaviour 0 is a good one. */
	void (*serve)(int fd, struct peer_page *page, int behaviour);
};

static inline struct us_target remote_target_of(const struct remote *m,
						const char *path)
{
	struct us_target t = { 0 };
	snprintf(m->is_monitor ? t.qmp : t.gdb, US_ENDPOINT_SIZE, "%s", path);
	return t;
}

static inline struct us_target target_in(const struct remote *m, const struct rig *r)
{
	return remote_target_of(m, m->is_monitor ? r->qemu.qmp : r->gdb);
}

/* Real guests. */

static inline void samples_well(const struct remote *m, bool kvm, unsigned smp,
				unsigned n)
{
	struct rig r;
	unsigned state[US_N_VCPU_STATE];
	if (!rig_start(&r, kvm, smp, false))
		skip();
	load_functions();
	struct us_target t = target_in(m, &r);
	struct us_backend *b = open_backend(m->ops, &t);
	assert_int_equal(b->n_vcpu, smp);
	assert_int_equal(!(b->caps & US_CAP_BLOCKS), kvm);
	assert_non_null(strstr(b->how, m->how));
	assert_non_null(strstr(b->how, "process_vm_readv"));
	assert_int_equal(sample(b, 200, n, state), 0);
	assert_int_equal(state[US_VCPU_GUEST], n);
	us_backend_close(b);
	expect_status(&r, "running");
	assert_true(goes_on(&r));
	/* The next one is taken. */
	b = open_backend(m->ops, &t);
	us_backend_close(b);
	assert_true(goes_on(&r));
	rig_stop(&r);
}

static inline void samples_tcg(void **state)
{
	samples_well(*state, false, 1, 150);
}

static inline void samples_tcg_smp(void **state)
{
	samples_well(*state, false, 2, 150);
}

static inline void samples_kvm(void **state)
{
	samples_well(*state, true, 1, 75);
}

static inline void samples_kvm_smp(void **state)
{
	samples_well(*state, true, 2, 75);
}

static inline void one_vcpu_of_two(void **state)
{
	const struct remote *m = *state;
	struct rig r;
	struct us_err e;
	struct us_schedule s = { .hz = 200, .seed = 1, .vcpu_mask = 2 };
	static struct us_capture c;
	if (!rig_start(&r, false, 2, false))
		skip();
	struct us_target t = target_in(m, &r);
	struct us_backend *b = open_backend(m->ops, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(b->ops->next(b, us_now_ns() + 9 * US_NS_PER_SEC, &c),
				 1);
		assert_int_equal(c.vcpu, 1);
		b->ops->release(b, &c);
	}
	s.vcpu_mask = 4;
	assert_int_equal(b->ops->start(b, &s, &e), -EINVAL);
	us_backend_close(b);
	assert_true(goes_on(&r));
	rig_stop(&r);
}

/* The VMM is not on this host, or may not be read: the peer shows memory. */
static inline void memory_by_the_peer(void **state)
{
	const struct remote *m = *state;
	struct rig r;
	unsigned states[US_N_VCPU_STATE];
	if (!rig_start(&r, false, 1, false))
		skip();
	load_functions();
	struct us_target t = target_in(m, &r);
	struct us_guest stranger = { .pid = 0 };
	t.guest = &stranger;
	struct us_backend *b = open_backend(m->ops, &t);
	assert_non_null(strstr(b->how, m->by_peer));
	assert_int_equal(b->caps & US_CAP_BLOCKS, US_CAP_BLOCKS);
	assert_int_equal(sample(b, 100, 60, states), 0);
	us_backend_close(b);
	assert_true(goes_on(&r));
	rig_stop(&r);
}

static inline void paused_guest_stays_paused(void **state)
{
	const struct remote *m = *state;
	struct rig r;
	unsigned states[US_N_VCPU_STATE];
	if (!rig_start(&r, false, 2, true))
		skip();
	struct us_target t = target_in(m, &r);
	/* A stub with a monitor beside it, too. */
	for (int with_qmp = m->is_monitor; with_qmp < 2; with_qmp++) {
		if (with_qmp)
			strcpy(t.qmp, r.qemu.qmp);
		struct us_backend *b = open_backend(m->ops, &t);
		sample(b, 100, 10, states);
		assert_int_equal(states[US_VCPU_OFF], 10);
		us_backend_close(b);
		expect_status(&r, "prelaunch");
	}
	profile_and_kill(m->ops, &t, 1);
	usleep(300000);
	expect_status(&r, "prelaunch");
	rig_stop(&r);
}

/* A guest whose owner has a monitor of their own. */
static inline bool rig_start_owned(const struct remote *m, struct rig *r,
				   struct us_target *t)
{
	char second[64];
	if (!rig_start_with(r, false, 1, false,
			    " -chardev socket,id=c,path=%s/qmp2,server=on,wait=off"
			    " -mon chardev=c,mode=control"))
		return false;
	snprintf(second, sizeof(second), "%s/qmp2", r->qemu.dir);
	*t = m->is_monitor ? remote_target_of(m, second) : target_in(m, r);
	return true;
}

static inline void owner_pauses_and_resumes(void **state)
{
	const struct remote *m = *state;
	struct rig r;
	struct us_err e;
	struct us_target t;
	struct us_schedule s = { .hz = 100, .seed = 1 };
	if (!rig_start_owned(m, &r, &t))
		skip();
	struct us_backend *b = open_backend(m->ops, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	assert_true(reaches(b, US_VCPU_GUEST));
	command(&r, "stop");
	assert_true(reaches(b, US_VCPU_OFF));
	expect_status(&r, "paused");
	command(&r, "cont");
	assert_true(reaches(b, US_VCPU_GUEST));
	assert_true(goes_on(&r));
	command(&r, "stop");
	assert_true(reaches(b, US_VCPU_OFF));
	us_backend_close(b);
	expect_status(&r, "paused");
	rig_stop(&r);
}

static inline void resumed_at_any_moment(void **state)
{
	const struct remote *m = *state;
	struct rig r;
	struct us_target t;
	if (!rig_start_owned(m, &r, &t))
		skip();
	struct us_backend *b = open_backend(m->ops, &t);
	sample_while_resumed(&r, b);
	us_backend_close(b);
	assert_true(goes_on(&r));
	expect_status(&r, "running");
	rig_stop(&r);
}

static inline void qemu_is_killed(void **state)
{
	const struct remote *m = *state;
	struct rig r;
	struct us_err e = { 0 };
	struct us_schedule s = { .hz = 100, .seed = 1 };
	static struct us_capture c;
	if (!rig_start(&r, false, 1, false))
		skip();
	struct us_target t = target_in(m, &r);
	struct us_backend *b = open_backend(m->ops, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	assert_int_equal(b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c), 1);
	kill(r.qemu.pid, SIGKILL);
	waitpid(r.qemu.pid, NULL, 0);
	r.qemu.pid = 0;
	b->ops->release(b, &c);
	int code = b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c);
	assert_int_equal(code, -ESRCH);
	b->ops->explain(b, code, &e);
	assert_non_null(strstr(e.msg, "has ended"));
	us_backend_close(b);
	rig_stop(&r);
}

/* It gets no CPU, or its disk is busy, for longer than is waited for an answer: what
 * is asked then it does afterwards, and nobody may have gone by then. */
static inline void vmm_stalls(void **state)
{
	static const unsigned stall_ms[] = { 2700, 3400 };
	static struct us_capture c;
	const struct us_schedule s = { .hz = 500, .seed = 1 };
	const struct remote *m = *state;
	struct us_err e;
	struct rig r;
	if (!rig_start(&r, false, 1, false))
		skip();
	struct us_target t = target_in(m, &r);
	for (size_t i = 0; i < sizeof(stall_ms) / sizeof(*stall_ms); i++) {
		struct us_backend *b = open_backend(m->ops, &t);
		assert_int_equal(b->ops->start(b, &s, &e), 0);
		uint64_t end_ns = us_now_ns() + (stall_ms[i] + 1000) * US_NS_PER_MS;
		pid_t pid = qemu_stall(&r.qemu, stall_ms[i]);
		int got = 1;
		while (got >= 0 && us_now_ns() < end_ns) {
			got = b->ops->next(b, end_ns, &c);
			if (got == 1)
				b->ops->release(b, &c);
		}
		us_backend_close(b);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_true(goes_on(&r));
	}
	rig_stop(&r);
}

/* From a moment on at which we hold the guest until we are about to give up. */
static inline void vmm_stalls_while_held(void **state)
{
	static struct us_capture c;
	const struct us_schedule s = { .hz = 500, .seed = 1 };
	const struct remote *m = *state;
	struct us_err e;
	struct rig r;
	if (!rig_start(&r, false, 1, false))
		skip();
	struct us_target t = target_in(m, &r);
	struct us_backend *b = open_backend(m->ops, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	assert_int_equal(b->ops->next(b, us_now_ns() + 9 * US_NS_PER_SEC, &c), 1);
	pid_t pid = qemu_stall_after(&r.qemu, 0, 3250);
	usleep(100000);
	b->ops->release(b, &c);
	us_backend_close(b);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(goes_on(&r));
	rig_stop(&r);
}

static inline void second_one_is_refused(void **state)
{
	const struct remote *m = *state;
	struct rig r;
	struct us_err e = { 0 };
	struct us_backend *b, *second = NULL;
	if (!rig_start(&r, false, 1, false))
		skip();
	struct us_target t = target_in(m, &r);
	b = open_backend(m->ops, &t);
	assert_int_equal(m->ops->open(&t, &second, &e), -EBUSY);
	if (!strstr(e.msg, m->refused))
		fail_msg("refused by: %s", e.msg);
	assert_true(e.hint[0]);
	assert_true(goes_on(&r));
	us_backend_close(b);
	assert_true(goes_on(&r));
	rig_stop(&r);
}

static inline void nothing_is_allocated(void **state)
{
	const struct remote *m = *state;
	struct rig r;
	struct us_err e;
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	static struct us_capture c;
	if (!rig_start(&r, false, 2, false))
		skip();
	struct us_target t = target_in(m, &r);
	struct us_backend *b = open_backend(m->ops, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	unsigned before = atomic_load(&allocations);
	assert_true(before > 0);
	for (int i = 0; i < 100; i++) {
		us_gva pc[16];
		assert_int_equal(b->ops->next(b, us_now_ns() + 9 * US_NS_PER_SEC, &c),
				 1);
		callers(b, &c.regs, pc, 16);
		b->ops->release(b, &c);
	}
	assert_int_equal(atomic_load(&allocations), before);
	us_backend_close(b);
	rig_stop(&r);
}

/* An invented peer: a consumer keeps its guest, the watchdog lets it go, and the
 * backend knows. */
static inline void watchdog_ends_a_long_hold(void **state)
{
	const struct remote *m = *state;
	struct peer p;
	static struct us_capture c;
	struct us_err e = { 0 };
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	peer_start(&p, m->serve, 0);
	struct us_target t = remote_target_of(m, p.path);
	struct us_backend *b = open_backend(m->ops, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	assert_int_equal(b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c), 1);
	assert_false(atomic_load(&p.page->running));
	for (int i = 0; i < 1000 && !atomic_load(&p.page->running); i++)
		usleep(10000);
	assert_true(atomic_load(&p.page->running));
	b->ops->release(b, &c);
	assert_int_equal(b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c),
			 -ECONNRESET);
	b->ops->explain(b, -ECONNRESET, &e);
	assert_non_null(strstr(e.msg, "watchdog"));
	us_backend_close(b);
	peer_stop(&p);
}

/* The guest ran while the terminal had stopped us: that time was not taken from it. */
static inline void a_terminals_stop_takes_nothing(void **state)
{
	const struct remote *m = *state;
	struct peer p;
	static struct us_capture c;
	struct us_backend_counts counts;
	struct us_err e = { 0 };
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	peer_start(&p, m->serve, 0);
	struct us_target t = remote_target_of(m, p.path);
	struct us_backend *b = open_backend(m->ops, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	assert_int_equal(b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c), 1);
	pid_t terminal = terminal_stop();
	assert_false(atomic_load(&p.page->running));
	b->ops->release(b, &c);
	terminal_continued(terminal);
	assert_true(atomic_load(&p.page->running));
	b->ops->counts(b, &counts);
	assert_true(counts.stolen_ns < TERMINAL_STOP_NS / 2);
	assert_true(c.held_ns < TERMINAL_STOP_NS / 2);
	us_backend_close(b);
	peer_stop(&p);
}

#define REMOTE_TEST(f, remote) cmocka_unit_test_prestate(f, (void *)(remote))
#define REMOTE_TESTS(remote)                                                           \
	REMOTE_TEST(watchdog_ends_a_long_hold, remote),                                \
		REMOTE_TEST(a_terminals_stop_takes_nothing, remote),                   \
		REMOTE_TEST(samples_tcg, remote),                                      \
		REMOTE_TEST(samples_tcg_smp, remote),                                  \
		REMOTE_TEST(samples_kvm_smp, remote),                                  \
		REMOTE_TEST(one_vcpu_of_two, remote),                                  \
		REMOTE_TEST(memory_by_the_peer, remote),                               \
		REMOTE_TEST(nothing_is_allocated, remote),                             \
		REMOTE_TEST(paused_guest_stays_paused, remote),                        \
		REMOTE_TEST(owner_pauses_and_resumes, remote),                         \
		REMOTE_TEST(resumed_at_any_moment, remote),                            \
		REMOTE_TEST(vmm_stalls, remote),                                       \
		REMOTE_TEST(vmm_stalls_while_held, remote),                            \
		REMOTE_TEST(second_one_is_refused, remote),                            \
		REMOTE_TEST(qemu_is_killed, remote)

#endif
