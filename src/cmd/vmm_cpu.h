/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmm_cpu.h: how much host CPU a guest's VMM uses, with all its threads. */
#ifndef US_CMD_VMM_CPU_H
#define US_CMD_VMM_CPU_H

#include <stdint.h>
#include <sys/types.h>

struct us_vmm_cpu {
	double share; /* 1: a whole CPU; negative: not known */
	uint64_t ticks, ticks_ns;
};

#define US_VMM_CPU_UNKNOWN ((struct us_vmm_cpu){ .share = -1 })

/* Update the share since the last call; within half a second it does not change.
 * start_time: from us_proc_stat, to detect another process with this pid; 0: not
 * checked. */
void us_vmm_cpu_renew(struct us_vmm_cpu *c, pid_t pid, uint64_t start_time);

#endif
