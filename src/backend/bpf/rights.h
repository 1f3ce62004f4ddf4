/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.h: which capabilities it takes to load the programs. */
#ifndef US_BACKEND_BPF_RIGHTS_H
#define US_BACKEND_BPF_RIGHTS_H

#include "base/err.h"

#include <stdbool.h>

#define US_BPF_RIGHTS_HINT                                                             \
	"run uniscope with sudo, or once: setcap cap_sys_admin,cap_sys_ptrace,"        \
	"cap_dac_read_search+ep $(command -v uniscope)"

struct us_bpf_rights {
	bool admin;   /* CAP_SYS_ADMIN */
	bool bpf;     /* CAP_BPF */
	bool perfmon; /* CAP_PERFMON */
};

/* 0, or -EPERM and why.  sys: "/sys/kernel"; kvm: the module that runs the guests,
 * which may be a part of the kernel (us_host.kvm). */
US_MUST_CHECK int us_bpf_check_rights(const struct us_bpf_rights *has, const char *sys,
				      const char *kvm, struct us_err *why);

#endif
