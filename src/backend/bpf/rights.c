/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.c: see rights.h. */
#include "backend/bpf/rights.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static bool has_types(const char *sys, const char *module)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/btf/%s", sys, module);
	return module[0] && access(path, F_OK) == 0;
}

/* Only CAP_SYS_ADMIN may look up a module's types (BPF_BTF_GET_NEXT_ID).  Without them
 * libbpf may load the programs nevertheless, but they know no registers. */
int us_bpf_check_rights(const struct us_bpf_rights *has, const char *sys,
			const char *kvm, struct us_err *why)
{
	if (has->admin)
		return 0;
	if (!has->bpf || !has->perfmon)
		us_fail(why, -EPERM, "CAP_BPF and CAP_PERFMON are needed");
	else if (has_types(sys, kvm))
		us_fail(why, -EPERM,
			"CAP_SYS_ADMIN is needed to look up the types of module %s",
			kvm);
	else
		return 0;
	us_hint(why, US_BPF_RIGHTS_HINT);
	return -EPERM;
}
