/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/idle.c: idle time that backends do not see, because they know only HLT.
 *
 * A Linux vCPU that polls for work (poll_idle, haltpoll), or waits in MWAIT or in a
 * hypercall, looks busy to the host.  It is idle if its innermost function is one that
 * waits, called by Linux's idle task.  Its samples then become idle samples.
 */
#include "profile/profile_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS_MOST 12
#define CLOCKS_MOST  5 /* functions deep */

/* Possible innermost functions; a '*' at the end matches any rest. */
static const char *const waiting[] = {
	"poll_idle",
	"cpu_do_idle", /* of arm64, around WFI */
	"cpu_idle_poll",
	"default_idle",
	"native_safe_halt",
	"native_halt",
	"pv_native_safe_halt",
	"mwait_idle*",
	"intel_idle*",
	"acpi_idle_*",
	"acpi_safe_halt",
	"acpi_processor_ffh_cstate_enter*",
	"amd_e400_idle",
	"default_enter_idle",
	"haltpoll_*",
	"tdx_halt*",
	"tdx_safe_halt*",
	"__tdx_hypercall*",
	"__halt",
	"xen_safe_halt*",
	"arch_cpu_idle",
};
/* What poll_idle() reads the time with, to see whether it has polled for long enough.
 */
static const char *const polling[] = { "poll_idle" };
static const char *const clocks[] = {
	"local_clock*",	      "sched_clock*",	       "native_sched_clock*",
	"kvm_sched_clock_*",  "kvm_clock_*",	       "pvclock_*",
	"__pvclock_*",	      "paravirt_sched_clock",  "xen_sched_clock",
	"xen_clocksource_*",  "read_hv_sched_clock_*", "read_hv_clock_*",
	"vmware_sched_clock", "arch_counter_*",	       "arch_timer_read_*",
};
/* Functions that only the idle task has. */
static const char *const idle_task[] = { "do_idle", "cpu_startup_entry" };

/* Suffixes that a compiler adds (".isra.0", ".constprop.0") are ignored. */
static bool is_like(const char *name, const char *pattern)
{
	size_t n = strlen(pattern);
	if (pattern[n - 1] == '*')
		return !strncmp(name, pattern, n - 1);
	return !strncmp(name, pattern, n) && (!name[n] || name[n] == '.');
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_like(name, list[i]))
			return true;
	return false;
}

/* Is any function at this address, inlined ones too, in the list? */
static int site_is(struct us_profile *p, uint32_t node, bool is_return,
		   const char *const *list, size_t n)
{
	const struct us_profile_site *site = us_profile_site(p, node, is_return);
	if (!site)
		return -ENOMEM;
	for (uint32_t i = 0; i < site->n; i++) {
		const struct us_profile_frame *f = &p->frames.v[site->first + i];
		if (p->funcs.v[f->func].known &&
		    is_one_of(p->funcs.v[f->func].name, list, n))
			return 1;
	}
	return 0;
}

#define IS_ONE_OF(p, node, is_return, list)                                            \
	site_is(p, node, is_return, list, sizeof(list) / sizeof(*(list)))

/* Does poll_idle() read a clock there?  What interrupts it is no idle time.  1, 0 or
 * -ENOMEM. */
static int is_polling(struct us_profile *p, uint32_t node)
{
	int clock = IS_ONE_OF(p, node, false, clocks);
	for (unsigned k = 0; k < CLOCKS_MOST && clock > 0; k++) {
		node = p->trie.nodes.v[node].parent;
		if (!node || p->trie.nodes.v[node].flags & US_PC_EXACT)
			return 0;
		int r = IS_ONE_OF(p, node, true, polling);
		if (r)
			return r;
		clock = IS_ONE_OF(p, node, true, clocks);
	}
	return clock < 0 ? clock : 0;
}

/* 1, 0 or -ENOMEM. */
static int is_idle(struct us_profile *p, uint32_t node)
{
	int r = node ? IS_ONE_OF(p, node, false, waiting) : 0;
	if (node && r == 0)
		r = is_polling(p, node);
	if (r <= 0)
		return r;
	r = 0;
	for (unsigned k = 0; k < CALLERS_MOST && r == 0; k++) {
		node = p->trie.nodes.v[node].parent;
		if (!node)
			break;
		r = IS_ONE_OF(p, node, !(p->trie.nodes.v[node].flags & US_PC_EXACT),
			      idle_task);
	}
	return r;
}

/* The verdict on a key, so that it is found only once. */
enum verdict {
	UNASKED,
	BUSY,
	IDLE,
};

static int verdict_of(struct us_profile *p, uint8_t *verdict, uint32_t key)
{
	if (key % US_N_KIND == US_KIND_READY)
		return BUSY;
	uint32_t stack = us_profile_guest_node(p, key / US_N_KIND);
	if (verdict[stack] == UNASKED) {
		int r = is_idle(p, stack);
		if (r < 0)
			return r;
		verdict[stack] = r ? IDLE : BUSY;
	}
	return verdict[stack];
}

/* Here all stacks are taken as complete; take_ends() corrects those that are not. */
static void take_sum(struct us_profile *p, const struct us_slice_sum *x)
{
	p->sum.running -= x->weight;
	p->sum.idle += x->weight;
	p->sum.ends[US_END_ROOT] -= x->weight;
	if (x->key % US_N_KIND == US_KIND_EXIT)
		p->sum.exit -= x->weight;
}

/* Keep only busy stacks in the slices of running samples.  moved: the weight of the
 * others, by slice of p->idle, which is at least as wide. */
static int take_idle(struct us_profile *p, uint8_t *verdict,
		     uint64_t moved[US_SLICES_MAX])
{
	struct us_slices *r = &p->running;
	size_t to = 0, from = 0;
	for (unsigned s = 0; s < r->n; s++) {
		size_t end = r->start[s + 1];
		uint64_t at = s * (r->width_ns / US_SLICES_WIDTH_NS) /
			      (p->idle.width_ns / US_SLICES_WIDTH_NS);
		r->start[s] = to;
		for (; from < end; from++) {
			struct us_slice_sum x = r->sums.v[from];
			int v = verdict_of(p, verdict, x.key);
			if (v < 0)
				return v;
			if (v == BUSY) {
				r->sums.v[to++] = x;
				continue;
			}
			moved[at < p->idle.n ? at : p->idle.n - 1] += x.weight;
			take_sum(p, &x);
		}
	}
	r->start[r->n] = r->sums.n = to;
	return 0;
}

static void take_from_stretches(struct us_profile *p, const uint8_t *verdict)
{
	for (size_t i = 0; i < p->stretches.n; i++) {
		uint32_t *key = &p->stretches.v[i].key;
		if (*key >= US_STRETCH_OFF || *key % US_N_KIND == US_KIND_READY)
			continue;
		if (verdict[us_profile_guest_node(p, *key / US_N_KIND)] == IDLE)
			*key = US_STRETCH_IDLE;
	}
	for (size_t i = 0; i < p->moments.n; i++) {
		uint32_t *key = &p->moments.v[i].key;
		if (*key >= US_MOMENT_OFF || *key % US_N_KIND == US_KIND_READY)
			continue;
		if (verdict[us_profile_guest_node(p, *key / US_N_KIND)] == IDLE)
			*key = US_MOMENT_IDLE;
	}
}

static void take_ends(struct us_profile *p, const uint8_t *verdict)
{
	for (size_t i = 0; i < p->key_ends.cap; i++) {
		const struct us_pair_slot *x = &p->key_ends.v[i];
		bool busy = x->a % US_N_KIND == US_KIND_READY ||
			    verdict[us_profile_guest_node(
				    p, (uint32_t)(x->a / US_N_KIND))] != IDLE;
		if (!x->value || busy)
			continue;
		p->sum.ends[x->b] -= x->value;
		p->sum.ends[US_END_ROOT] += x->value;
	}
}

/* Rebuild the same slices, with the moved weight as idle. */
static int recount(struct us_profile *p, const uint64_t moved[US_SLICES_MAX])
{
	struct us_slices old = p->idle;
	int r = 0;
	us_slices_init(&p->idle);
	p->idle.width_ns = old.width_ns;
	p->idle.end_ns = old.width_ns;
	for (unsigned s = 0; s < old.n && r == 0; s++) {
		uint64_t sum[2] = { 0 }, t_ns = s * old.width_ns;
		for (size_t i = old.start[s]; i < old.start[s + 1]; i++)
			sum[old.sums.v[i].key != 0] += old.sums.v[i].weight;
		uint64_t take = moved[s] < sum[0] ? moved[s] : sum[0];
		sum[0] -= take;
		sum[1] += take;
		for (uint32_t key = 0; key < 2 && r == 0; key++)
			if (sum[key])
				r = us_slices_add(&p->idle, key, t_ns,
						  sum[key] < UINT32_MAX
							  ? (uint32_t)sum[key]
							  : UINT32_MAX);
	}
	if (r == 0)
		r = us_slices_end(&p->idle);
	us_slices_fini(&old);
	return r;
}

int us_profile_find_idle(struct us_profile *p, struct us_err *e)
{
	uint64_t moved[US_SLICES_MAX] = { 0 };
	uint64_t before = p->sum.running;
	if (!us_profile_fact(p, "linux"))
		return 0;
	uint8_t *verdict = calloc(p->trie.nodes.n, 1);
	int r = verdict ? take_idle(p, verdict, moved) : -ENOMEM;
	if (r == 0) {
		take_ends(p, verdict);
		take_from_stretches(p, verdict);
	}
	free(verdict);
	if (r == 0 && p->sum.running != before)
		r = recount(p, moved);
	p->sum.idle_told = before - p->sum.running;
	return r < 0 ? us_fail(e, r, "report: out of memory") : 0;
}
