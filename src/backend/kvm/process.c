/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/process.c: the process of a guest (see kvm/probe.h), on any kind of host. */
#include "backend/kvm/probe.h"
#include "base/cleanup.h"
#include "vmm/host.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int us_kvm_open_process(const struct us_guest *g, struct us_err *e)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, g->pid, 0);
	if (fd < 0)
		return us_fail(e, -errno, "open a handle on pid %d: %s", g->pid,
			       strerror(errno));
	if (!us_guest_alive(g))
		return us_fail(e, -ESRCH, "pid %d is no longer the guest", g->pid);
	return us_take_fd(fd);
}

static bool have_ptrace_capability(void)
{
	return us_host_capable(CAP_SYS_PTRACE);
}

static int refuse_right(const struct us_guest *g, struct us_err *e)
{
	int scope = us_host_ptrace_scope();
	if (scope >= 3) {
		us_fail(e, -EPERM,
			"attach to pid %d: kernel.yama.ptrace_scope is %d: nobody may "
			"attach until this host reboots",
			g->pid, scope);
		us_hint(e, "use the monitor or the stub: qmp:PATH or gdb:HOST:PORT");
		return -EPERM;
	}
	if (geteuid() != g->uid && !have_ptrace_capability())
		us_fail(e, -EPERM,
			"attach to pid %d: it belongs to uid %u, uniscope runs as uid "
			"%u and without CAP_SYS_PTRACE",
			g->pid, g->uid, geteuid());
	else if (scope && !have_ptrace_capability())
		us_fail(e, -EPERM,
			"attach to pid %d: kernel.yama.ptrace_scope is %d: only "
			"CAP_SYS_PTRACE may attach",
			g->pid, scope);
	else
		us_fail(e, -EPERM,
			"attach to pid %d: not permitted (it is protected, or has "
			"rights or a namespace that uniscope lacks)",
			g->pid);
	us_hint(e, "run uniscope with sudo");
	return -EPERM;
}

int us_kvm_may_look(const struct us_guest *g, struct us_err *e)
{
	if (g->limited)
		return refuse_right(g, e);
	_cleanup_close_ int pidfd = us_kvm_open_process(g, e);
	if (pidfd < 0)
		return pidfd;
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_getfd, pidfd, g->vcpu[0].fd, 0);
	if (fd >= 0)
		return 0;
	if (errno == EPERM || errno == EACCES)
		return refuse_right(g, e);
	if (errno == ENOSYS)
		return us_fail(e, -ENOSYS,
			       "Linux 5.6 or newer is needed: no "
			       "pidfd_getfd here");
	return us_fail(e, -errno, "take file %d of pid %d: %s", g->vcpu[0].fd, g->pid,
		       strerror(errno));
}
