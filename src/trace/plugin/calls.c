/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls.c: see calls.h. */
#include "trace/plugin/calls.h"

#include "trace/plugin/image_code.h"
#include "trace/plugin/translate.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- What QEMU calls when the guest executes an instruction ---- */

static void count(struct us_plugin_vcpu *v, void *number)
{
	v->tracker.tree.node[(uintptr_t)number].calls++;
}

static void on_entry(unsigned i, void *number)
{
	count(us_plugin_vcpu(i), number);
}

static void on_entry_or_loop(unsigned i, void *number)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	if (v->back != v->step)
		count(v, number);
}

static void on_step(unsigned i, void *data)
{
	(void)data;
	us_plugin_vcpu(i)->step++;
}

static void before_back(unsigned i, void *data)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	(void)data;
	v->back = v->step + 1;
}

/* data: the number of instructions, and in the upper half that of the node. */
static void on_insns(unsigned i, void *data)
{
	uintptr_t x = (uintptr_t)data;
	us_plugin_vcpu(i)->tracker.tree.node[x >> 32].self += (uint32_t)x;
}

/* ---- Where QEMU should call us ---- */

static void before(struct qemu_plugin_insn *insn, us_vcpu_exec *cb, uintptr_t data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS,
					       (void *)data);
}

/* Functions are numbered in the order in which they are found, and so are their nodes.
 */
static uint32_t node_of(struct us_track_function *f)
{
	uint32_t node = f->number - US_N_COUNTS_SPECIAL + 1;
	for (unsigned i = 0; i < us_plugin.n_vcpu; i++) {
		struct us_tracker *t = &us_plugin.vcpu[i].tracker;
		if (node < t->vcpu->n_node)
			continue;
		t->tree.node[node].address = f->address;
		t->tree.node[node].function = f->number;
		__atomic_store_n(&t->vcpu->n_node, node + 1, __ATOMIC_RELEASE);
	}
	return node;
}

/*
 * Let QEMU add to the file directly, if there is one vCPU; the file remains if QEMU is
 * killed.  Since version 2, QEMU adds only to its own memory, at an offset from where
 * that begins for a vCPU.  Any memory is at some offset, and QEMU translates again when
 * its own memory moves.
 */
static bool count_inline(struct qemu_plugin_insn *insn, uint64_t *to, uint64_t n)
{
	if (us_plugin.one_counter) {
		qemu_plugin_register_vcpu_insn_exec_inline(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, to, n);
		return true;
	}
	if (!us_plugin.score || us_plugin.n_vcpu > 1 ||
	    !qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu)
		return false;
	uintptr_t begin = (uintptr_t)qemu_plugin_scoreboard_find(us_plugin.score, 0);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
		insn, QEMU_PLUGIN_INLINE_ADD_U64,
		(qemu_plugin_u64){ us_plugin.score, (uintptr_t)to - begin }, n);
	return true;
}

static void add_entry(struct qemu_plugin_insn *insn, struct us_track_function *f,
		      bool may_loop)
{
	uint32_t node = node_of(f);
	if (may_loop)
		before(insn, on_entry_or_loop, node);
	else if (!count_inline(insn, &us_plugin.vcpu[0].tracker.tree.node[node].calls,
			       1))
		before(insn, on_entry, node);
}

/* The function with the instruction; NULL: none. */
static const struct us_function_range *range_of(struct qemu_plugin_tb *tb, size_t i,
						struct us_code_of of)
{
	uint64_t gva = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
	return of.other ? NULL
			: us_functions_find(&us_plugin.points.functions,
					    us_layer_address(gva, of.layer));
}

static uint32_t node_with(const struct us_function_range *r)
{
	const uint32_t root = 0;
	if (!r)
		return root;
	struct us_track_function *f = us_points_function_at(&us_plugin.points,
							    r->start);
	return f->number < US_N_COUNTS_SPECIAL ? root : node_of(f);
}

/* Most blocks are in one function: one addition for each. */
static void add_instructions(struct qemu_plugin_tb *tb, size_t n, struct us_code_of of)
{
	for (size_t i = 0, end; i < n; i = end) {
		const struct us_function_range *r = range_of(tb, i, of);
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uintptr_t node = node_with(r);
		for (end = i + 1; end < n && range_of(tb, end, of) == r;)
			end++;
		if (!count_inline(insn, &us_plugin.vcpu[0].tracker.tree.node[node].self,
				  end - i))
			before(insn, on_insns, node << 32 | (end - i));
	}
}

static void add_insn(struct qemu_plugin_tb *tb, size_t i, struct us_code_of of)
{
	struct us_points *ps = &us_plugin.points;
	struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
	uint64_t gva = qemu_plugin_insn_vaddr(insn);
	uint64_t pc = us_layer_address(gva, of.layer);
	const struct us_function_range *r = us_functions_find(&ps->functions, pc);
	if (!r || !(r->choice & US_FUNCTION_TRACED))
		return;
	us_count_code(of, gva);
	if (of.other)
		return;
	uint8_t copy[US_MAX_INSN] = { 0 };
	size_t n = qemu_plugin_insn_size(insn);
	if (n > US_MAX_INSN)
		n = US_MAX_INSN;
	const uint8_t *bytes = us_insn_bytes(insn, n, copy);
	bool loops = r->choice & US_FUNCTION_LOOPS;
	if (us_plugin_begins(us_plugin.arch, r, pc)) {
		struct us_track_function *f = us_points_function_at(ps, pc);
		if (f->number < US_N_COUNTS_SPECIAL)
			return; /* there are no more numbers */
		add_entry(insn, f, loops && i == 0);
	}
	if (!us_plugin_jumps_to(us_plugin.arch, bytes, n, pc, r->entry))
		return;
	us_plugin.counts->n_unforeseen += !loops;
	before(insn, before_back, 0);
}

/* Does this block follow a backward jump that was not taken?  It is in the same
 * function, or right after it. */
static bool is_step(uint64_t pc, unsigned layer)
{
	pc = us_layer_address(pc, layer);
	for (uint64_t at = pc - 1; at != pc + 1; at++) {
		const struct us_function_range *r = us_functions_find(
			&us_plugin.points.functions, at);
		if (r && r->choice & US_FUNCTION_LOOPS)
			return true;
	}
	return false;
}

uint32_t us_calls_n_node(const struct us_functions *f)
{
	size_t n = f->n + 2;
	return n < US_COUNTS_MAX_NODE ? (uint32_t)n : US_COUNTS_MAX_NODE;
}

void us_calls_init(struct us_tracker *t, struct us_counts_vcpu *vcpu,
		   struct us_counts_node *node)
{
	t->vcpu = vcpu;
	t->tree.node = node;
	t->insns = &vcpu->insns;
	vcpu->n_node = 1;
}

void us_calls_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	(void)id;
	us_plugin.counts->begun = 1;
	pthread_mutex_lock(&lock);
	struct us_code_of of = n ? us_code_of_block(tb) : (struct us_code_of){ 0 };
	if (n &&
	    is_step(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)), of.layer))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_step,
						     QEMU_PLUGIN_CB_NO_REGS, NULL);
	us_look_for_slide(tb, n);
	if (us_plugin.counts->flat == US_COUNTS_FUNCTIONS)
		add_instructions(tb, n, of);
	for (size_t i = 0; i < n; i++)
		add_insn(tb, i, of);
	us_plugin.counts->n_full = us_plugin.points.n_full;
	pthread_mutex_unlock(&lock);
}
