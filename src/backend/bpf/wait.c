/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wait.c: see wait.h. */
#include "backend/bpf/wait.h"

#include <string.h>

#define AARCH64_WFI 0xd503207f

void us_bpf_wait_init(struct us_bpf_wait *w, struct us_mem *mem)
{
	us_paging_init(&w->paging, mem);
	us_bpf_wait_forget(w);
}

void us_bpf_wait_forget(struct us_bpf_wait *w)
{
	memset(w->place, 0, sizeof(w->place));
}

/* other: what to return if the code cannot be read. */
static bool is_wait(struct us_bpf_wait *w, const struct us_regs *regs, us_gva at,
		    bool other)
{
	uint32_t insn;
	us_paging_new_sample(&w->paging);
	if (!us_paging_read(&w->paging, &regs->space, at, &insn, sizeof(insn)))
		return other;
	return insn == AARCH64_WFI;
}

bool us_bpf_wait_is(struct us_bpf_wait *w, const struct us_regs *regs, bool exited)
{
	us_gva at = exited ? regs->pc : regs->pc - 4;
	us_gpa root = regs->space.root ^ regs->space.root_upper;
	struct us_bpf_wait_place *p = &w->place[(at >> 2) % US_BPF_WAIT_PLACES];
	if (regs->arch != US_ARCH_AARCH64 || regs->bits != 64)
		return exited;
	if (!p->valid || p->at != at || p->root != root)
		*p = (struct us_bpf_wait_place){ at, root, true,
						 is_wait(w, regs, at, exited) };
	return p->waits;
}
