/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine.c: see machine.h. */
#include "backend/bpf/machine.h"

#include "backend/bpf/slots.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read at most: the kernel's file of them has no more room (bpf_seq_read(): 8 pages).
 */
#define MAX_SLOTS    1024
#define SEARCHES     3	   /* for new vCPUs, after a sign of one */
#define FIRST_TRIES  10	   /* for the thread of any vCPU, ... */
#define FIRST_US     10000 /* ... and the time between them */
#define SURE	     30	   /* calls after which to search even without a sign */
#define MP_UNSTARTED 1 /* include/uapi/linux/kvm.h: KVM_MP_STATE_UNINITIALIZED ... */
#define MP_SIPI	     4 /* ... to KVM_MP_STATE_SIPI_RECEIVED, */
#define MP_HALTED    3 /* except for this one; */
#define MP_STOPPED   5 /* and on arm64 KVM_MP_STATE_STOPPED */

static int find_slots(struct us_bpf_machine *m, struct us_bpf_found_slot *slot,
		      struct us_err *e)
{
	int n = 0;
	/* One vCPU may not have run yet, or the VMM has closed it. */
	for (unsigned i = 0; n == 0 && i < m->guest.n_vcpu; i++)
		if (m->vcpu[i])
			n = us_bpf_find_slots(m->programs, m->guest.pid, m->vcpu[i],
					      slot, MAX_SLOTS, e);
	if (n == -E2BIG || n == MAX_SLOTS) {
		us_fail(e, -E2BIG,
			"pid %d has %d or more memory slots, which bpf cannot read",
			m->guest.pid, MAX_SLOTS);
		us_hint(e, "--backend kvm");
		return -E2BIG;
	}
	if (n == 0)
		return us_fail(e, -ENOENT, "pid %d has given its guest no memory",
			       m->guest.pid);
	return n;
}

static int by_start(const void *a, const void *b)
{
	const struct us_region *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* The largest first: the programs search the slots in order. */
static void tell_programs(struct us_bpf_machine *m,
			  const struct us_bpf_found_slot *slot, unsigned n)
{
	struct us_bpf_guest *g = &us_bpf_guests(m->programs)[m->index];
	uint32_t other = !g->active;
	struct us_bpf_slots *s = &g->slots[other];
	for (unsigned i = 0; i < n; i++)
		s->region[i] = (struct us_bpf_region){ slot[i].start, slot[i].size,
						       slot[i].hva };
	s->n = n;
	s->generation = slot[0].generation;
	__atomic_store_n(&g->active, other, __ATOMIC_RELEASE);
}

static void set_memory(struct us_bpf_machine *m, const struct us_bpf_found_slot *slot,
		       unsigned n)
{
	m->memory = (m->memory + 1) % US_BPF_MEMORIES;
	struct us_region *region = m->region[m->memory];
	for (unsigned i = 0; i < n; i++)
		region[i] = (struct us_region){ .start = slot[i].start,
						.size = slot[i].size,
						.hva = slot[i].hva,
						.lazy = us_lazy_ram_has(
							&m->lazy, slot[i].hva,
							slot[i].hva + slot[i].size) };
	qsort(region, n, sizeof(*region), by_start);
	m->mem.region = region;
	m->mem.n_region = n;
	m->mem.last = 0;
	m->mem.pid = m->guest.pid;
	m->mem.pagemap = m->lazy.pagemap;
}

int us_bpf_machine_place(struct us_bpf_machine *m, struct us_err *e)
{
	_cleanup_free_ struct us_bpf_found_slot *slot = calloc(MAX_SLOTS,
							       sizeof(*slot));
	if (!slot)
		return us_fail(e, -ENOMEM, "read memory slots: out of memory");
	int found = find_slots(m, slot, e);
	if (found < 0)
		return found;
	unsigned n = us_bpf_join_slots(slot, (unsigned)found);
	m->n_slot = n < US_BPF_MAX_REGIONS ? n : US_BPF_MAX_REGIONS;
	m->n_slot_left_out = n - m->n_slot;
	tell_programs(m, slot, m->n_slot);
	set_memory(m, slot, m->n_slot);
	return 0;
}

/* Set the thread that ran the vCPU last: the kernel knows it best.  False: none has,
 * and /proc has shown none; or it has ended. */
static bool set_thread(struct us_vcpu *v, pid_t pid, pid_t tid)
{
	char path[64];
	if (tid <= 0)
		return v->tid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
	if (access(path, F_OK))
		return false;
	v->tid = tid;
	return true;
}

static bool has_started(int mp_state)
{
	return (mp_state < MP_UNSTARTED || mp_state > MP_SIPI ||
		mp_state == MP_HALTED) &&
	       mp_state != MP_STOPPED;
}

struct us_bpf_row *us_bpf_machine_row(const struct us_bpf_machine *m, unsigned vcpu)
{
	return &us_bpf_rows(m->programs)[m->row[vcpu]];
}

/* The memory slots that are read, and all names, are those of one machine. */
static int check_machine(struct us_bpf_machine *m, uint64_t kvm, struct us_err *e)
{
	if (m->kvm && m->kvm != kvm)
		return us_fail(e, -ENOTUNIQ, "pid %d runs more than one machine",
			       m->guest.pid);
	m->kvm = kvm;
	return 0;
}

/* It may run: to take it for one that does not would show a busy guest as idle. */
static int fail_elsewhere(const struct us_bpf_machine *m, const struct us_vcpu *v,
			  struct us_err *e)
{
	us_fail(e, -EXDEV,
		"the thread of vCPU %u of pid %d is in a PID namespace that uniscope's "
		"does not contain",
		v->index, m->guest.pid);
	us_hint(e, "run uniscope in the host's pid namespace (in a container: "
		   "--pid=host)");
	return -EXDEV;
}

static int take_vcpu(struct us_bpf_machine *m, unsigned i,
		     const struct us_bpf_found_vcpu *found, size_t n, struct us_err *e)
{
	struct us_vcpu *v = &m->guest.vcpu[i];
	for (size_t k = 0; k < n; k++) {
		const struct us_bpf_found_vcpu *f = &found[k];
		if (!us_vcpu_has_fd(v, f->fd))
			continue;
		if (check_machine(m, f->machine, e))
			return -ENOTUNIQ;
		if (f->protected)
			return us_fail(e, -EOPNOTSUPP,
				       "the registers of pid %d are encrypted (SEV or "
				       "TDX) and cannot be read",
				       m->guest.pid);
		if (!f->readable)
			return us_fail(e, -EOPNOTSUPP,
				       "uniscope does not know how this kernel stores "
				       "guest registers: its KVM module has no BTF, or "
				       "another layout");
		if (!v->tid && f->tid == US_BPF_ELSEWHERE)
			return fail_elsewhere(m, v, e);
		if (!set_thread(v, m->guest.pid, f->tid))
			return us_fail(e, -ESRCH,
				       "the thread of vCPU %u of pid %d is not known: "
				       "it has not run yet, or has ended",
				       v->index, m->guest.pid);
		m->vcpu[i] = f->vcpu;
		m->started[i] = has_started(f->mp_state);
		struct us_bpf_row *row = us_bpf_machine_row(m, i);
		row->guest = m->index;
		row->slots_at = f->slots_at;
		row->beat_part = US_BPF_WHOLE;
		row->vcpu = f->vcpu;
		return 0;
	}
	return us_fail(e, -ENODEV, "file %d of pid %d is not a vCPU", v->fd,
		       m->guest.pid);
}

/* The VMM's vCPUs, as the kernel knows them, one for each descriptor.  Returns how
 * many, or -errno. */
static int find_vcpus(struct us_bpf_machine *m, struct us_bpf_found_vcpu **ret,
		      struct us_err *e)
{
	const size_t most = US_MAX_VCPUS * (1 + US_MORE_FDS);
	*ret = calloc(most + 1, sizeof(**ret));
	if (!*ret)
		return us_fail(e, -ENOMEM, "find vCPUs: out of memory");
	return us_bpf_find_vcpus(m->programs, m->guest.pid, *ret, most, e);
}

static int add_row(struct us_bpf_machine *m, struct us_err *e)
{
	int r = us_bpf_client_add_row(m->client, m->n_row, &m->row[m->n_row], e);
	m->n_row += r == 0;
	return r;
}

static unsigned long count_threads(pid_t pid)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return stat(path, &st) ? 0 : st.st_nlink;
}

/* A vCPU that no thread has run yet is found when one does. */
static int take_first(struct us_bpf_machine *m, unsigned i,
		      const struct us_bpf_found_vcpu *found, size_t n, struct us_err *e)
{
	int r = take_vcpu(m, i, found, n, e);
	if (r != -ESRCH)
		return r;
	m->not_run |= 1ULL << i;
	return (unsigned)__builtin_popcountll(m->not_run) == m->guest.n_vcpu ? r : 0;
}

static int take_all(struct us_bpf_machine *m, struct us_err *e)
{
	_cleanup_free_ struct us_bpf_found_vcpu *found = NULL;
	int n = find_vcpus(m, &found, e), r = n < 0 ? n : 0;
	m->not_run = 0;
	for (unsigned i = 0; r == 0 && i < m->guest.n_vcpu; i++)
		r = take_first(m, i, found, (size_t)n, e);
	return r;
}

int us_bpf_machine_open(struct us_bpf_machine *m, const struct us_guest *g,
			struct us_err *e)
{
	*m = (struct us_bpf_machine){ .guest = *g };
	us_lazy_ram_open(g->pid, &m->lazy);
	int r = us_bpf_client_open(&m->client, e);
	if (r < 0)
		return r;
	m->programs = us_bpf_client_programs(m->client);
	m->index = us_bpf_client_index(m->client);
	m->n_thread = count_threads(g->pid);
	m->searches_left = SEARCHES; /* the guest may have changed since g was read */
	us_mem_init(&m->mem);
	/* Copy as much as possible, until more is known. */
	struct us_bpf_guest *shared = &us_bpf_guests(m->programs)[m->index];
	shared->window = shared->enough = US_BPF_MAX_WINDOW;
	for (unsigned i = 0; r == 0 && i < g->n_vcpu; i++)
		r = add_row(m, e);
	r = r ? r : take_all(m, e);
	/* A thread may have ended, and the one that follows it not run yet. */
	for (unsigned i = 0; r == -ESRCH && i < FIRST_TRIES; i++) {
		usleep(FIRST_US);
		r = take_all(m, e);
	}
	return r ? r : us_bpf_machine_place(m, e);
}

void us_bpf_machine_close(struct us_bpf_machine *m)
{
	us_bpf_client_close(m->client);
	m->client = NULL;
	us_lazy_ram_close(&m->lazy);
}

/* --- vCPUs that come later --- */

static unsigned number_of(const struct us_guest *g, int fd)
{
	unsigned i = 0;
	while (i < g->n_vcpu && !us_vcpu_has_fd(&g->vcpu[i], fd))
		i++;
	return i;
}

/* A vCPU that was unplugged and plugged in again has a new thread.  tid 0: take the one
 * that the kernel names. */
static bool take_again(struct us_bpf_machine *m, unsigned i, pid_t tid,
		       const struct us_bpf_found_vcpu *found, size_t n)
{
	struct us_vcpu before = m->guest.vcpu[i];
	m->guest.vcpu[i].tid = tid;
	if (take_vcpu(m, i, found, n, NULL) == 0) {
		m->not_run &= ~(1ULL << i);
		return true;
	}
	m->guest.vcpu[i] = before;
	return false;
}

static bool take_new(struct us_bpf_machine *m, const struct us_vcpu *v,
		     const struct us_bpf_found_vcpu *found, size_t n)
{
	unsigned i = m->guest.n_vcpu;
	if (i == US_MAX_VCPUS || (i == m->n_row && add_row(m, NULL)))
		return false;
	m->guest.vcpu[i] = *v;
	int r = take_vcpu(m, i, found, n, NULL);
	if (r == -ESRCH)
		m->searches_left = SEARCHES; /* its thread will be known soon */
	m->guest.n_vcpu += r == 0;
	return r == 0;
}

static uint64_t compare_vcpus(struct us_bpf_machine *m, uint64_t gone, uint64_t moved,
			      const struct us_bpf_found_vcpu *found, size_t n)
{
	uint64_t fresh = 0;
	_cleanup_free_ struct us_guest *now = malloc(sizeof(*now));
	/* Of several machines too: take_vcpu() leaves out the vCPUs of others. */
	if (!now || us_guest_inspect(m->guest.pid, now, NULL) < 0 ||
	    now->start_time != m->guest.start_time)
		return 0;
	for (unsigned k = 0; k < now->n_vcpu; k++) {
		const struct us_vcpu *v = &now->vcpu[k];
		unsigned i = number_of(&m->guest, v->fd);
		bool taken = false;
		if (i == m->guest.n_vcpu)
			taken = take_new(m, v, found, n);
		else if (moved >> i & 1)
			taken = take_again(m, i, 0, found, n);
		else if ((gone | m->not_run) >> i & 1)
			taken = take_again(m, i, v->tid, found, n);
		if (taken)
			fresh |= 1ULL << i;
	}
	return fresh;
}

static bool knows(const struct us_bpf_machine *m, uint64_t vcpu)
{
	for (unsigned i = 0; i < m->guest.n_vcpu; i++)
		if (m->vcpu[i] == vcpu)
			return true;
	return false;
}

/* Bit n: the thread of vCPU n had ticks while it ran no vCPU, or another one. */
static uint64_t find_strange(struct us_bpf_machine *m)
{
	uint64_t strange = 0;
	for (unsigned i = 0; i < m->guest.n_vcpu; i++) {
		uint64_t foreign = us_bpf_machine_row(m, i)->foreign;
		if (foreign != m->foreign[i])
			strange |= 1ULL << i;
		m->foreign[i] = foreign;
	}
	return strange;
}

/* Those among the strange ones that the kernel has seen in another thread since. */
static uint64_t find_moved(const struct us_bpf_machine *m, uint64_t strange,
			   const struct us_bpf_found_vcpu *found, size_t n)
{
	uint64_t moved = 0;
	for (unsigned i = 0; i < m->guest.n_vcpu; i++)
		for (size_t k = 0; k < n && strange >> i & 1; k++) {
			struct us_vcpu now = { 0 };
			if (found[k].vcpu == m->vcpu[i] &&
			    found[k].tid != m->guest.vcpu[i].tid &&
			    set_thread(&now, m->guest.pid, found[k].tid))
				moved |= 1ULL << i;
		}
	return moved;
}

uint64_t us_bpf_machine_find_new(struct us_bpf_machine *m, uint64_t gone, uint64_t away,
				 bool must)
{
	unsigned long n_thread = count_threads(m->guest.pid);
	uint64_t strange = find_strange(m) | away;
	/* The thread of a new vCPU appears before the vCPU. */
	if (n_thread != m->n_thread || gone != m->gone || strange || m->not_run ||
	    must || !(++m->searches % SURE))
		m->searches_left = SEARCHES;
	m->n_thread = n_thread;
	m->gone = gone;
	if (!m->searches_left)
		return 0;
	m->searches_left--;
	_cleanup_free_ struct us_bpf_found_vcpu *found = NULL;
	int n = find_vcpus(m, &found, NULL);
	if (n <= 0)
		return 0;
	uint64_t moved = find_moved(m, strange & ~gone, found, (size_t)n);
	bool changed = gone || moved || m->not_run;
	for (int i = 0; i < n; i++)
		changed = changed || !knows(m, found[i].vcpu);
	return changed ? compare_vcpus(m, gone, moved, found, (size_t)n) : 0;
}

/* A vCPU's thread updates its row at each tick.  If that comes in between, the credit
 * of one tick may be lost. */
void us_bpf_machine_set_budget(struct us_bpf_machine *m, uint32_t ppm)
{
	for (unsigned i = 0; i < m->guest.n_vcpu; i++) {
		struct us_bpf_row *row = us_bpf_machine_row(m, i);
		row->budget_ppm = ppm;
		row->credit_ns = 0;
		row->credited_ns = us_now_ns();
	}
}

void us_bpf_machine_count(const struct us_bpf_machine *m, struct us_bpf_counts *ret)
{
	*ret = (struct us_bpf_counts){ .lost = us_bpf_client_lost(m->client) };
	for (unsigned i = 0; i < m->guest.n_vcpu; i++) {
		const struct us_bpf_row *row = us_bpf_machine_row(m, i);
		ret->skipped += row->skipped;
		ret->foreign += row->foreign;
		ret->lost += row->full;
	}
}

bool us_bpf_machine_fetch(struct us_bpf_machine *m, unsigned vcpu,
			  struct us_bpf_sample *ret)
{
	_cleanup_free_ struct us_bpf_found_vcpu *found = NULL;
	int n = find_vcpus(m, &found, NULL);
	for (int i = 0; i < n; i++) {
		if (found[i].vcpu != m->vcpu[vcpu] || !found[i].readable ||
		    found[i].sample.flags & (US_BPF_NO_PC | US_BPF_NO_STACK))
			continue;
		*ret = found[i].sample;
		return true;
	}
	return false;
}

/* A sample taken during the change has the old number, or none. */
static void set_plan(struct us_bpf_guest *g, const struct us_pointed_plan *plan)
{
	if (g->plan.number == plan->number)
		return;
	__atomic_store_n(&g->plan.number, 0, __ATOMIC_SEQ_CST);
	g->plan.n = plan->n;
	g->plan.root_upper = plan->root_upper;
	memcpy(g->plan.part, plan->part, sizeof(plan->part));
	__atomic_store_n(&g->plan.number, plan->number, __ATOMIC_SEQ_CST);
}

void us_bpf_machine_point(struct us_bpf_machine *m, unsigned vcpu, us_gva at,
			  const struct us_pointed_plan *plan)
{
	set_plan(&us_bpf_guests(m->programs)[m->index], plan);
	us_bpf_machine_row(m, vcpu)->pointer_at = at;
}
