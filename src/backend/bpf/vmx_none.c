/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmx_none.c: vmx.h on an architecture without VMX. */
#include "backend/bpf/vmx.h"

#include <errno.h>

int us_bpf_vmx_open(const struct us_guest *g, int pidfd, struct us_bpf_row *const *row,
		    struct us_bpf_vmx **ret, struct us_err *e)
{
	(void)pidfd, (void)row, (void)ret;
	return us_fail(e, -ENOTSUP, "pid %d: VMX is Intel's", g->pid);
}

void us_bpf_vmx_close(struct us_bpf_vmx *x)
{
	(void)x;
}

uint64_t us_bpf_vmx_refresh(struct us_bpf_vmx *x, uint64_t now_ns)
{
	(void)x, (void)now_ns;
	return 0;
}

bool us_bpf_shadow_paging(void)
{
	return false;
}
