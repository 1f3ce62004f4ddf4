/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/counted.c: a profile in which every call was counted. */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "vmm/plugin_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool us_profile_is_counted(const struct us_profile *p)
{
	return p->calls.n || us_profile_is_calls_only(p);
}

static bool has_unit(const struct us_profile *p, const char *want)
{
	const char *unit = us_profile_fact(p, "unit");
	return unit && !strcmp(unit, want);
}

bool us_profile_is_calls_only(const struct us_profile *p)
{
	return has_unit(p, "calls");
}

bool us_profile_is_flat(const struct us_profile *p)
{
	return us_profile_is_calls_only(p) || has_unit(p, "functions");
}

const char *us_profile_unit(const struct us_profile *p)
{
	if (us_profile_is_calls_only(p))
		return "calls";
	return us_profile_is_counted(p) ? "instructions" : "samples";
}

/* What counts cannot be selected by, as an option; NULL: nothing was asked for. */
static const char *unknown_to_counts(const struct us_profile_opts *o)
{
	if (o->from_ns || o->to_ns)
		return "--time";
	if (o->part != US_PART_ALL)
		return o->part == US_PART_USER ? "--user-only" : "--kernel-only";
	if (o->n_pid)
		return "--pid";
	for (unsigned i = 0; i < o->n_filter; i++)
		if (us_profile_by_owner(o->filter[i].by))
			return us_profile_by_name(o->filter[i].by);
	return o->waits ? "--waits" : NULL;
}

int us_profile_check_counted(const struct us_profile *p, struct us_err *e)
{
	const char *what = unknown_to_counts(&p->opts);
	if (!what)
		return 0;
	us_fail(e, -EINVAL,
		"%s: in this recording every call was counted, and counts have no "
		"times, processes or rings",
		what);
	us_hint(e, "--vcpu, --focus, --ignore and --filter function=REGEX select a "
		   "part of counts");
	return -EINVAL;
}

static bool is_wanted(const struct us_profile *p, unsigned vcpu)
{
	uint64_t mask = p->opts.vcpu_mask;
	return !mask || (vcpu < 64 && mask >> vcpu & 1);
}

int us_profile_add_call(struct us_profile *p, unsigned vcpu, uint32_t number,
			const struct us_counted *c)
{
	struct us_profile_call *x = p->calls.n ? p->calls.v : us_vec_push(&p->calls);
	if (!x)
		return -ENOMEM;
	if (!is_wanted(p, vcpu))
		return 0;
	p->sum.vcpu_mask |= 1ULL << (vcpu > 63 ? 63 : vcpu);
	uint32_t *parent = us_pair_map_at(&p->call_of, vcpu, c->parent);
	uint32_t up = parent ? *parent : 0;
	uint32_t *own = us_pair_map_at(&p->call_of, vcpu, number);
	x = us_vec_push(&p->calls);
	if (!parent || !own || !x)
		return -ENOMEM;
	*own = (uint32_t)(p->calls.n - 1);
	*x = (struct us_profile_call){
		.address = c->address, .calls = c->calls, .self = c->self, .parent = up
	};
	return 0;
}

const char *us_profile_plugin_frame(us_gva address)
{
	static const char *const names[US_N_COUNTS_SPECIAL] = {
		[US_COUNTS_UNNAMED] = US_FRAME_UNNAMED,
		[US_COUNTS_INTERRUPTS] = US_FRAME_INTERRUPTS,
		[US_COUNTS_FULL] = US_FRAME_FULL,
	};
	return address < US_N_COUNTS_SPECIAL ? names[address] : NULL;
}

static uint32_t function_of(struct us_profile *p, struct us_pair_map *known,
			    us_gva address)
{
	const char *name = us_profile_plugin_frame(address);
	uint32_t *have = us_pair_map_at(known, address, 0);
	if (!have)
		return US_PROFILE_NONE;
	if (*have)
		return *have - 1;
	uint32_t func;
	if (address >= US_N_COUNTS_SPECIAL)
		func = us_profile_function_at(p, address);
	else if (address >= US_COUNTS_PHASE)
		func = us_profile_phase_function(p, address - US_COUNTS_PHASE);
	else
		func = us_profile_special(p, name ? name : US_FRAME_UNNAMED);
	*have = func + 1;
	return func;
}

static bool hang(struct us_profile *p, struct us_profile_children *children,
		 struct us_pair_map *known, struct us_profile_call *x)
{
	uint32_t func = function_of(p, known, x->address);
	if (func == US_PROFILE_NONE)
		return false;
	x->node = us_profile_child(p, children, p->calls.v[x->parent].node, func,
				   p->funcs.v[func].line);
	return x->node != US_PROFILE_NONE;
}

int us_profile_build_calls(struct us_profile *p, struct us_err *e)
{
	struct us_profile_children children = { .seed = us_hash_seed() };
	struct us_pair_map known = { 0 };
	const struct us_profile_node *root = us_vec_push(&p->nodes);
	bool ok = root != NULL;
	for (size_t i = 1; ok && i < p->calls.n; i++) {
		ok = hang(p, &children, &known, &p->calls.v[i]);
		p->sum.running += p->calls.v[i].self;
	}
	us_slots_fini(&children.slots);
	us_pair_map_fini(&known);
	return ok ? 0 : us_fail(e, -ENOMEM, "report: out of memory for the call tree");
}

static void add_calls(struct us_profile *p)
{
	uint64_t before = p->sum.running;
	p->sum.running = 0;
	for (size_t i = 1; i < p->calls.n; i++) {
		const struct us_profile_call *x = &p->calls.v[i];
		if (x->node == US_PROFILE_NONE)
			continue;
		struct us_profile_node *n = &p->nodes.v[x->node];
		n->self += x->self;
		n->calls += x->calls;
		p->sum.running += x->self;
		p->sum.calls += x->calls;
	}
	p->sum.unfocused = before - p->sum.running;
}

static void add_up(struct us_profile *p)
{
	for (size_t i = p->nodes.n; i-- > 1;) {
		struct us_profile_node *n = &p->nodes.v[i];
		n->total += n->self;
		p->nodes.v[n->parent].total += n->total;
		p->funcs.v[n->func].self += n->self;
		p->funcs.v[n->func].calls += n->calls;
	}
}

/* The total of a recursive function is that of its outermost calls.  The nodes are in
 * order, depth first: n_above counts how often a function is on the path to the current
 * node. */
static void add_totals(struct us_profile *p, uint32_t *n_above)
{
	const struct us_profile_node *v = p->nodes.v;
	uint32_t last = 0;
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		for (; last != v[i].parent; last = v[last].parent)
			n_above[v[last].func]--;
		if (!n_above[v[i].func]++)
			p->funcs.v[v[i].func].total += v[i].total;
		last = i;
	}
}

static double share_of(const struct us_profile *p, uint64_t weight)
{
	return p->sum.running ? (double)weight / (double)p->sum.running : 0;
}

static void no_intervals(struct us_profile *p)
{
	for (size_t i = 0; i < p->funcs.n; i++) {
		struct us_profile_func *f = &p->funcs.v[i];
		f->self_low = f->self_high = share_of(p, f->self);
		f->self_long_low = f->self_long_high = f->self_low;
		f->total_low = f->total_high = share_of(p, f->total);
		f->total_long_low = f->total_long_high = f->total_low;
	}
	for (size_t i = 0; i < p->nodes.n; i++) {
		struct us_profile_node *n = &p->nodes.v[i];
		n->low = n->high = (float)share_of(p, n->total);
		n->long_low = n->long_high = n->low;
	}
}

int us_profile_count_calls(struct us_profile *p, struct us_err *e)
{
	_cleanup_free_ uint32_t *n_above = calloc(p->funcs.n + 1, sizeof(*n_above));
	add_calls(p);
	add_up(p);
	if (!n_above || us_profile_order_tree(p))
		return us_fail(e, -ENOMEM, "report: out of memory");
	p->nodes.v[0].total = p->sum.running;
	add_totals(p, n_above);
	no_intervals(p);
	return 0;
}
