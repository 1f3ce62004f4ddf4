/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mini-vmm.h: the smallest VMM there can be, in a child process, one thread, one vCPU
 * in real mode, and a second one if that is asked for; for what cannot be asked of a
 * QEMU.  Its 64 KiB of memory may lie in several slots, of private memory or of a
 * memfd, and it may run under a filter that lets it do nothing but run its guest.
 */
#ifndef US_TEST_MINI_VMM_H
#define US_TEST_MINI_VMM_H

#include "backend/backend.h"
#include "base/clock.h"
#include "vmm/guest_list.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MINI_CODE  0x1000
#define MINI_STACK 0x8000 /* downwards */
#define MINI_RAM   0x10000

#define MINI_POLL_MS 20

/* What the child and the test both see. */
struct mini_shared {
	atomic_int vcpu_fd, exits, interrupted, signals, quit;
	/* Set to 1, at the next exit: the memory that the stack is in lies elsewhere,
	 * all bytes of it are MINI_MOVED; then it is 2. */
	atomic_int move;
	/* Of a second vCPU, which runs the same code: set to MINI_PLUG, at the next
	 * exit of the first a thread runs it; with MINI_UNPLUG it ends, and can be
	 * plugged in again. */
	atomic_int second;
	/* Set to 1, at the next exit: the first vCPU is run by another thread from then
	 * on; then it is 2. */
	atomic_int hand_over;
	/* Of a VMM with threads: for how long a vCPU that halts sleeps in the VMM, and
	 * how often it has.  Change set to 1: its thread ends; then it is 2, and gap_ms
	 * later another thread runs it. */
	atomic_int halt_ms, halts, change, gap_ms;
	/* Set to 1, at the next exit: the first vCPU is closed with its machine, and a
	 * new one, that runs the same code, has its descriptor; then it is 2. */
	atomic_int renew;
};
enum { MINI_NONE, MINI_PLUG, MINI_RUNS, MINI_UNPLUG };
#define MINI_MOVED 0xee

struct mini_layout {
	unsigned n_slot; /* 0 is 1 */
	bool memfd, filter;
	bool statistics; /* there is a file of the vCPU's */
	bool second;	 /* is there from the start, and no thread runs it */
	bool stranger;	 /* ... or it is one of another machine, with its own memory */
	bool unstarted;	 /* a thread runs a second, which nobody starts */
	bool copies;	 /* it runs the first vCPU by a copy of its descriptor */
	int halt_ms;
	bool threads; /* a thread other than the first runs it, halts are for it */
	bool polls;   /* it waits in poll() at each exit, for a time */
	bool turns; /* ... but three threads run both in turns, and sleep in between */
};

struct mini_vmm {
	pid_t pid;
	struct mini_shared *shared;
};

static struct mini_shared *mini_signal_target;

static void mini_on_signal(int sig)
{
	(void)sig;
	mini_signal_target->signals++;
}

/* A slot, in memory of its own, all of whose bytes are this. */
static uint8_t *mini_slot(int vm, const struct mini_layout *l, unsigned slot, int byte)
{
	size_t size = MINI_RAM / (l->n_slot ? l->n_slot : 1);
	int fd = l->memfd ? memfd_create("ram", MFD_CLOEXEC) : -1;
	if (fd >= 0 && ftruncate(fd, (off_t)size))
		return NULL;
	uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   l->memfd ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (byte && at != MAP_FAILED) /* before anybody samples */
		memset(at, byte, size);
	struct kvm_userspace_memory_region m = { .slot = slot,
						 .guest_phys_addr = slot * size,
						 .memory_size = size,
						 .userspace_addr = (uintptr_t)at };
	return ioctl(vm, KVM_SET_USER_MEMORY_REGION, &m) ? NULL : at;
}

static void mini_move(int vm, const struct mini_layout *l)
{
	size_t size = MINI_RAM / l->n_slot;
	unsigned slot = (unsigned)((MINI_STACK - 1) / size);
	struct kvm_userspace_memory_region none = { .slot = slot };
	ioctl(vm, KVM_SET_USER_MEMORY_REGION, &none);
	mini_slot(vm, l, slot, MINI_MOVED);
}

/* What it needs once it runs: ioctl() alone, and to end. */
static void mini_filter(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { .len = 4, .filter = f };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

static int mini_new_vcpu(int vm, unsigned id)
{
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, id);
	struct kvm_mp_state runs = { .mp_state = KVM_MP_STATE_RUNNABLE };
	struct kvm_sregs s;
	ioctl(vcpu, KVM_SET_MP_STATE, &runs);
	ioctl(vcpu, KVM_GET_SREGS, &s);
	s.cs.base = 0;
	s.cs.selector = 0;
	ioctl(vcpu, KVM_SET_SREGS, &s);
	struct kvm_regs r = { .rip = MINI_CODE,
			      .rsp = MINI_STACK - id * 0x100,
			      .rflags = 2 };
	return ioctl(vcpu, KVM_SET_REGS, &r) ? -1 : vcpu;
}

/* Nothing but its vCPU is open of it. */
static int mini_stranger(const struct mini_layout *l)
{
	int kvm = open("/dev/kvm", O_RDWR), vm = ioctl(kvm, KVM_CREATE_VM, 0);
	ioctl(vm, KVM_CREATE_IRQCHIP);
	uint8_t *at = mini_slot(vm, l, 0, 0);
	if (!at)
		return -1;
	memcpy(at + MINI_CODE, (const uint8_t[]){ 0xeb, 0xfe }, 2); /* jmp $ */
	int vcpu = mini_new_vcpu(vm, 1);
	close(vm);
	return vcpu;
}

static int mini_second_fd;
static const struct mini_layout *mini_second_as;

static void *mini_run_second(void *arg)
{
	struct mini_shared *shared = arg;
	while (shared->second == MINI_RUNS)
		ioctl(mini_second_fd, KVM_RUN, 0);
	shared->second = MINI_NONE;
	return NULL;
}

static void mini_plug(int vm, struct mini_shared *shared)
{
	pthread_t thread;
	if (!mini_second_fd)
		mini_second_fd = mini_second_as->stranger
					 ? mini_stranger(mini_second_as)
					 : mini_new_vcpu(vm, 1);
	shared->second = MINI_RUNS;
	if (mini_second_fd < 0 ||
	    pthread_create(&thread, NULL, mini_run_second, shared))
		shared->quit = 1;
	else
		pthread_detach(thread);
}

static int mini_vcpu(const struct mini_layout *l, const uint8_t *code, size_t len,
		     int *ret_vm)
{
	int kvm = open("/dev/kvm", O_RDWR);
	int vm = *ret_vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (!l->threads) /* a halt is waited for in the kernel */
		ioctl(vm, KVM_CREATE_IRQCHIP);
	for (unsigned i = 0; i < (l->n_slot ? l->n_slot : 1); i++) {
		uint8_t *at = mini_slot(vm, l, i, 0);
		if (!at)
			return -1;
		if (!i)
			memcpy(at + MINI_CODE, code, len);
	}
	return mini_new_vcpu(vm, 0);
}

static void mini_renew(struct mini_shared *shared, const struct mini_layout *l,
		       const uint8_t *code, size_t len, int *vm)
{
	int old = *vm, vcpu = mini_vcpu(l, code, len, vm);
	if (vcpu < 0 || dup2(vcpu, shared->vcpu_fd) < 0)
		_exit(1);
	close(vcpu);
	close(old);
	shared->renew = 2;
}

static void *mini_run_first(void *arg)
{
	struct mini_shared *shared = arg;
	while (!shared->quit)
		ioctl(shared->vcpu_fd, KVM_RUN, 0);
	return NULL;
}

/* This thread lives on, and does nothing. */
static void mini_hand_over(struct mini_shared *shared)
{
	pthread_t thread;
	shared->hand_over = 2;
	if (!pthread_create(&thread, NULL, mini_run_first, shared))
		pthread_join(thread, NULL);
}

/* It may be told meanwhile to sleep no more. */
static void mini_sleep(struct mini_shared *shared)
{
	shared->halts++;
	for (int ms = 0; ms < shared->halt_ms; ms++)
		usleep(1000);
}

static void *mini_run_until_change(void *arg)
{
	struct mini_shared *shared = arg;
	const struct kvm_run *run = mmap(NULL, 4096, PROT_READ, MAP_SHARED,
					 shared->vcpu_fd, 0);
	while (shared->change != 1) {
		ioctl(shared->vcpu_fd, KVM_RUN, 0);
		if (run->exit_reason == KVM_EXIT_HLT)
			mini_sleep(shared);
	}
	return NULL;
}

static _Noreturn void mini_run_in_threads(struct mini_shared *shared)
{
	pthread_t thread;
	for (;;) {
		if (pthread_create(&thread, NULL, mini_run_until_change, shared))
			_exit(1);
		pthread_join(thread, NULL);
		shared->change = 2;
		usleep((unsigned)shared->gap_ms * 1000);
	}
}

static int mini_turn_fd[2];
static atomic_int mini_turn_taken[2];

/* For some exits whichever vCPU is free. */
static void *mini_take_turns(void *arg)
{
	struct mini_shared *shared = arg;
	for (unsigned i = (unsigned)syscall(SYS_gettid); !shared->quit; i++) {
		unsigned k = i / 3 % 2;
		if (atomic_exchange(&mini_turn_taken[k], 1) == 0) {
			for (int n = 0; n < 2000; n++)
				ioctl(mini_turn_fd[k], KVM_RUN, 0);
			mini_turn_taken[k] = 0;
		}
		usleep(5000);
	}
	return NULL;
}

static _Noreturn void mini_run_in_turns(struct mini_shared *shared, int first,
					int second)
{
	pthread_t thread;
	mini_turn_fd[0] = first;
	mini_turn_fd[1] = second;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, mini_take_turns, shared))
			_exit(1);
	mini_take_turns(shared);
	_exit(0);
}

static _Noreturn void mini_run(struct mini_shared *shared, const struct mini_layout *l,
			       const uint8_t *code, size_t len)
{
	int vm;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mini_signal_target = shared;
	struct sigaction sa = { .sa_handler = mini_on_signal };
	sigaction(SIGUSR1, &sa, NULL);
	int vcpu = mini_vcpu(l, code, len, &vm);
	mini_second_as = l;
	if (l->second || l->turns)
		mini_second_fd = mini_new_vcpu(vm, 1);
	if (l->unstarted) {
		mini_second_fd = ioctl(vm, KVM_CREATE_VCPU, 1);
		mini_plug(vm, shared);
	}
	if (l->statistics)
		ioctl(vcpu, KVM_GET_STATS_FD, NULL);
	shared->vcpu_fd = vcpu;
	if (l->copies)
		vcpu = dup(vcpu);
	if (l->turns)
		mini_run_in_turns(shared, vcpu, mini_second_fd);
	if (l->threads)
		mini_run_in_threads(shared);
	if (l->filter)
		mini_filter();
	while (vcpu >= 0 && !shared->quit) {
		int r = ioctl(vcpu, KVM_RUN, 0);
		shared->exits++;
		if (r < 0 && errno == EINTR)
			shared->interrupted++;
		else if (r < 0)
			break;
		if (l->polls)
			poll(NULL, 0, MINI_POLL_MS);
		if (shared->move == 1) {
			mini_move(vm, l);
			shared->move = 2;
		}
		if (shared->second == MINI_PLUG)
			mini_plug(vm, shared);
		if (shared->renew == 1)
			mini_renew(shared, l, code, len, &vm);
		if (shared->hand_over == 1)
			mini_hand_over(shared);
	}
	_exit(1);
}

static inline void mini_start_as(struct mini_vmm *v, struct mini_layout l,
				 const uint8_t *code, size_t len)
{
	v->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	assert_true(v->shared != MAP_FAILED);
	v->shared->halt_ms = l.halt_ms;
	v->pid = fork();
	assert_true(v->pid >= 0);
	if (!v->pid)
		mini_run(v->shared, &l, code, len);
	while (!v->shared->vcpu_fd && waitpid(v->pid, NULL, WNOHANG) == 0)
		usleep(1000);
	assert_true(v->shared->vcpu_fd > 0);
}

static inline void mini_start(struct mini_vmm *v, const uint8_t *code, size_t len)
{
	mini_start_as(v, (struct mini_layout){ 0 }, code, len);
}

static inline void mini_await_renewal(struct mini_vmm *v)
{
	v->shared->renew = 1;
	for (unsigned i = 0; i < 30000 && v->shared->renew == 1; i++)
		usleep(1000);
	assert_int_equal(v->shared->renew, 2);
}

/* Then samples end, and none shows the registers of the machine before. */
static inline void mini_expect_end_by_renewal(struct mini_vmm *v, struct us_backend *b)
{
	static struct us_capture c;
	struct us_err e = { 0 };
	unsigned stale = 0;
	int got = 0;
	mini_await_renewal(v);
	uint64_t since = us_now_ns(), until = since + 10 * US_NS_PER_SEC;
	while (got >= 0 && us_now_ns() < until) {
		got = b->ops->next(b, until, &c);
		if (got != 1)
			continue;
		stale += c.form != US_CAPTURE_NONE && c.t_ns > since;
		b->ops->release(b, &c);
	}
	assert_int_equal(stale, 0);
	assert_int_equal(got, -ESRCH);
	b->ops->explain(b, got, &e);
	assert_non_null(strstr(e.msg, "the guest's vCPUs have ended; the VMM"));
}

static inline void mini_stop(struct mini_vmm *v)
{
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
	munmap(v->shared, 4096);
}

#endif
