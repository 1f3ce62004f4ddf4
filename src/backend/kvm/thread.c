/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/thread.c: see kvm/thread.h. */
#include "backend/kvm/thread.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

static int open_file(pid_t pid, pid_t tid, const char *name, struct us_err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : us_fail(e, -errno, "open %s: %s", path, strerror(errno));
}

int us_kvm_thread_open(struct us_kvm_thread *t, pid_t pid, const struct us_vcpu *which,
		       struct us_err *e)
{
	*t = (struct us_kvm_thread){
		.tid = which->tid,
		.vcpu = *which,
		.stat_fd = -1,
		.schedstat_fd = -1,
		.frozen = { .dir = -1, .v1_dir = -1 },
	};
	t->syscall_fd = open_file(pid, t->tid, "syscall", e);
	if (t->syscall_fd >= 0)
		t->stat_fd = open_file(pid, t->tid, "stat", e);
	int r = t->syscall_fd < 0 ? t->syscall_fd : t->stat_fd;
	if (r < 0) {
		us_kvm_thread_close(t);
		return r;
	}
	t->schedstat_fd = open_file(pid, t->tid, "schedstat", NULL);
	us_frozen_open(&t->frozen, pid, t->tid);
	return 0;
}

void us_kvm_thread_close(struct us_kvm_thread *t)
{
	us_closep(&t->syscall_fd);
	us_closep(&t->stat_fd);
	us_closep(&t->schedstat_fd);
	us_frozen_close(&t->frozen);
	t->syscall_fd = t->stat_fd = t->schedstat_fd = -1;
}

long us_kvm_fd_of_run(const char *line)
{
	char *end;
	if (strtoul(line, &end, 10) != SYS_ioctl)
		return -1;
	unsigned long fd = strtoul(end, &end, 16);
	return strtoul(end, &end, 16) == KVM_RUN && fd <= INT_MAX ? (long)fd : -1;
}

bool us_kvm_thread_is_in_run(const struct us_kvm_thread *t)
{
	return us_vcpu_has_fd(&t->vcpu, us_kvm_fd_of_run(t->asleep_in));
}

/* Newer architectures have no others than the newer ones of these calls. */
bool us_kvm_awaits_events(const char *line)
{
	static const long calls[] = {
#ifdef SYS_poll
		SYS_poll,	  SYS_select,	SYS_epoll_wait,
#endif
		SYS_ppoll,	  SYS_pselect6, SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
	};
	char *end;
	long call = strtol(line, &end, 10);
	for (size_t i = 0; end != line && i < sizeof(calls) / sizeof(*calls); i++)
		if (call == calls[i])
			return true;
	return false;
}

enum us_vcpu_state us_kvm_thread_in_vmm(const struct us_kvm_thread *t,
					uint32_t exit_reason)
{
	switch (exit_reason) {
	case KVM_EXIT_HLT: /* the VMM has the interrupt controller */
		return US_VCPU_HALTED;
	case KVM_EXIT_IO:
	case KVM_EXIT_MMIO:
	case KVM_EXIT_HYPERCALL:
		return us_kvm_awaits_events(t->asleep_in) ? US_VCPU_HALTED
							  : US_VCPU_EXIT;
	case KVM_EXIT_SHUTDOWN:
	case KVM_EXIT_FAIL_ENTRY:
	case KVM_EXIT_INTERNAL_ERROR:
	case KVM_EXIT_SYSTEM_EVENT:
		return US_VCPU_OFF;
	case KVM_EXIT_UNKNOWN:
	case KVM_EXIT_INTR:
		/* The VMM called it out of KVM_RUN.  If it stays out, its owner has
		 * paused it. */
		return t->same_place ? US_VCPU_OFF : US_VCPU_EXIT;
	default:
		return US_VCPU_EXIT;
	}
}

/* One letter of proc(5), 0 if the thread has ended. */
static char thread_state(const struct us_kvm_thread *t)
{
	char line[128];
	ssize_t n = pread(t->stat_fd, line, sizeof(line) - 1, 0);
	if (n <= 0)
		return 0;
	line[n] = '\0';
	const char *name_end = strrchr(line, ')');
	char state = name_end && name_end[1] ? name_end[2] : 0;
	return state == 'Z' || state == 'X' ? 0 : state;
}

enum us_kvm_doing us_kvm_thread_peek(struct us_kvm_thread *t,
				     enum us_kvm_asleep *ret_asleep)
{
	char line[sizeof(t->asleep_in)] = "";
	ssize_t n = pread(t->syscall_fd, line, sizeof(line) - 1, 0);
	if (n <= 0)
		return US_KVM_VANISHED;
	t->same_place = !strcmp(line, t->asleep_in);
	memcpy(t->asleep_in, line, sizeof(line));
	if (!strncmp(line, "running", 7))
		return US_KVM_RUNNING;
	char state = thread_state(t);
	switch (state) {
	case 0:
		return US_KVM_VANISHED;
	case 'R': /* woke up in between */
		return US_KVM_RUNNING;
	case 'T':
	case 't':
		*ret_asleep = US_KVM_STOPPED_ALL;
		break;
	default:
		if (!us_kvm_thread_is_in_run(t))
			*ret_asleep = US_KVM_IN_VMM;
		else if ((state == 'S' || state == 'D') && /* D: by cgroup v1 */
			 us_frozen_now(&t->frozen, us_now_ns()))
			*ret_asleep = US_KVM_STOPPED_ALL;
		else if (state != 'S')
			*ret_asleep = US_KVM_IN_RUN_BUSY;
		else
			*ret_asleep = US_KVM_IN_RUN;
	}
	return US_KVM_ASLEEP;
}

bool us_kvm_thread_times(const struct us_kvm_thread *t, uint64_t *ret_run_ns,
			 uint64_t *ret_wait_ns)
{
	char line[96], *end;
	*ret_run_ns = *ret_wait_ns = 0;
	ssize_t n = pread(t->schedstat_fd, line, sizeof(line) - 1, 0);
	if (n <= 0)
		return false;
	line[n] = '\0';
	*ret_run_ns = strtoull(line, &end, 10);
	*ret_wait_ns = strtoull(end, NULL, 10);
	return true;
}
