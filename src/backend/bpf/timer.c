/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timer.c: see timer.h. */
#include "backend/bpf/timer.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEVER_NS (1ULL << 50) /* 13 days of CPU time */

/* If this is 3, Debian's kernels give timers to administrators only. */
static bool is_for_admins(void)
{
	char text[16] = "";
	us_read_file(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", text,
		     sizeof(text));
	return atoi(text) > 2;
}

static int explain(int code, pid_t tid, struct us_err *e)
{
	us_fail(e, code, "set a timer on thread %d: %s", tid, strerror(-code));
	if ((code == -EACCES || code == -EPERM) && is_for_admins())
		us_hint(e, "run uniscope with sudo, or: sysctl "
			   "kernel.perf_event_paranoid=2");
	else if (code == -EACCES || code == -EPERM)
		us_hint(e, "run uniscope with sudo, or with CAP_PERFMON and "
			   "CAP_SYS_PTRACE");
	return code;
}

int us_bpf_timer_open(struct us_bpf_timer *t, struct us_bpf_programs *p, pid_t tid,
		      uint32_t row, struct us_err *e)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NEVER_NS,
		/* On VMX this makes KVM read the guest's: see exit_event.h. */
		.sample_type = us_bpf_host_kind(NULL) == US_BPF_HOST_VMX
				       ? PERF_SAMPLE_IP
				       : 0,
		.disabled = 1, /* attaching enables it */
	};
	memset(t, 0, sizeof(*t));
	t->event_fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
				   PERF_FLAG_FD_CLOEXEC);
	if (t->event_fd < 0)
		return explain(-errno, tid, e);
	int r = us_bpf_attach(p, t->event_fd, row, &t->link, e);
	if (r < 0)
		close(t->event_fd);
	t->open = r == 0;
	return r;
}

void us_bpf_timer_close(struct us_bpf_timer *t)
{
	if (!t->open)
		return;
	us_bpf_detach(t->link);
	close(t->event_fd);
	t->open = false;
}

void us_bpf_timer_set(struct us_bpf_timer *t, uint64_t period_ns)
{
	if (!period_ns)
		period_ns = NEVER_NS;
	if (t->open)
		ioctl(t->event_fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}

bool us_bpf_timer_ran(const struct us_bpf_timer *t, uint64_t *ret_ns)
{
	return t->open && read(t->event_fd, ret_ns, sizeof(*ret_ns)) == sizeof(*ret_ns);
}

uint64_t us_bpf_timer_max_hz(void)
{
	char text[32] = "";
	if (us_read_file(AT_FDCWD, "/proc/sys/kernel/perf_event_max_sample_rate", text,
			 sizeof(text)) <= 0)
		return UINT64_MAX;
	return strtoull(text, NULL, 10);
}
