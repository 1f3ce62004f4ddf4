/* SPDX-License-Identifier: GPL-2.0-or-later */
/* roots.c: see roots.h. */
#include "backend/bpf/roots.h"

#include "base/io.h"
#include "guest/page_table_aarch64.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH	   16  /* equal roots, if the guest has not changed them so far ... */
#define LONG_AFTER 512 /* ... and if it has, as a kernel does when it starts */
#define STAT_CPU   39  /* proc(5): the field of /proc/PID/stat */

static void see_half(struct us_bpf_roots *r, struct us_bpf_root *v, bool upper,
		     us_gpa at, bool fresh)
{
	if (v->seen && v->at[upper] != at) {
		r->changes[upper] = true;
		r->same[upper] = 0;
	} else if (fresh && r->same[upper] < UINT32_MAX) {
		r->same[upper]++;
	}
	v->at[upper] = at;
}

void us_bpf_roots_see(struct us_bpf_roots *r, unsigned vcpu,
		      const struct us_bpf_sample *l)
{
	if (vcpu >= US_MAX_VCPUS)
		return;
	const struct us_bpf_aarch64 *a = &l->arm;
	struct us_space s = us_aarch64_space(a->ttbr0, a->ttbr1, a->tcr, a->sctlr);
	struct us_bpf_root *v = &r->vcpu[vcpu];
	bool fresh = v->seen && v->saves != a->saves;
	bool old = l->flags & US_BPF_OLD_EL1;
	r->old |= old;
	r->fresh |= !old && l->kind == US_BPF_GUEST;
	see_half(r, v, false, s.root, fresh);
	see_half(r, v, true, s.root_upper, fresh);
	v->saves = a->saves;
	v->seen = true;
}

bool us_bpf_roots_known(const struct us_bpf_roots *r, bool upper)
{
	return r->same[upper] >= (r->changes[upper] ? LONG_AFTER : ENOUGH);
}

bool us_bpf_roots_need_more(const struct us_bpf_roots *r)
{
	return !r->fresh && !r->changes[0] && !r->changes[1] &&
	       !(us_bpf_roots_known(r, false) && us_bpf_roots_known(r, true));
}

void us_bpf_roots_doubt(const struct us_bpf_roots *r, const struct us_bpf_sample *l,
			struct us_regs *regs, struct us_stack_copy *window)
{
	if (!(l->flags & US_BPF_OLD_EL1) || regs->space.mode != US_PAGING_AARCH64)
		return;
	regs->space_old = !us_bpf_roots_known(r, false) || !us_bpf_roots_known(r, true);
	/* The code that would show the way to the caller cannot be read either. */
	if (!us_bpf_roots_known(r, us_aarch64_is_upper(regs->pc)))
		regs->bits = 0;
	if (us_bpf_roots_known(r, us_aarch64_is_upper(regs->fp)) &&
	    us_bpf_roots_known(r, us_aarch64_is_upper(regs->sp)))
		return;
	window->n_window = 0;
	window->n_frame = 0;
}

/* Where the thread ran last; -1: not known. */
static int cpu_of(pid_t pid, pid_t tid)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (us_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	/* The name, field 2, may contain anything, but ends with the last ')'. */
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < STAT_CPU; field++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at) : -1;
}

void us_bpf_roots_visit(pid_t pid, pid_t tid)
{
	cpu_set_t before, there;
	int cpu = cpu_of(pid, tid);
	if (cpu < 0 || cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(before), &before))
		return;
	CPU_ZERO(&there);
	CPU_SET(cpu, &there);
	if (!sched_setaffinity(0, sizeof(there), &there))
		sched_setaffinity(0, sizeof(before), &before);
}
