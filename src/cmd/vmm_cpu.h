/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmm_cpu.h: how much of the host's CPUs a guest's VMM takes, all of its threads. */
#ifndef US_CMD_VMM_CPU_H
#define US_CMD_VMM_CPU_H

#include <stdint.h>
#include <sys/types.h>

struct us_vmm_cpu {
	double share; /* 1: a whole CPU; negative: not known */
	uint64_t ticks, ticks_ns;
};

#define US_VMM_CPU_UNKNOWN ((struct us_vmm_cpu){ .share = -1 })

/* Since the last time; sooner than after half a second it stays.  start_time: of
 * us_proc_stat, so that it is no other process; 0: whatever it is. */
void us_vmm_cpu_renew(struct us_vmm_cpu *c, pid_t pid, uint64_t start_time);

#endif
