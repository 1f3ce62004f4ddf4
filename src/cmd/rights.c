/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.c: see rights.h. */
#include "cmd/rights.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (1ULL << (capability))
#define KEPT		(BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH))
#define KEPT_FOR_BPF	(BIT(CAP_PERFMON) | BIT(CAP_BPF))

static void keep(uint64_t kept)
{
	struct __user_cap_header_struct head = { .version =
							 _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &head, caps) < 0)
		return;
	for (int i = 0; i < 2; i++) {
		uint32_t keep = (uint32_t)(kept >> (32 * i));
		caps[i].effective &= keep;
		caps[i].permitted &= keep;
		caps[i].inheritable = 0;
	}
	/* On failure this process keeps more rights than it needs, not fewer. */
	(void)syscall(SYS_capset, &head, caps);
}

void us_rights_drop(const struct us_backend *b)
{
	keep(KEPT | (b->caps & US_CAP_NO_STOP ? KEPT_FOR_BPF : 0));
}

void us_rights_read_only(void)
{
	keep(BIT(CAP_DAC_READ_SEARCH));
}

void us_rights_prefer_thread(void)
{
	struct sched_param p = { .sched_priority = 1 };
	/* Without permission samples come a little later; the summary counts them. */
	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
}
