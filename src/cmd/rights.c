/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.c: see rights.h. */
#include "cmd/rights.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT ((1U << CAP_SYS_PTRACE) | (1U << CAP_DAC_READ_SEARCH))

void us_rights_drop(void)
{
	struct __user_cap_header_struct head = { .version =
							 _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &head, caps) < 0)
		return;
	for (int i = 0; i < 2; i++) {
		uint32_t keep = i == 0 ? KEPT : 0;
		caps[i].effective &= keep;
		caps[i].permitted &= keep;
		caps[i].inheritable = 0;
	}
	/* A failure leaves us with more than we need, not with less. */
	(void)syscall(SYS_capset, &head, caps);
}

void us_rights_prefer_thread(void)
{
	struct sched_param p = { .sched_priority = 1 };
	/* Not permitted: looks come a little later, as the summary counts them. */
	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
}
