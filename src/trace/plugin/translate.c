/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translate.c: see translate.h. */
#include "trace/plugin/translate.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct us_plugin us_plugin;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A block of code, in which insn is the number i. */
struct block {
	struct qemu_plugin_tb *tb;
	struct qemu_plugin_insn *insn;
	size_t n, i;
	uint64_t pc, end; /* of the instruction */
	struct us_flow_insn flow;
};

/* ---- What QEMU calls when the guest has executed it ---- */

/* For who samples: the order of these and of what lies between them counts. */
static void say(struct us_plugin_vcpu *v, enum us_counts_doing doing)
{
	__atomic_store_n(&v->tracker.vcpu->doing, doing, __ATOMIC_RELEASE);
}

static void take_turn(unsigned i)
{
	if (us_plugin.counts->in_turns)
		us_plugin.counts->turn = (uint16_t)i;
}

/* What it does from here to end() is the plugin's, not the guest's. */
static struct us_plugin_vcpu *begin(unsigned i)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	say(v, US_COUNTS_PLUGIN);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	take_turn(i);
	return v;
}

static void end(struct us_plugin_vcpu *v)
{
	say(v, US_COUNTS_RUNS);
}

/*
 * Version 1: after a call or a return, QEMU (to 8.2) reports the next memory access by
 * a helper, too, to whoever asked for that of the call: the delivery of an interrupt.
 * So an access counts only if the instruction itself was executed since.
 */
static bool is_stray(struct us_plugin_vcpu *v, bool store)
{
	if (us_plugin.api > 1)
		return false;
	if (v->armed != v->heard) {
		v->heard = v->armed;
		return false;
	}
	v->tracker.vcpu->stray++;
	if (store)
		us_track_interrupted(&v->tracker);
	return true;
}

static void on_call(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp, void *data)
{
	struct us_plugin_vcpu *v = begin(i);
	const struct us_point *p = data;
	if (qemu_plugin_mem_is_store(info) && !is_stray(v, true))
		us_track_call(&v->tracker, &p->site, sp);
	end(v);
}

static void on_return(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp, void *data)
{
	struct us_plugin_vcpu *v = begin(i);
	const struct us_point *p = data;
	bool store = qemu_plugin_mem_is_store(info);
	if (!is_stray(v, store) && !store)
		us_track_return(&v->tracker, &p->site, sp,
				1U << qemu_plugin_mem_size_shift(info));
	end(v);
}

static void on_iret(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp, void *data)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	const struct us_point *p = data;
	if (!v->iret || qemu_plugin_mem_is_store(info))
		return;
	begin(i);
	v->iret = false;
	us_track_iret(&v->tracker, &p->site, sp);
	end(v);
}

static void before_iret(unsigned i, void *data)
{
	(void)data;
	us_plugin_vcpu(i)->iret = true;
}

static void before_call(unsigned i, void *data)
{
	(void)data;
	us_plugin_vcpu(i)->armed++;
}

static void on_leave(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = begin(i);
	us_track_iret(&v->tracker, &p->site, 0);
	end(v);
}

static void on_jump(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = begin(i);
	us_track_jump(&v->tracker, &p->site);
	end(v);
}

static void on_switch(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = begin(i);
	us_track_switch(&v->tracker, p->rest);
	end(v);
}

static void on_trap(unsigned i, void *data)
{
	(void)data;
	struct us_plugin_vcpu *v = begin(i);
	us_track_trap(&v->tracker);
	end(v);
}

static void on_entry(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = begin(i);
	us_track_enter(&v->tracker, &p->entry);
	end(v);
}

static void on_halt(unsigned i, void *data)
{
	(void)data;
	struct us_plugin_vcpu *v = begin(i);
	us_track_halt(&v->tracker);
	v->halted_at = *v->tracker.insns;
	say(v, US_COUNTS_HALTED);
}

static void on_reset(unsigned i, void *data)
{
	(void)data;
	struct us_plugin_vcpu *v = begin(i);
	us_track_reset(&v->tracker);
	end(v);
}

static void on_block(unsigned i, void *data)
{
	*(uint64_t *)(uintptr_t)us_plugin_vcpu(i)->tracker.insns += (uintptr_t)data;
	take_turn(i);
}

void us_on_idle(qemu_plugin_id_t id, unsigned i)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	(void)id;
	us_plugin.counts->in_turns = 0; /* else QEMU does not tell */
	say(v, *v->tracker.insns == v->halted_at ? US_COUNTS_HALTED : US_COUNTS_OFF);
}

void us_on_resume(qemu_plugin_id_t id, unsigned i)
{
	(void)id;
	end(us_plugin_vcpu(i));
}

/* ---- Where it is to call ---- */

static void count_instructions(struct qemu_plugin_tb *tb, size_t n)
{
	if (us_plugin.one_counter)
		qemu_plugin_register_vcpu_tb_exec_inline(
			tb, QEMU_PLUGIN_INLINE_ADD_U64,
			&us_plugin.vcpu[0].tracker.vcpu->insns, n);
	else if (us_plugin.score)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
			tb, QEMU_PLUGIN_INLINE_ADD_U64,
			(qemu_plugin_u64){ us_plugin.score, 0 }, n);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(
			tb, on_block, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)n);
}

static void before(const struct block *b, us_vcpu_exec *cb, const struct us_point *p)
{
	qemu_plugin_register_vcpu_insn_exec_cb(b->insn, cb, QEMU_PLUGIN_CB_NO_REGS,
					       (void *)(uintptr_t)p);
}

static void on_memory(const struct block *b, us_vcpu_mem *cb, const struct us_point *p)
{
	qemu_plugin_register_vcpu_mem_cb(b->insn, cb, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)p);
}

/* So that its own access is told from others: see is_stray(). */
static void arm(const struct block *b)
{
	if (us_plugin.one_counter)
		qemu_plugin_register_vcpu_insn_exec_inline(b->insn,
							   QEMU_PLUGIN_INLINE_ADD_U64,
							   &us_plugin.vcpu[0].armed, 1);
	else if (us_plugin.api == 1)
		before(b, before_call, NULL);
}

static struct us_point *point_of(const struct block *b, uint64_t target)
{
	struct us_points *ps = &us_plugin.points;
	struct us_point like = { .pc = b->pc, .rest = (uint32_t)(b->n - b->i) };
	like.site.in = us_points_function_at(ps, b->pc);
	if (target)
		like.site.target = us_points_called(ps, target);
	return us_points_intern(ps, &like);
}

static bool begins_function(uint64_t pc)
{
	const struct us_function_range *r = us_functions_find(
		&us_plugin.points.functions, pc);
	return r && r->entry == pc;
}

/* "call 1f; 1: pop": it wants to know where it is, or puts an address on the stack for
 * a return to jump to. */
static bool is_no_call(uint64_t pc, uint64_t target)
{
	const struct us_functions *f = &us_plugin.points.functions;
	const struct us_function_range *from = us_functions_find(f, pc);
	const struct us_function_range *to = us_functions_find(f, target);
	return from && to && from->entry == to->entry && target != to->entry;
}

static void add_call(const struct block *b)
{
	const struct us_flow_insn *f = &b->flow;
	if (f->has_target && (f->target == b->end || is_no_call(b->pc, f->target)))
		return;
	struct us_point *p = point_of(b, f->has_target ? f->target : 0);
	if (!p)
		return;
	arm(b);
	on_memory(b, on_call, p);
}

static void add_return(const struct block *b)
{
	struct us_point *p = point_of(b, 0);
	if (!p)
		return;
	arm(b);
	on_memory(b, on_return, p);
}

static void add_iret(const struct block *b)
{
	struct us_point *p = point_of(b, 0);
	if (!p)
		return;
	before(b, before_iret, p);
	on_memory(b, on_iret, p);
}

static void add_leave(const struct block *b)
{
	struct us_point *p = point_of(b, 0);
	if (p)
		before(b, on_leave, p);
}

/* A jump is worth a call of ours if a function may begin where it leads. */
static void add_jump(const struct block *b)
{
	const struct us_flow_insn *f = &b->flow;
	bool goes_on = b->i + 1 == b->n && begins_function(b->end) &&
		       (f->flow == US_FLOW_ON || f->flow == US_FLOW_BRANCH);
	bool jumps = f->flow == US_FLOW_JUMP || f->flow == US_FLOW_BRANCH;
	bool far = jumps && !f->has_target;
	bool to_function = jumps && f->has_target && begins_function(f->target);
	if (!goes_on && !far && !to_function)
		return;
	uint64_t target = far || (goes_on && to_function) ? 0
			  : to_function			  ? f->target
							  : b->end;
	struct us_point *p = point_of(b, target);
	if (p)
		before(b, on_jump, p);
}

static void add_flow(const struct block *b)
{
	switch (b->flow.flow) {
	case US_FLOW_CALL:
		add_call(b);
		break;
	case US_FLOW_RETURN:
		add_return(b);
		break;
	case US_FLOW_IRET:
		add_iret(b);
		break;
	case US_FLOW_LEAVE:
		add_leave(b);
		break;
	case US_FLOW_TRAP:
		before(b, on_trap, NULL);
		break;
	default:
		add_jump(b);
	}
}

void us_compare_code(const struct us_function_range *r, struct us_track_function *f,
		     const uint8_t *bytes, size_t n)
{
	static const uint8_t unknown[sizeof(r->code)];
	if (f->seen || !memcmp(r->code, unknown, sizeof(unknown)))
		return;
	f->seen = true;
	if (!memcmp(r->code, bytes, n < sizeof(r->code) ? n : sizeof(r->code)))
		us_plugin.counts->n_same++;
	else
		us_plugin.counts->n_differ++;
}

static void compare_code(const struct block *b, const uint8_t *bytes)
{
	const struct us_function_range *r = us_functions_find(
		&us_plugin.points.functions, b->pc);
	if (r)
		us_compare_code(r, us_points_function_at(&us_plugin.points, b->pc),
				bytes, b->end - b->pc);
}

static void add_entry(const struct block *b)
{
	struct us_point like = { .pc = b->pc, .site.in = &us_track_unnamed };
	like.entry.function = us_points_function_at(&us_plugin.points, b->pc);
	like.entry.n_insn = (uint32_t)b->n;
	like.entry.n_before = (uint32_t)b->i;
	struct us_point *p = us_points_intern(&us_plugin.points, &like);
	if (p)
		before(b, on_entry, p);
}

/* Version 1 and 2 say where the bytes are, later ones copy them. */
const uint8_t *us_insn_bytes(const struct qemu_plugin_insn *insn, size_t n,
			     uint8_t copy[static US_MAX_INSN])
{
	uintptr_t got = qemu_plugin_insn_data(insn, copy, n);
	return us_plugin.api < 3 ? (const uint8_t *)got : copy;
}

static void translate_insn(struct block *b)
{
	uint8_t copy[US_MAX_INSN] = { 0 };
	size_t n = qemu_plugin_insn_size(b->insn);
	if (n > US_MAX_INSN)
		n = US_MAX_INSN;
	b->pc = qemu_plugin_insn_vaddr(b->insn);
	b->end = b->pc + n;
	const uint8_t *bytes = us_insn_bytes(b->insn, n, copy);
	us_plugin.arch->flow(bytes, n, b->pc, &b->flow);
	if (us_plugin.arch->reset_vector && b->pc == us_plugin.arch->reset_vector)
		before(b, on_reset, NULL);
	if (begins_function(b->pc)) {
		compare_code(b, bytes);
		add_entry(b);
	}
	if (b->flow.loads_stack) {
		struct us_point *p = point_of(b, 0);
		if (p)
			before(b, on_switch, p);
	}
	if (b->flow.halts)
		before(b, on_halt, NULL);
	add_flow(b);
}

/* Blocks are translated by the thread that is about to execute them. */
static void note_thread(void)
{
	static pid_t first;
	pid_t self = us_plugin.counts->in_turns ? gettid() : 0;
	if (!first)
		first = self;
	if (self && self != first)
		us_plugin.counts->in_turns = 0;
}

void us_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block b = { .tb = tb, .n = qemu_plugin_tb_n_insns(tb) };
	(void)id;
	pthread_mutex_lock(&lock);
	note_thread();
	count_instructions(tb, b.n);
	for (b.i = 0; b.i < b.n; b.i++) {
		b.insn = qemu_plugin_tb_get_insn(tb, b.i);
		translate_insn(&b);
	}
	pthread_mutex_unlock(&lock);
}
