/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/process.c: us_kvm_open_process(), see kvm/probe.h; for hosts of any kind. */
#include "backend/kvm/probe.h"
#include "base/cleanup.h"

#include <errno.h>
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
		return us_fail(e, -ESRCH, "pid %d is not the guest any more", g->pid);
	return us_take_fd(fd);
}
