/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmx.c: see vmx.h. */
#include "backend/bpf/vmx.h"
#include "backend/bpf/exit_event.h"
#include "backend/bpf/vmx_rule.h"
#include "backend/kvm/probe.h"
#include "backend/kvm/vcpu.h"
#include "base/clock.h"
#include "base/io.h"
#include "vmm/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct us_bpf_vmx {
	unsigned n; /* vCPUs that are open */
	struct us_bpf_row *row[US_MAX_VCPUS];
	struct us_exit_event exits[US_MAX_VCPUS];
	struct us_kvm_vcpu vcpu[US_MAX_VCPUS];
	uint64_t due_ns[US_MAX_VCPUS];
};

bool us_bpf_shadow_paging(void)
{
	char text[8];
	return us_read_file(AT_FDCWD, "/sys/module/kvm_intel/parameters/ept", text,
			    sizeof(text)) > 0 &&
	       (*text == 'N' || *text == '0');
}

static uint8_t what_moved(const struct us_bpf_seen *a, const struct us_bpf_seen *b)
{
	uint8_t moves = 0;
	if (!us_vmx_same_root(a->cr3, b->cr3))
		moves |= US_BPF_MOVES_ROOT;
	if (a->cs_l != b->cs_l || a->cs_db != b->cs_db || a->ss_db != b->ss_db ||
	    a->cs_base != b->cs_base || a->ss_base != b->ss_base)
		moves |= US_BPF_MOVES_CODE;
	if (a->cpl != b->cpl)
		moves |= US_BPF_MOVES_RING;
	return moves;
}

/* The program may read it at any moment, so first mark what is not valid any more. */
void us_bpf_seen_note(struct us_bpf_seen *seen, const struct kvm_sregs *s)
{
	struct us_bpf_seen new = {
		.cr3 = s->cr3,
		.cs_base = s->cs.base,
		.ss_base = s->ss.base,
		.cs_l = s->cs.l,
		.cs_db = s->cs.db,
		.ss_db = s->ss.db,
		.cpl = s->ss.dpl,
		.n = seen->n < UINT8_MAX ? (uint8_t)(seen->n + 1) : seen->n,
		.moves = seen->moves,
	};
	if (seen->n)
		new.moves |= what_moved(seen, &new);
	__atomic_fetch_or(&seen->moves, new.moves, __ATOMIC_SEQ_CST);
	seen->cr3 = new.cr3;
	seen->cs_base = new.cs_base;
	seen->ss_base = new.ss_base;
	seen->cs_l = new.cs_l;
	seen->cs_db = new.cs_db;
	seen->ss_db = new.ss_db;
	seen->cpl = new.cpl;
	__atomic_store_n(&seen->n, new.n, __ATOMIC_SEQ_CST);
}

static int open_one(struct us_bpf_vmx *x, int pidfd, const struct us_guest *g,
		    unsigned i, bool count_exits, struct us_err *e)
{
	x->n++;
	if (!g->vcpu[i].tid) /* no thread has run it yet */
		return 0;
	int r = us_kvm_vcpu_open(&x->vcpu[i], pidfd, g->pid, &g->vcpu[i], e);
	if (r == -ENOENT) /* the thread has ended since */
		return 0;
	if (r < 0)
		return r;
	x->row[i]->seen = (struct us_bpf_seen){ 0 };
	return count_exits ? us_exit_event_open(&x->exits[i], g->vcpu[i].tid, e) : 0;
}

int us_bpf_vmx_open(const struct us_guest *g, int pidfd, struct us_bpf_row *const *row,
		    struct us_bpf_vmx **ret, struct us_err *e)
{
	struct us_host h;
	us_host_read(&h);
	/* Some guests must not be stopped: see us_kvm_probe(). */
	int r = us_kvm_probe(&(struct us_target){ .guest = g }, e);
	if (r < 0)
		return r;
	struct us_bpf_vmx *x = calloc(1, sizeof(*x));
	if (!x)
		return us_fail(e, -ENOMEM, "attach to pid %d: out of memory", g->pid);
	memcpy(x->row, row, g->n_vcpu * sizeof(*row));
	for (unsigned i = 0; !r && i < g->n_vcpu; i++)
		r = open_one(x, pidfd, g, i, us_exit_event_needed(h.release), e);
	if (r < 0)
		us_bpf_vmx_close(x);
	else
		*ret = x;
	return r;
}

void us_bpf_vmx_close(struct us_bpf_vmx *x)
{
	for (unsigned i = 0; x && i < x->n; i++) {
		us_kvm_vcpu_close(&x->vcpu[i]);
		us_exit_event_close(&x->exits[i]);
	}
	free(x);
}

static uint64_t look(struct us_kvm_vcpu *v, struct us_bpf_seen *seen)
{
	enum us_vcpu_state asleep;
	struct us_regs regs;
	bool have = false;
	us_kvm_vcpu_settle(v);
	if (!v->run || v->hold != US_KVM_FREE ||
	    us_kvm_vcpu_peek(v, &asleep) != US_KVM_RUNNING || us_kvm_vcpu_stop(v) < 0)
		return 0;
	enum us_vcpu_state state = us_kvm_vcpu_read(v, &regs, &have);
	if (have && state != US_VCPU_OFF && us_kvm_vcpu_check_thread(v))
		us_bpf_seen_note(seen, &v->run->s.regs.sregs);
	return us_kvm_vcpu_release(v);
}

uint64_t us_bpf_vmx_refresh(struct us_bpf_vmx *x, uint64_t now_ns)
{
	uint64_t taken_ns = 0;
	for (unsigned i = 0; x && i < x->n; i++) {
		struct us_bpf_seen *seen = &x->row[i]->seen;
		if (now_ns < x->due_ns[i])
			continue;
		taken_ns += look(&x->vcpu[i], seen);
		if (seen->n >= US_VMX_FIRST_SAMPLES)
			x->due_ns[i] = now_ns + US_NS_PER_SEC;
	}
	return taken_ns;
}
