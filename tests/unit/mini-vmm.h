/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mini-vmm.h: the smallest VMM there can be, in a child process, one thread, one vCPU
 * in real mode; for what cannot be asked of a QEMU.
 */
#ifndef US_TEST_MINI_VMM_H
#define US_TEST_MINI_VMM_H

#include "vmm/guest_list.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MINI_CODE 0x1000

/* What the child and the test both see. */
struct mini_shared {
	atomic_int vcpu_fd, exits, interrupted, signals, quit;
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

static int mini_vcpu(const uint8_t *code, size_t len)
{
	int kvm = open("/dev/kvm", O_RDWR);
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);
	ioctl(vm, KVM_CREATE_IRQCHIP); /* so that a halt is waited for in the kernel */
	uint8_t *ram = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(ram + MINI_CODE, code, len);
	struct kvm_userspace_memory_region m = { .memory_size = 0x10000,
						 .userspace_addr = (uintptr_t)ram };
	ioctl(vm, KVM_SET_USER_MEMORY_REGION, &m);
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	struct kvm_sregs s;
	ioctl(vcpu, KVM_GET_SREGS, &s);
	s.cs.base = 0;
	s.cs.selector = 0;
	ioctl(vcpu, KVM_SET_SREGS, &s);
	struct kvm_regs r = { .rip = MINI_CODE, .rsp = 0x8000, .rflags = 2 };
	return ioctl(vcpu, KVM_SET_REGS, &r) ? -1 : vcpu;
}

static _Noreturn void mini_run(struct mini_shared *shared, const uint8_t *code,
			       size_t len)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mini_signal_target = shared;
	struct sigaction sa = { .sa_handler = mini_on_signal };
	sigaction(SIGUSR1, &sa, NULL);
	int vcpu = mini_vcpu(code, len);
	shared->vcpu_fd = vcpu;
	while (vcpu >= 0 && !shared->quit) {
		int r = ioctl(vcpu, KVM_RUN, 0);
		shared->exits++;
		if (r < 0 && errno == EINTR)
			shared->interrupted++;
		else if (r < 0)
			break;
	}
	_exit(1);
}

static inline void mini_start(struct mini_vmm *v, const uint8_t *code, size_t len)
{
	v->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	assert_true(v->shared != MAP_FAILED);
	v->pid = fork();
	assert_true(v->pid >= 0);
	if (!v->pid)
		mini_run(v->shared, code, len);
	while (!v->shared->vcpu_fd && waitpid(v->pid, NULL, WNOHANG) == 0)
		usleep(1000);
	assert_true(v->shared->vcpu_fd > 0);
}

static inline void mini_stop(struct mini_vmm *v)
{
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
	munmap(v->shared, 4096);
}

#endif
