/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One vCPU is stopped, read and let go, and its VMM does not notice. */
#include "unit.h"

#include "backend/backend.h"
#include "backend/kvm/regs.h"
#include "backend/kvm/vcpu.h"
#include "base/clock.h"
#include "mini-vmm.h"
#include "qemu.h"

#include <inttypes.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

static const uint8_t spin_code[] = { 0x40, 0xeb, 0xfd };       /* 1: inc %ax; jmp 1b */
static const uint8_t halt_code[] = { 0xf4, 0xeb, 0xfd };       /* 1: hlt; jmp 1b */
static const uint8_t port_code[] = { 0xe6, 0x80, 0xeb, 0xfc }; /* 1: out; jmp 1b */

static void long_mode_registers(void **state)
{
	(void)state;
	struct kvm_regs r = { .rax = 1,
			      .rdx = 2,
			      .rcx = 3,
			      .rbx = 4,
			      .rsi = 5,
			      .rdi = 6,
			      .rbp = 0xffff800000001000,
			      .rsp = 0xffff800000000ff0,
			      .r8 = 8,
			      .r15 = 15,
			      .rip = 0xffffffff80100123 };
	struct kvm_sregs s = { .cr0 = 0x80000001,
			       .cr3 = 0x1000,
			       .cr4 = 0x20,
			       .efer = 0x500,
			       .cs = { .l = 1, .base = 0x55 } };
	struct us_regs u;
	us_kvm_regs(&r, &s, &u);
	assert_int_equal(u.bits, 64);
	assert_true(u.pc == 0xffffffff80100123);
	assert_true(u.fp == r.rbp && u.sp == r.rsp);
	assert_int_equal(u.gpr[US_X86_RDX], 2);
	assert_int_equal(u.gpr[US_X86_RBX], 4);
	assert_int_equal(u.gpr[US_X86_RDI], 6);
	assert_int_equal(u.gpr[US_X86_R15], 15);
	assert_true(u.gpr[US_X86_RSP] == r.rsp);
	assert_int_equal(u.valid, 0xffff);
	assert_int_equal(u.space.root, 0x1000);
	assert_int_equal(u.space.mode, US_PAGING_X86_4);
	assert_false(u.user);
	s.ss.dpl = 3;
	s.cs.l = 0; /* compatibility mode */
	s.cs.db = 1;
	us_kvm_regs(&r, &s, &u);
	assert_int_equal(u.bits, 32);
	assert_true(u.user);
	assert_int_equal(u.pc, 0x80100123 + 0x55);
}

static void real_mode_registers(void **state)
{
	(void)state;
	struct kvm_regs r = { .rip = 0xfff0, .rsp = 0xabcd0100, .rbp = 0x90 };
	struct kvm_sregs s = { .cr0 = 0x10,
			       .cs = { .base = 0xf0000 },
			       .ss = { .base = 0x1000, .dpl = 3 } };
	struct us_regs u;
	us_kvm_regs(&r, &s, &u);
	assert_int_equal(u.bits, 16);
	assert_int_equal(u.pc, 0xffff0);
	assert_int_equal(u.sp, 0x1100);
	assert_int_equal(u.fp, 0x1090);
	assert_int_equal(u.space.mode, US_PAGING_OFF);
	assert_false(u.user);
}

static void lines_of_proc(void **state)
{
	(void)state;
	assert_int_equal(us_kvm_fd_of_run("16 0xb 0xae80 0x0 0x0 0x1\n"), 11);
	assert_int_equal(us_kvm_fd_of_run("16 0xb 0xae81 0x0\n"), -1);
	assert_int_equal(us_kvm_fd_of_run("202 0xb 0xae80 0x0\n"), -1);
	assert_int_equal(us_kvm_fd_of_run("running\n"), -1);
	assert_int_equal(us_kvm_fd_of_run("-1 0x7ffd 0x7f00\n"), -1);
	assert_int_equal(us_kvm_fd_of_run(""), -1);
	assert_int_equal(us_kvm_fd_of_run("16 0xffffffffffffffff 0xae80"), -1);
}

/* A guest that runs a guest of its own: those registers are not this guest's. */
static void registers_of_a_nested_guest_are_not_taken(void **state)
{
	(void)state;
	static struct kvm_run run = { .exit_reason = KVM_EXIT_INTR };
	struct us_kvm_vcpu v = { .run = &run };
	for (int nested = 0; nested < 2; nested++) {
		struct us_regs regs = { 0 };
		bool have;
		run.flags = nested ? 1 << 2 /* KVM_RUN_X86_GUEST_MODE */ : 0;
		run.s.regs.regs.rflags = 2;
		run.s.regs.regs.rip = 0x1234;
		assert_int_equal(us_kvm_vcpu_read(&v, &regs, &have), US_VCPU_GUEST);
		assert_int_equal(have, !nested);
		assert_int_equal(v.nested, nested);
		assert_int_equal(regs.pc, nested ? 0 : 0x1234);
	}
}

/* A mini VMM and the vCPU of it that we look at. */
struct rig {
	struct mini_vmm vmm;
	struct us_kvm_vcpu v;
	int pidfd;
};

static void attach(struct rig *r)
{
	struct us_vcpu which = { .tid = r->vmm.pid, .fd = r->vmm.shared->vcpu_fd };
	struct us_err e;
	r->pidfd = (int)syscall(SYS_pidfd_open, r->vmm.pid, 0);
	assert_true(r->pidfd >= 0);
	if (us_kvm_vcpu_open(&r->v, r->pidfd, r->vmm.pid, &which, &e))
		fail_msg("%s", e.msg);
}

static void rig_start(struct rig *r, const uint8_t *code, size_t len)
{
	if (!have_kvm())
		skip();
	mini_start(&r->vmm, code, len);
	attach(r);
}

static void rig_stop(struct rig *r)
{
	us_kvm_vcpu_close(&r->v);
	close(r->pidfd);
	mini_stop(&r->vmm);
}

/* On a busy host a stop may take longer than is waited for. */
static void stop(struct us_kvm_vcpu *v)
{
	int r;
	while ((r = us_kvm_vcpu_stop(v)) == -EINTR)
		for (; v->hold == US_KVM_ASKED; usleep(1000))
			us_kvm_vcpu_settle(v);
	assert_int_equal(r, 0);
}

/* Stop it and read it; the state, with the pc in *pc (0: no registers). */
static enum us_vcpu_state look(struct us_kvm_vcpu *v, uint64_t *pc)
{
	struct us_regs regs = { 0 };
	bool have = false;
	stop(v);
	enum us_vcpu_state s = us_kvm_vcpu_read(v, &regs, &have);
	assert_true(us_kvm_vcpu_check_thread(v));
	us_kvm_vcpu_release(v);
	assert_int_equal(v->hold, US_KVM_FREE);
	*pc = have ? regs.pc : 0;
	return s;
}

static void a_spinning_guest_is_seen_spinning(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, spin_code, sizeof(spin_code));
	int in_guest = 0;
	for (int i = 0; i < 200; i++) {
		uint64_t pc;
		usleep(500);
		enum us_vcpu_state s = look(&r.v, &pc);
		if (s != US_VCPU_GUEST && s != US_VCPU_READY)
			continue;
		in_guest++;
		assert_in_range(pc, MINI_CODE, MINI_CODE + sizeof(spin_code));
	}
	assert_true(in_guest > 100);
	assert_int_equal(r.vmm.shared->signals, 0);
	rig_stop(&r);
}

/* The facts of a vCPU that leaves for the VMM all the time must not pass for looks at
 * running code (KVM_EXIT_INTR alone is that). */
static void exits_for_the_vmm_are_told_apart(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, port_code, sizeof(port_code));
	int n[US_N_VCPU_STATE] = { 0 }, i = 0;
	uint64_t end = us_now_ns() + 60 * US_NS_PER_SEC;
	/* On a busy host it mostly waits for a CPU. */
	for (; i < 400 || (!n[US_VCPU_EXIT] && us_now_ns() < end); i++) {
		uint64_t pc;
		usleep(200);
		enum us_vcpu_state s = look(&r.v, &pc);
		n[s]++;
		if (s == US_VCPU_EXIT && pc)
			assert_in_range(pc, MINI_CODE, MINI_CODE + sizeof(port_code));
	}
	assert_int_equal(n[US_VCPU_GUEST] + n[US_VCPU_READY] + n[US_VCPU_EXIT], i);
	assert_true(n[US_VCPU_EXIT] > 0);
	rig_stop(&r);
}

static void a_halted_guest_is_left_alone(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, halt_code, sizeof(halt_code));
	enum us_vcpu_state s = US_VCPU_OFF;
	for (int i = 0; i < 1000; i++) { /* until it has come to its hlt */
		if (us_kvm_vcpu_peek(&r.v, &s) == US_KVM_ASLEEP && s == US_VCPU_HALTED)
			break;
		usleep(1000);
	}
	assert_int_equal(s, US_VCPU_HALTED);
	int exits = r.vmm.shared->exits;
	for (int i = 0; i < 100; i++)
		assert_int_equal(us_kvm_vcpu_peek(&r.v, &s), US_KVM_ASLEEP);
	assert_int_equal(r.vmm.shared->exits, exits);
	rig_stop(&r);
}

/* It asks its VMM, which waits for as long as that takes. */
static void a_guest_that_waits_in_its_vmm_is_idle(void **state)
{
	(void)state;
	struct rig r;
	unsigned idle = 0;
	if (!have_kvm())
		skip();
	mini_start_as(&r.vmm, (struct mini_layout){ .polls = true }, port_code,
		      sizeof(port_code));
	attach(&r);
	for (int i = 0; i < 300; i++) {
		enum us_vcpu_state s = US_VCPU_OFF;
		usleep(2000);
		idle += us_kvm_vcpu_peek(&r.v, &s) == US_KVM_ASLEEP &&
			s == US_VCPU_HALTED;
	}
	assert_true(idle > 150);
	rig_stop(&r);
}

static void wait_for_signal(const struct rig *r, int n)
{
	for (int i = 0; r->vmm.shared->signals < n && i < 10000; i++)
		usleep(200);
	assert_int_equal(r->vmm.shared->signals, n);
}

static void every_signal_arrives(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, spin_code, sizeof(spin_code));
	for (int i = 0; i < 300; i++) {
		/* Signals do not queue: one at a time, and in the way of a look. */
		kill(r.vmm.pid, SIGUSR1);
		stop(&r.v);
		us_kvm_vcpu_release(&r.v);
		wait_for_signal(&r, i + 1);
	}
	rig_stop(&r);
}

/* Whoever gives up a sample, and does not ask how long the guest was held. */
static void the_longest_hold_is_kept(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, spin_code, sizeof(spin_code));
	stop(&r.v);
	usleep(20000);
	us_kvm_vcpu_release(&r.v);
	uint64_t longest = r.v.held_max_ns;
	assert_true(longest >= 20 * US_NS_PER_MS);
	assert_int_equal(ptrace(PTRACE_SEIZE, r.vmm.pid, NULL, NULL), 0);
	r.v.hold = US_KVM_ASKED;
	r.v.delay_ns = UINT64_MAX; /* it waits for no CPU */
	r.v.asked_ns = us_now_ns();
	assert_int_equal(ptrace(PTRACE_INTERRUPT, r.vmm.pid, NULL, NULL), 0);
	usleep((unsigned)(longest / US_NS_PER_US) + 20000);
	for (int k = 0; r.v.hold != US_KVM_FREE && k < 10000; k++) {
		us_kvm_vcpu_settle(&r.v);
		usleep(100);
	}
	assert_true(r.v.held_max_ns >= longest + 20 * US_NS_PER_MS);
	rig_stop(&r);
}

/* A signal that comes between the two requests of a stop stops the thread itself. */
static void a_signal_that_is_the_stop_is_passed_on(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, spin_code, sizeof(spin_code));
	for (int i = 0; i < 50; i++) {
		assert_int_equal(ptrace(PTRACE_SEIZE, r.vmm.pid, NULL, NULL), 0);
		kill(r.vmm.pid, SIGUSR1);
		r.v.hold = US_KVM_ASKED;
		for (int k = 0; r.v.hold != US_KVM_FREE && k < 10000; k++) {
			us_kvm_vcpu_settle(&r.v);
			usleep(100);
		}
		assert_int_equal(r.v.signal, SIGUSR1);
		wait_for_signal(&r, i + 1);
	}
	rig_stop(&r);
}

static void a_stopped_vmm_is_off_and_stays_stopped(void **state)
{
	(void)state;
	struct rig r;
	int status;
	rig_start(&r, spin_code, sizeof(spin_code));
	kill(r.vmm.pid, SIGSTOP);
	assert_int_equal(waitpid(r.vmm.pid, &status, WUNTRACED), r.vmm.pid);
	enum us_vcpu_state s = US_VCPU_GUEST;
	assert_int_equal(us_kvm_vcpu_peek(&r.v, &s), US_KVM_ASLEEP);
	assert_int_equal(s, US_VCPU_OFF);
	/* A look that meets the stop on its way leaves it as it is. */
	stop(&r.v);
	struct us_regs regs;
	bool have;
	assert_int_equal(us_kvm_vcpu_read(&r.v, &regs, &have), US_VCPU_OFF);
	us_kvm_vcpu_release(&r.v);
	usleep(20000);
	assert_int_equal(us_kvm_vcpu_peek(&r.v, &s), US_KVM_ASLEEP);
	assert_int_equal(s, US_VCPU_OFF);
	kill(r.vmm.pid, SIGCONT);
	int exits = r.vmm.shared->exits;
	uint64_t pc;
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		look(&r.v, &pc);
	}
	assert_true(r.vmm.shared->exits > exits);
	rig_stop(&r);
}

static void a_vmm_killed_in_our_hands_can_be_reaped(void **state)
{
	(void)state;
	for (int when = 0; when < 2; when++) {
		struct rig r;
		int status;
		enum us_vcpu_state s;
		rig_start(&r, spin_code, sizeof(spin_code));
		if (when == 0)
			stop(&r.v);
		kill(r.vmm.pid, SIGKILL);
		if (when == 0)
			us_kvm_vcpu_release(&r.v);
		else
			while (us_kvm_vcpu_peek(&r.v, &s) != US_KVM_VANISHED)
				if (us_kvm_vcpu_stop(&r.v) == 0)
					us_kvm_vcpu_release(&r.v);
		assert_int_equal(r.v.hold, US_KVM_FREE);
		us_kvm_vcpu_close(&r.v);
		close(r.pidfd);
		/* As tracer and parent we are one: the tracer may have reaped it. */
		pid_t got = waitpid(r.vmm.pid, &status, 0);
		assert_true(got == r.vmm.pid || (got < 0 && errno == ECHILD));
		munmap(r.vmm.shared, 4096);
	}
}

static void another_tracer_is_respected(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, spin_code, sizeof(spin_code));
	int ready[2];
	char c;
	assert_int_equal(pipe(ready), 0);
	pid_t other = fork();
	if (!other) {
		c = ptrace(PTRACE_SEIZE, r.vmm.pid, NULL, NULL) == 0;
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(c, 1);
	assert_int_equal(us_kvm_vcpu_stop(&r.v), -EPERM);
	assert_int_equal(r.v.hold, US_KVM_FREE);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	uint64_t pc;
	look(&r.v, &pc);
	close(ready[0]);
	close(ready[1]);
	rig_stop(&r);
}

static struct kvm_run *map_page(const struct rig *r)
{
	int fd = (int)syscall(SYS_pidfd_getfd, r->pidfd, r->vmm.shared->vcpu_fd, 0);
	struct kvm_run *run = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				   0);
	assert_true(fd >= 0 && run != MAP_FAILED);
	close(fd);
	return run;
}

static bool all_zero(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const uint8_t *)p)[i])
			return false;
	return true;
}

static void the_page_is_left_as_it_was(void **state)
{
	(void)state;
	struct rig r;
	uint64_t pc;
	rig_start(&r, spin_code, sizeof(spin_code));
	struct kvm_run *run = map_page(&r);
	for (int i = 0; i < 10; i++)
		look(&r.v, &pc);
	assert_int_equal(run->kvm_valid_regs, KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS);
	assert_int_equal(run->kvm_dirty_regs, 0);
	us_kvm_vcpu_close(&r.v);
	assert_int_equal(run->kvm_valid_regs, 0);
	assert_true(all_zero(run->s.padding, sizeof(run->s.padding)));
	munmap(run, 4096);
	rig_stop(&r);
}

/* Of a uniscope that was killed its mark stays; the next one takes over from it. */
static void the_page_of_a_killed_uniscope_is_mended(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, spin_code, sizeof(spin_code));
	struct kvm_run *run = map_page(&r);
	us_kvm_vcpu_close(&r.v);
	pid_t victim = fork();
	if (!victim) {
		uint64_t pc;
		attach(&r);
		for (;;)
			look(&r.v, &pc);
	}
	while (!run->kvm_valid_regs || !run->s.regs.regs.rflags)
		usleep(1000);
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	assert_int_not_equal(run->kvm_valid_regs, 0);
	int exits = r.vmm.shared->exits;
	attach(&r);
	/* On a busy host the vCPU may wait for a CPU all the time of a few. */
	for (int i = 0; i < 10 || (i < 10000 && r.vmm.shared->exits <= exits); i++) {
		uint64_t pc;
		usleep(500);
		look(&r.v, &pc);
	}
	assert_true(r.vmm.shared->exits > exits);
	us_kvm_vcpu_close(&r.v);
	assert_int_equal(run->kvm_valid_regs, 0);
	munmap(run, 4096);
	rig_stop(&r);
}

static void a_vmm_that_shares_registers_itself_is_refused(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, spin_code, sizeof(spin_code));
	struct kvm_run *run = map_page(&r);
	us_kvm_vcpu_close(&r.v);
	run->kvm_valid_regs = KVM_SYNC_X86_REGS;
	struct us_vcpu which = { .tid = r.vmm.pid, .fd = r.vmm.shared->vcpu_fd };
	struct us_err e;
	assert_int_equal(us_kvm_vcpu_open(&r.v, r.pidfd, r.vmm.pid, &which, &e),
			 -EBUSY);
	assert_int_equal(run->kvm_valid_regs, KVM_SYNC_X86_REGS);
	run->kvm_valid_regs = 0;
	munmap(run, 4096);
	rig_stop(&r);
}

/* Open a backend on a mini VMM, which has nothing that looks like a guest's RAM but
 * what the test has: real mode asks for none. */
static struct us_backend *open_backend(const struct rig *r, struct us_guest *g)
{
	static const struct us_schedule s = { .hz = 500, .seed = 1 };
	struct us_target t = { .guest = g };
	struct us_backend *b = NULL;
	struct us_err e;
	if (us_guest_inspect(r->vmm.pid, g, &e) ||
	    us_backend_open(&t, "kvm", &b, NULL, 0, &e) || b->ops->start(b, &s, &e))
		fail_msg("%s", e.msg);
	return b;
}

/* How many samples say so, of those of a while; *ret is what next() ended with. */
static unsigned count_off(struct us_backend *b, uint64_t ns, unsigned vcpu, int *ret)
{
	struct us_capture c;
	unsigned n = 0;
	uint64_t end = us_now_ns() + ns;
	*ret = 0;
	while (*ret >= 0 && us_now_ns() < end) {
		*ret = b->ops->next(b, end, &c);
		if (*ret != 1)
			continue;
		n += c.vcpu == vcpu && c.state == US_VCPU_OFF;
		b->ops->release(b, &c);
	}
	us_backend_let_go(b);
	if (*ret < 0) {
		struct us_err e;
		b->ops->explain(b, *ret, &e);
		printf("# next() ended with: %s\n", e.msg);
	}
	return n;
}

/* Its thread sleeps in KVM_RUN as if it had halted. */
static void a_vcpu_that_nobody_started_is_off(void **state)
{
	(void)state;
	static struct us_guest g;
	struct rig r = { 0 };
	struct us_capture c;
	unsigned n = 0, off = 0;
	if (!have_kvm())
		skip();
	mini_start_as(&r.vmm, (struct mini_layout){ .unstarted = true }, port_code,
		      sizeof(port_code));
	struct us_backend *b = open_backend(&r, &g);
	uint64_t end = us_now_ns() + US_NS_PER_SEC;
	while (us_now_ns() < end) {
		int got = b->ops->next(b, end, &c);
		assert_true(got >= 0);
		if (got != 1)
			continue;
		n += c.vcpu == 1;
		off += c.vcpu == 1 && c.state == US_VCPU_OFF;
		if (c.vcpu == 1 && c.state != US_VCPU_OFF)
			print_message("# sample %u: state %u, form %u, at %#" PRIx64
				      "\n",
				      n, c.state, c.form, c.regs.pc);
		b->ops->release(b, &c);
	}
	assert_true(n > 10);
	assert_int_equal(off, n);
	us_backend_close(b);
	mini_stop(&r.vmm);
}

static void threads_that_take_turns_are_refused(void **state)
{
	(void)state;
	static struct us_guest g;
	struct rig r = { 0 };
	struct us_err e;
	int ret;
	if (!have_kvm())
		skip();
	mini_start_as(&r.vmm, (struct mini_layout){ .turns = true }, port_code,
		      sizeof(port_code));
	struct us_backend *b = open_backend(&r, &g);
	count_off(b, 60 * US_NS_PER_SEC, 0, &ret);
	assert_int_equal(ret, -EOPNOTSUPP);
	b->ops->explain(b, ret, &e);
	assert_non_null(strstr(e.msg, "take turns"));
	assert_non_null(strstr(e.hint, "bpf"));
	us_backend_close(b);
	mini_stop(&r.vmm);
}

/* One thread for each, but the second vCPU comes later, and the first one's thread
 * changes: that is no turn. */
static void a_thread_may_come_and_change(void **state)
{
	(void)state;
	static struct us_guest g;
	struct rig r = { 0 };
	int ret;
	if (!have_kvm())
		skip();
	mini_start_as(&r.vmm, (struct mini_layout){ .second = true }, port_code,
		      sizeof(port_code));
	struct us_backend *b = open_backend(&r, &g);
	/* It is off, and nothing else. */
	assert_true(count_off(b, US_NS_PER_SEC / 2, 1, &ret) > 0);
	assert_true(ret >= 0);
	r.vmm.shared->second = MINI_PLUG;
	r.vmm.shared->hand_over = 1;
	for (int i = 0; i < 30000; i++) { /* ms */
		if (r.vmm.shared->second == MINI_RUNS && r.vmm.shared->hand_over == 2)
			break;
		usleep(1000);
	}
	assert_int_equal(r.vmm.shared->second, MINI_RUNS);
	assert_int_equal(r.vmm.shared->hand_over, 2);
	count_off(b, US_NS_PER_SEC, 1, &ret);
	assert_true(ret >= 0);
	for (unsigned vcpu = 0; vcpu < 2; vcpu++) {
		assert_int_equal(count_off(b, US_NS_PER_SEC / 2, vcpu, &ret), 0);
		assert_true(ret >= 0);
	}
	us_backend_close(b);
	mini_stop(&r.vmm);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_mode_registers),
		cmocka_unit_test(real_mode_registers),
		cmocka_unit_test(lines_of_proc),
		cmocka_unit_test(registers_of_a_nested_guest_are_not_taken),
		cmocka_unit_test(a_spinning_guest_is_seen_spinning),
		cmocka_unit_test(exits_for_the_vmm_are_told_apart),
		cmocka_unit_test(a_halted_guest_is_left_alone),
		cmocka_unit_test(a_guest_that_waits_in_its_vmm_is_idle),
		cmocka_unit_test(every_signal_arrives),
		cmocka_unit_test(the_longest_hold_is_kept),
		cmocka_unit_test(a_signal_that_is_the_stop_is_passed_on),
		cmocka_unit_test(a_stopped_vmm_is_off_and_stays_stopped),
		cmocka_unit_test(a_vmm_killed_in_our_hands_can_be_reaped),
		cmocka_unit_test(another_tracer_is_respected),
		cmocka_unit_test(the_page_is_left_as_it_was),
		cmocka_unit_test(the_page_of_a_killed_uniscope_is_mended),
		cmocka_unit_test(a_vmm_that_shares_registers_itself_is_refused),
		cmocka_unit_test(a_vcpu_that_nobody_started_is_off),
		cmocka_unit_test(threads_that_take_turns_are_refused),
		cmocka_unit_test(a_thread_may_come_and_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
