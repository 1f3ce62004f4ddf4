/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kvm backend and the threads of a VMM: which one runs a vCPU may not be known. */
#include "unit.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "mini-vmm.h"
#include "qemu.h"

#include <dirent.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#define SECOND US_NS_PER_SEC

/* sti; again: hlt; jmp again */
static const uint8_t halts[] = { 0xfb, 0xf4, 0xeb, 0xfd };
static const uint8_t spins[] = { 0xeb, 0xfe };
/* again: out 0x10, al; mov cx, 0x1000; loop $; jmp again */
static const uint8_t outs[] = { 0xe6, 0x10, 0xb9, 0x00, 0x10, 0xe2, 0xfe, 0xeb, 0xf7 };

struct run {
	struct mini_vmm vmm;
	struct us_guest guest;
	struct us_backend *b;
};

static void attach(struct run *r)
{
	static const struct us_schedule s = { .hz = 500, .seed = 1 };
	const struct us_target t = { .guest = &r->guest };
	struct us_err e;
	if (us_backend_open(&t, "kvm", &r->b, NULL, 0, &e) ||
	    r->b->ops->start(r->b, &s, &e))
		fail_msg("%s", e.msg);
}

static void begin_as(struct run *r, struct mini_layout l, const uint8_t *code,
		     size_t len)
{
	struct us_err e;
	if (!have_kvm())
		skip();
	mini_start_as(&r->vmm, l, code, len);
	while (l.halt_ms && !r->vmm.shared->halts)
		usleep(1000);
	if (us_guest_inspect(r->vmm.pid, &r->guest, &e))
		fail_msg("%s", e.msg);
	attach(r);
}

static void begin(struct run *r, struct mini_layout l, const uint8_t *code, size_t len)
{
	l.threads = true;
	begin_as(r, l, code, len);
}

static void end(struct run *r)
{
	us_backend_close(r->b);
	mini_stop(&r->vmm);
}

/* Samples of each state, in so much time. */
static void count(struct run *r, uint64_t ns, unsigned n[US_N_VCPU_STATE])
{
	struct us_capture c;
	memset(n, 0, US_N_VCPU_STATE * sizeof(*n));
	for (uint64_t until = us_now_ns() + ns; us_now_ns() < until;) {
		int got = r->b->ops->next(r->b, until, &c);
		if (got < 0) {
			struct us_err e;
			r->b->ops->explain(r->b, got, &e);
			fail_msg("%s", e.msg);
		}
		if (got != 1)
			continue;
		n[c.state]++;
		r->b->ops->release(r->b, &c);
	}
}

/* Nothing of it is in KVM_RUN for long enough to be seen there. */
static void a_guest_that_idles_in_its_vmm_is_attached_to(void **state)
{
	static struct run r;
	unsigned n[US_N_VCPU_STATE];
	(void)state;
	begin(&r, (struct mini_layout){ .halt_ms = INT_MAX }, halts, sizeof(halts));
	assert_int_equal(r.guest.vcpu[0].tid, 0);
	assert_non_null(strstr(r.b->caution, "not known yet"));
	count(&r, SECOND, n);
	assert_true(n[US_VCPU_HALTED] > 0);
	assert_int_equal(n[US_VCPU_OFF] + n[US_VCPU_GUEST], 0);
	/* Its thread is found once it can be seen. */
	r.vmm.shared->halt_ms = 0;
	for (unsigned i = 0; i < 30 && !n[US_VCPU_GUEST] && !n[US_VCPU_EXIT]; i++)
		count(&r, SECOND, n);
	assert_true(n[US_VCPU_GUEST] + n[US_VCPU_EXIT] > 0);
	end(&r);
}

static void change_thread(struct run *r)
{
	r->vmm.shared->change = 1;
	for (unsigned i = 0; i < 30000 && r->vmm.shared->change == 1; i++)
		usleep(1000);
	assert_int_equal(r->vmm.shared->change, 2);
}

/* The thread of the only vCPU ends, and another one goes on with the vCPU. */
static void a_thread_may_follow_another(void **state)
{
	static struct run r;
	unsigned n[US_N_VCPU_STATE];
	(void)state;
	begin(&r, (struct mini_layout){ 0 }, outs, sizeof(outs));
	r.vmm.shared->gap_ms = 100;
	for (unsigned k = 0; k < 3; k++) {
		change_thread(&r);
		unsigned seen = 0;
		for (unsigned i = 0; i < 30 && !seen; i++) {
			count(&r, SECOND / 4, n);
			assert_int_equal(n[US_VCPU_OFF] + n[US_VCPU_HALTED], 0);
			seen = n[US_VCPU_GUEST];
		}
		assert_true(seen > 0);
	}
	end(&r);
}

/* It has ended since the threads were looked at. */
static void a_thread_may_end_before_it_is_attached_to(void **state)
{
	static struct run r;
	unsigned n[US_N_VCPU_STATE];
	(void)state;
	begin(&r, (struct mini_layout){ 0 }, outs, sizeof(outs));
	us_backend_close(r.b);
	pid_t ended = fork();
	if (!ended)
		_exit(0);
	waitpid(ended, NULL, 0);
	r.guest.vcpu[0].tid = ended;
	attach(&r);
	for (unsigned i = 0; i < 30 && !(i && n[US_VCPU_GUEST]); i++)
		count(&r, SECOND, n);
	assert_true(n[US_VCPU_GUEST] > 0);
	end(&r);
}

/* It was seen when it had one thread, which then created that of the vCPU.  The guest
 * never exits. */
static void a_thread_may_be_created_behind_the_first_look(void **state)
{
	static struct run r;
	unsigned n[US_N_VCPU_STATE] = { 0 };
	(void)state;
	begin(&r, (struct mini_layout){ 0 }, spins, sizeof(spins));
	us_backend_close(r.b);
	r.guest.vcpu[0].tid = r.vmm.pid;
	attach(&r);
	for (unsigned i = 0; i < 60 && !n[US_VCPU_GUEST]; i++)
		count(&r, SECOND / 2, n);
	assert_true(n[US_VCPU_GUEST] > 0);
	end(&r);
}

/* Its thread goes on with the vCPU of another machine, by the same number.  What was
 * left of the first machine is not sampled. */
static void a_machine_that_is_made_anew_is_another(void **state)
{
	static struct run r;
	unsigned n[US_N_VCPU_STATE];
	(void)state;
	begin_as(&r, (struct mini_layout){ 0 }, outs, sizeof(outs));
	count(&r, SECOND / 2, n);
	mini_expect_end_by_renewal(&r.vmm, r.b);
	end(&r);
}

/* The thread that is not the first. */
static pid_t thread_of(pid_t pid)
{
	char path[32];
	pid_t tid = pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	assert_non_null(d);
	for (struct dirent *e; tid == pid && (e = readdir(d));)
		if (atoi(e->d_name))
			tid = atoi(e->d_name);
	closedir(d);
	assert_int_not_equal(tid, pid);
	return tid;
}

/* A debugger has all of the VMM's threads, and none is known to run the vCPU. */
static void a_tracer_of_unknown_threads_is_named(void **state)
{
	static struct run r;
	const struct us_target t = { .guest = &r.guest };
	struct us_err e = { 0 };
	(void)state;
	begin(&r, (struct mini_layout){ 0 }, spins, sizeof(spins));
	us_backend_close(r.b);
	r.b = NULL;
	pid_t tid = thread_of(r.vmm.pid);
	while (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		usleep(1000);
	r.guest.vcpu[0].tid = 0;
	assert_int_not_equal(us_backend_open(&t, "kvm", &r.b, NULL, 0, &e), 0);
	print_message("# %s\n", e.msg);
	assert_non_null(strstr(e.msg, "traces it already"));
	kill(r.vmm.pid, SIGKILL);
	waitpid(tid, NULL, __WALL); /* else its process cannot be */
	mini_stop(&r.vmm);
}

/* On a busy host its thread may not be found at once. */
static void await_samples(struct run *r)
{
	unsigned n[US_N_VCPU_STATE] = { 0 };
	for (unsigned i = 0; i < 60 && !n[US_VCPU_GUEST]; i++)
		count(r, SECOND / 2, n);
	assert_true(n[US_VCPU_GUEST] > 0);
}

static void pin(pid_t pid, int cpu)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(pid, sizeof(one), &one), 0);
}

/* Be busy there for so long.  With the least nice value, nothing is left of this CPU
 * for a thread that only idle time is for. */
static pid_t take_cpu(int cpu, int nice, uint64_t ns)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	pin(0, cpu);
	if (setpriority(PRIO_PROCESS, 0, nice))
		_exit(1);
	for (uint64_t until = us_now_ns() + ns; us_now_ns() < until;)
		;
	_exit(0);
}

/* The vCPU's thread runs on CPU 0, only while nobody else wants that; the sampler is on
 * the other one.  Returns where it was allowed before. */
static cpu_set_t begin_starved(struct run *r)
{
	static const struct sched_param none;
	cpu_set_t mine;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	begin(r, (struct mini_layout){ 0 }, outs, sizeof(outs));
	pid_t tid = thread_of(r->vmm.pid);
	await_samples(r);
	pin(tid, 0);
	sched_getaffinity(0, sizeof(mine), &mine);
	pin(0, 1);
	assert_int_equal(sched_setscheduler(tid, SCHED_IDLE, &none), 0);
	return mine;
}

/* Its stop comes hundreds of milliseconds late.  What was due meanwhile is not lost. */
static void a_thread_without_a_cpu_is_ready(void **state)
{
	static struct run r;
	struct us_backend_counts k = { 0 };
	struct us_capture c;
	uint64_t longest = 0;
	int status = 1;
	(void)state;
	cpu_set_t mine = begin_starved(&r);
	/* Others may take its CPU, too: it need not have stopped yet. */
	for (unsigned i = 0; i < 20 && (longest <= 100 || k.failed); i++) {
		pid_t hog = take_cpu(0, -20, longest <= 100 ? SECOND / 2 : 0);
		for (uint64_t until = us_now_ns() + SECOND; us_now_ns() < until;) {
			if (r.b->ops->next(r.b, until, &c) != 1)
				continue;
			if (c.state == US_VCPU_READY && c.weight > longest)
				longest = c.weight;
			r.b->ops->release(r.b, &c);
		}
		r.b->ops->counts(r.b, &k);
		waitpid(hog, &status, 0);
		assert_int_equal(status, 0);
	}
	sched_setaffinity(0, sizeof(mine), &mine);
	print_message("# %lu of %lu at once, %lu failed\n", longest, k.due, k.failed);
	assert_int_equal(k.failed, 0);
	assert_true(longest > 20);
	end(&r);
}

static void sample_until(struct run *r, uint64_t until)
{
	struct us_capture c;
	while (us_now_ns() < until)
		if (r->b->ops->next(r->b, until, &c) == 1)
			r->b->ops->release(r->b, &c);
}

/* A stop that was asked for before the count began is no sample of it. */
static void a_late_stop_does_not_count_for_the_next_start(void **state)
{
	static const struct us_schedule s = { .hz = 500, .seed = 1 };
	static struct run r;
	struct us_backend_counts k = { 0 };
	struct us_err e;
	unsigned late = 0;
	(void)state;
	cpu_set_t mine = begin_starved(&r);
	for (unsigned i = 0; i < 20 && late < 3; i++) {
		pid_t hog = take_cpu(0, -20, SECOND);
		for (unsigned n = 0; n < 8 && !k.failed; n++) {
			sample_until(&r, us_now_ns() + SECOND / 8);
			r.b->ops->counts(r.b, &k);
		}
		late += k.failed > 0;
		assert_int_equal(r.b->ops->start(r.b, &s, &e), 0);
		waitpid(hog, NULL, 0);
		sample_until(&r, us_now_ns() + SECOND / 4);
		r.b->ops->counts(r.b, &k);
		assert_in_range(k.failed, 0, k.due);
		assert_int_equal(r.b->ops->start(r.b, &s, &e), 0);
		k.failed = 0;
	}
	sched_setaffinity(0, sizeof(mine), &mine);
	assert_true(late > 0);
	end(&r);
}

struct sums {
	uint64_t run_ns, wait_ns;
};

static struct sums sums_of(pid_t pid, pid_t tid)
{
	char path[64], line[128] = "";
	struct sums s = { 0 };
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	assert_int_equal(sscanf(line, "%lu %lu", &s.run_ns, &s.wait_ns), 2);
	return s;
}

/* The kernel knows for how long it has waited. */
static void the_share_that_waits_is_right(void **state)
{
	static struct run r;
	unsigned n[US_N_VCPU_STATE] = { 0 }, all = 0;
	struct us_capture c;
	pid_t hogs[3];
	(void)state;
	begin(&r, (struct mini_layout){ 0 }, outs, sizeof(outs));
	pid_t tid = thread_of(r.vmm.pid);
	await_samples(&r);
	pin(tid, 0);
	for (unsigned i = 0; i < 3; i++)
		hogs[i] = take_cpu(0, 0, 60 * SECOND);
	struct sums before = sums_of(r.vmm.pid, tid);
	/* Others may leave little of the CPUs: it takes what it takes. */
	uint64_t begun = us_now_ns(), most = begun + 50 * SECOND;
	while ((us_now_ns() < begun + 5 * SECOND || all <= 1000) &&
	       us_now_ns() < most) {
		if (r.b->ops->next(r.b, us_now_ns() + SECOND / 10, &c) != 1)
			continue;
		n[c.state] += c.weight;
		r.b->ops->release(r.b, &c);
		all = n[US_VCPU_GUEST] + n[US_VCPU_EXIT] + n[US_VCPU_READY];
	}
	struct sums after = sums_of(r.vmm.pid, tid);
	for (unsigned i = 0; i < 3; i++) {
		kill(hogs[i], SIGKILL);
		waitpid(hogs[i], NULL, 0);
	}
	uint64_t run = after.run_ns - before.run_ns,
		 wait = after.wait_ns - before.wait_ns;
	uint64_t truth = wait * 100 / (run + wait);
	print_message("# %u of %u wait, by the kernel %lu %%\n", n[US_VCPU_READY], all,
		      truth);
	assert_true(all > 1000);
	assert_in_range(n[US_VCPU_READY] * 100 / all, truth - 10, truth + 10);
	end(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_that_idles_in_its_vmm_is_attached_to),
		cmocka_unit_test(a_thread_may_follow_another),
		cmocka_unit_test(a_thread_may_end_before_it_is_attached_to),
		cmocka_unit_test(a_thread_may_be_created_behind_the_first_look),
		cmocka_unit_test(a_machine_that_is_made_anew_is_another),
		cmocka_unit_test(a_tracer_of_unknown_threads_is_named),
		cmocka_unit_test(a_thread_without_a_cpu_is_ready),
		cmocka_unit_test(a_late_stop_does_not_count_for_the_next_start),
		cmocka_unit_test(the_share_that_waits_is_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
