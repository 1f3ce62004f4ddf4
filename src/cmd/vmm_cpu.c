/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmm_cpu.c: see vmm_cpu.h. */
#include "cmd/vmm_cpu.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "vmm/proc.h"

#include <unistd.h>

void us_vmm_cpu_renew(struct us_vmm_cpu *c, pid_t pid, uint64_t start_time)
{
	struct us_proc_stat s;
	_cleanup_close_ int proc = -1;
	uint64_t now = us_now_ns();
	double seconds = (double)(now - c->ticks_ns) / US_NS_PER_SEC;
	if (pid <= 0 || (c->ticks_ns && seconds < 0.5))
		return;
	proc = us_proc_open(pid);
	if (proc < 0 || us_proc_stat(proc, &s) != 0 ||
	    (start_time && s.start_time != start_time)) {
		*c = US_VMM_CPU_UNKNOWN;
		return;
	}
	if (c->ticks_ns)
		c->share = (double)(s.cpu_ticks - c->ticks) /
			   (double)sysconf(_SC_CLK_TCK) / seconds;
	c->ticks = s.cpu_ticks;
	c->ticks_ns = now;
}
