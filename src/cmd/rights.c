/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.c: see rights.h. */
#include "cmd/rights.h"

#include "base/rights.h"

#include <linux/capability.h>
#include <sched.h>

#define KEPT	     (US_RIGHT(CAP_SYS_PTRACE) | US_RIGHT(CAP_DAC_READ_SEARCH))
#define KEPT_FOR_BPF (US_RIGHT(CAP_PERFMON) | US_RIGHT(CAP_BPF))

void us_rights_drop(const struct us_backend *b)
{
	us_rights_keep(KEPT | (b->caps & US_CAP_NO_STOP ? KEPT_FOR_BPF : 0));
}

void us_rights_read_only(void)
{
	us_rights_keep(US_RIGHT(CAP_DAC_READ_SEARCH));
}

void us_rights_prefer_thread(void)
{
	struct sched_param p = { .sched_priority = 1 };
	/* Without permission samples come a little later; the summary counts them. */
	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
}
