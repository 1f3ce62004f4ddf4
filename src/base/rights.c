/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.c: see rights.h. */
#include "base/rights.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void us_rights_keep(uint64_t kept)
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
	(void)syscall(SYS_capset, &head, caps);
}
