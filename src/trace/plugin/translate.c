/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translate.c: see translate.h. */
#include "trace/plugin/block.h"
#include "trace/plugin/boot.h"
#include "trace/plugin/image_code.h"

#include "trace/plugin/entered.h"
#include "trace/plugin/program_regs.h"
#include "trace/plugin/syscalls.h"
#include "trace/track_fast.h"

#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct us_plugin us_plugin;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- What QEMU calls when the guest executes an instruction ---- */

static __attribute__((__noinline__)) void hear_stray(struct us_plugin_vcpu *v,
						     qemu_plugin_meminfo_t info)
{
	v->tracker.vcpu->stray++;
	if (qemu_plugin_mem_is_store(info))
		us_track_interrupted(&v->tracker);
	us_plugin_end(v);
}

/* QEMU's own code, for version 1; else empty. */
static struct {
	uintptr_t start, size;
} qemu_code;

/*
 * Version 1: QEMU (up to 8.2) reports the memory access of a call or return, and
 * afterwards also the next access by a helper: the delivery of an interrupt.  This
 * second, stray report comes from a function of QEMU (qemu_plugin_vcpu_mem_cb() in its
 * plugins/core.c), while the first comes from translated guest code.  The return
 * address (caller) tells them apart, so calls and returns need not be counted for it.
 *
 * The check is not needed where the access cannot be a stray: for a return, if it reads
 * where the frame on top has its return address; for a call, if the calling function is
 * on top and not one that it called just before (us_tracker.moved).
 */
US_ALWAYS bool is_stray(const void *caller)
{
	return US_UNLIKELY((uintptr_t)caller - qemu_code.start < qemu_code.size);
}

/* Most callbacks are for calls and returns, so each variant has its own code. */
struct way {
	struct us_track_mode mode;
	bool strays; /* stray reports are possible */
	bool first;  /* and are checked for first */
};

static __attribute__((__noinline__)) void call_slowly(struct us_plugin_vcpu *v,
						      qemu_plugin_meminfo_t info,
						      uint64_t sp,
						      const struct us_point *p)
{
	us_plugin_access(v, info, sp);
	us_track_call(&v->tracker, &p->site, sp);
	us_plugin_end(v);
}

static __attribute__((__noinline__)) void
call_slowly_or_stray(struct us_plugin_vcpu *v, qemu_plugin_meminfo_t info, uint64_t sp,
		     const struct us_point *p, const void *caller)
{
	if (is_stray(caller))
		hear_stray(v, info);
	else
		call_slowly(v, info, sp, p);
}

US_ALWAYS void hear_call(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp,
			 void *data, const void *caller, const struct way w)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(w.mode.alone ? 0 : i);
	const struct us_point *p = data;
	struct us_counts_vcpu *c = v->tracker.vcpu;
	us_plugin_say_there(c, US_COUNTS_PLUGIN);
	if (!w.mode.alone)
		us_plugin_take_turn(i);
	if (w.first && is_stray(caller))
		hear_stray(v, info);
	else if (us_track_call_fast(&v->tracker, c, &p->site, sp, w.mode))
		return;
	else if (w.strays && !w.first)
		call_slowly_or_stray(v, info, sp, p, caller);
	else
		call_slowly(v, info, sp, p);
}

static __attribute__((__noinline__)) void
return_slowly(struct us_plugin_vcpu *v, qemu_plugin_meminfo_t info, uint64_t sp,
	      const struct us_point *p, const void *caller)
{
	if (is_stray(caller)) {
		hear_stray(v, info);
		return;
	}
	us_plugin_access(v, info, sp);
	us_track_return(&v->tracker, &p->site, sp,
			1U << qemu_plugin_mem_size_shift(info));
	us_plugin_end(v);
}

US_ALWAYS void hear_return(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp,
			   void *data, const void *caller, const struct way w)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(w.mode.alone ? 0 : i);
	const struct us_point *p = data;
	struct us_counts_vcpu *c = v->tracker.vcpu;
	us_plugin_say_there(c, US_COUNTS_PLUGIN);
	if (!w.mode.alone)
		us_plugin_take_turn(i);
	if (!us_track_return_fast(&v->tracker, c, sp, w.mode))
		return_slowly(v, info, sp, p, w.strays ? caller : NULL);
}

/* Strays occur with version 1, where QEMU counts into the file if there is one vCPU. */
#define US_MODE(alone, traced, strays)                                                 \
	{                                                                              \
		alone, traced, (alone) && (strays)                                     \
	}
#define WAY(name, alone, traced, strays)                                               \
	static void on_call_##name(unsigned i, qemu_plugin_meminfo_t info,             \
				   uint64_t sp, void *data)                            \
	{                                                                              \
		const struct way w = { US_MODE(alone, traced, strays), strays,         \
				       strays };                                       \
		hear_call(i, info, sp, data, __builtin_return_address(0), w);          \
	}                                                                              \
	static void on_call_of_other_##name(unsigned i, qemu_plugin_meminfo_t info,    \
					    uint64_t sp, void *data)                   \
	{                                                                              \
		const struct way w = { US_MODE(alone, traced, strays), strays, 0 };    \
		hear_call(i, info, sp, data, __builtin_return_address(0), w);          \
	}                                                                              \
	static void on_return_##name(unsigned i, qemu_plugin_meminfo_t info,           \
				     uint64_t sp, void *data)                          \
	{                                                                              \
		const struct way w = { US_MODE(alone, traced, strays), strays, 0 };    \
		hear_return(i, info, sp, data, __builtin_return_address(0), w);        \
	}
#define WAYS(X)                                                                        \
	X(many, 0, 0, 0)                                                               \
	X(many_strays, 0, 0, 1)                                                        \
	X(many_traced, 0, 1, 0)                                                        \
	X(many_traced_strays, 0, 1, 1)                                                 \
	X(one, 1, 0, 0)                                                                \
	X(one_strays, 1, 0, 1) X(one_traced, 1, 1, 0) X(one_traced_strays, 1, 1, 1)
WAYS(WAY)

/* Chosen by the three parameters of WAY.  of_other: a call from one named function to
 * another one. */
static us_vcpu_mem *on_call, *on_call_of_other, *on_return;

#define ROW(name, alone, traced, strays)                                               \
	[(alone)*4 + (traced)*2 + (strays)] = { on_call_##name,                        \
						on_call_of_other_##name,               \
						on_return_##name },

/* data: the address of a function of QEMU's. */
static int note_qemu_code(struct dl_phdr_info *o, size_t size, void *data)
{
	(void)size;
	for (unsigned i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &o->dlpi_phdr[i];
		uintptr_t start = o->dlpi_addr + h->p_vaddr;
		if (h->p_type != PT_LOAD || *(uintptr_t *)data - start >= h->p_memsz)
			continue;
		qemu_code.start = start;
		qemu_code.size = h->p_memsz;
		return 1;
	}
	return 0;
}

void us_translate_init(void)
{
	static us_vcpu_mem *const ways[][3] = { WAYS(ROW) };
	us_vcpu_mem *const *way =
		ways[(us_plugin.n_vcpu == 1) * 4 + (us_plugin.events != NULL) * 2 +
		     (us_plugin.api == 1)];
	on_call = way[0];
	on_call_of_other = way[1];
	on_return = way[2];
	uintptr_t any = (uintptr_t)qemu_plugin_mem_is_store;
	if (us_plugin.api == 1)
		dl_iterate_phdr(note_qemu_code, &any);
}

/* A call that also loads its target. */
static void on_call_by_memory(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp,
			      void *data)
{
	if (is_stray(__builtin_return_address(0)))
		hear_stray(us_plugin_begin(i), info);
	else if (qemu_plugin_mem_is_store(info))
		on_call(i, info, sp, data);
}

static void on_iret(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp, void *data)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	const struct us_point *p = data;
	if (!v->iret || qemu_plugin_mem_is_store(info))
		return;
	us_plugin_begin(i);
	v->iret = false;
	us_plugin_access(v, info, sp);
	us_track_iret(&v->tracker, &p->site, sp);
	us_plugin_end(v);
}

static void before_iret(unsigned i, void *data)
{
	(void)data;
	us_plugin_vcpu(i)->iret = true;
}

static void on_leave(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_track_iret(&v->tracker, &p->site, 0);
	us_plugin_end(v);
}

static void on_jump(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_track_jump(&v->tracker, &p->site);
	us_plugin_end(v);
}

static void on_switch(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_track_switch(&v->tracker, &p->site, p->rest);
	us_plugin_end(v);
}

static void on_trap(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_track_trap(&v->tracker, &p->site);
	us_plugin_end(v);
}

US_ALWAYS void hear_entry(struct us_plugin_vcpu *v, const struct us_point *p)
{
	if (us_track_enter_fast(&v->tracker, &p->entry))
		return;
	us_plugin_say(v, US_COUNTS_PLUGIN);
	us_track_enter(&v->tracker, &p->entry);
	us_plugin_end(v);
}

static void on_entry(unsigned i, void *data)
{
	us_plugin_take_turn(i);
	hear_entry(us_plugin_vcpu(i), data);
}

static void on_entry_alone(unsigned i, void *data)
{
	(void)i;
	hear_entry(us_plugin_vcpu(0), data);
}

static void hear_entry_env(unsigned i, void *data, const uint64_t *env)
	__attribute__((__used__));
static void hear_entry_env(unsigned i, void *data, const uint64_t *env)
{
	const struct us_point *p = data;
	us_plugin_take_turn(i);
	if (us_track_enter_fast(&us_plugin_vcpu(i)->tracker, &p->entry))
		return;
	us_entered_learn(i, env, p->pc);
	hear_entry(us_plugin_vcpu(i), p);
}
US_ENV_CALLBACK(on_entry_env, hear_entry_env);

static us_vcpu_exec *entry_callback(void)
{
	if (us_entered_wants_env())
		return on_entry_env;
	return us_plugin.n_vcpu == 1 ? on_entry_alone : on_entry;
}

static void on_halt(unsigned i, void *data)
{
	(void)data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_track_halt(&v->tracker);
	v->halted_at = *v->tracker.insns;
	us_plugin_say(v, US_COUNTS_HALTED);
}

/* The machine was reset: this vCPU will start the waiting ones, at any address.  The
 * thread of a vCPU that was running may not know yet that it is off.  It was off if it
 * has executed nothing by the time that it is started. */
static void reset_others(unsigned i)
{
	for (unsigned k = 0; k < us_plugin.n_vcpu; k++) {
		struct us_plugin_vcpu *v = us_plugin_vcpu(k);
		uint32_t doing = __atomic_load_n(&v->tracker.vcpu->doing,
						 __ATOMIC_ACQUIRE);
		if (k == i || !v->started)
			continue;
		v->reset_at = doing == US_COUNTS_OFF || doing == US_COUNTS_HALTED
				      ? US_RESET_ANYWAY
				      : *v->tracker.insns;
		__atomic_store_n(&v->was_reset, true, __ATOMIC_RELEASE);
	}
}

static bool take_reset(struct us_plugin_vcpu *v)
{
	return __atomic_exchange_n(&v->was_reset, false, __ATOMIC_ACQ_REL) &&
	       (v->reset_at == US_RESET_ANYWAY || v->reset_at == *v->tracker.insns);
}

static void on_reset(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	if (us_track_reset(&v->tracker, p->rest))
		reset_others(i);
	us_plugin_end(v);
}

static void on_block(unsigned i, void *data)
{
	*(uint64_t *)(uintptr_t)us_plugin_vcpu(i)->tracker.insns += (uintptr_t)data;
	us_plugin_take_turn(i);
}

void us_on_idle(qemu_plugin_id_t id, unsigned i)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	(void)id;
	us_plugin.counts->in_turns = 0; /* else QEMU does not report idle vCPUs */
	us_plugin_say(v, *v->tracker.insns == v->halted_at ? US_COUNTS_HALTED
							   : US_COUNTS_OFF);
	if (us_plugin.boot)
		us_boot_on_idle(i);
}

void us_on_resume(qemu_plugin_id_t id, unsigned i)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	(void)id;
	if (take_reset(v))
		us_track_was_reset(&v->tracker);
	us_plugin_end(v);
}

/* ---- Where QEMU should call us ---- */

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

void us_block_before(const struct us_block *b, us_vcpu_exec *cb,
		     const struct us_point *p)
{
	qemu_plugin_register_vcpu_insn_exec_cb(b->insn, cb, us_plugin_reads(),
					       (void *)(uintptr_t)p);
}

void us_block_at_access(const struct us_block *b, us_vcpu_mem *cb,
			const struct us_point *p)
{
	qemu_plugin_register_vcpu_mem_cb(b->insn, cb, us_plugin_reads(),
					 QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)p);
}

/* A symbol right after a call: the call returns to it. */
static void note_label(const struct us_block *b)
{
	struct us_points *ps = &us_plugin.points;
	if (!us_block_begins(b, b->end))
		return;
	struct us_track_function *label = us_points_function_at(
		ps, us_block_address(b, b->end));
	const struct us_track_function *in = us_points_function_at(
		ps, us_block_address(b, b->pc));
	if (label != &us_track_unnamed && in != &us_track_unnamed && in != label)
		label->within = in;
}

#define THUNK_MAX 64 /* bytes */

/* A call within a small function by its first instruction: a retpoline of its own, as
 * in __x86_indirect_thunk_rax. */
static void note_thunk(const struct us_block *b)
{
	const struct us_function_range *r = us_functions_find(
		&us_plugin.points.functions, us_block_address(b, b->pc));
	if (r && r->end - r->start <= THUNK_MAX && us_block_begins(b, b->pc))
		us_points_function_at(&us_plugin.points, us_block_address(b, b->pc))
			->thunk = true;
}

static void add_call(const struct us_block *b)
{
	const struct us_flow_insn *f = &b->flow;
	if (f->has_target && f->target == b->end)
		return;
	if (f->has_target && us_is_no_call(b, f->target)) {
		note_thunk(b);
		return;
	}
	struct us_point *p = us_block_point(b, f->has_target ? f->target : 0);
	if (!p)
		return;
	const struct us_track_site *c = &p->site;
	bool named = c->target && c->target != &us_track_unnamed &&
		     c->in != &us_track_unnamed;
	if (!b->flow.has_target)
		us_block_at_access(b, on_call_by_memory, p);
	else
		us_block_at_access(
			b, named && c->in != c->target ? on_call_of_other : on_call, p);
}

static void add_return(const struct us_block *b)
{
	struct us_point *p = us_block_point(b, 0);
	if (!p)
		return;
	us_block_at_access(b, on_return, p);
}

static void add_iret(const struct us_block *b)
{
	struct us_point *p = us_block_point(b, 0);
	if (!p)
		return;
	us_block_before(b, before_iret, p);
	us_block_at_access(b, on_iret, p);
}

void us_block_before_here(const struct us_block *b, us_vcpu_exec *cb)
{
	struct us_point *p = us_block_point(b, 0);
	if (p)
		us_block_before(b, cb, p);
}

/* A jump needs a callback if a function may begin at its target. */
static void add_jump(const struct us_block *b)
{
	const struct us_flow_insn *f = &b->flow;
	bool goes_on = b->i + 1 == b->n && us_block_begins(b, b->end) &&
		       (f->flow == US_FLOW_ON || f->flow == US_FLOW_BRANCH);
	bool jumps = f->flow == US_FLOW_JUMP || f->flow == US_FLOW_BRANCH;
	bool elsewhere = jumps && (!f->has_target || us_is_in_other(b, f->target));
	bool to_function = jumps && f->has_target && us_may_begin(f->target);
	if (!goes_on && !elsewhere && !to_function)
		return;
	uint64_t target = elsewhere || (goes_on && to_function) ? 0
			  : to_function				? f->target
								: b->end;
	struct us_point *p = us_block_point(b, target);
	if (p)
		us_block_before(b, on_jump, p);
}

static void add_flow(struct us_block *b)
{
	switch (b->flow.flow) {
	case US_FLOW_CALL:
		note_label(b);
		if (us_plugin.arch->link)
			us_link_add_call(b);
		else if (b->flow.far)
			us_far_add_call(b);
		else
			add_call(b);
		break;
	case US_FLOW_RETURN:
		if (us_plugin.arch->link)
			us_link_add_return(b);
		else if (b->flow.far)
			us_far_add_return(b);
		else
			add_return(b);
		break;
	case US_FLOW_IRET:
		add_iret(b);
		break;
	case US_FLOW_LEAVE:
		us_block_before_here(b, on_leave);
		break;
	case US_FLOW_TRAP:
		us_block_before_here(b, on_trap);
		break;
	default:
		if (!us_pop_add_jump(b))
			add_jump(b);
	}
}

static void add_entry(const struct us_block *b)
{
	struct us_point like = { .pc = b->pc, .site.in = &us_track_unnamed };
	like.entry.function = us_points_function_at(&us_plugin.points,
						    us_block_address(b, b->pc));
	like.entry.n_insn = (uint32_t)b->n;
	like.entry.n_before = (uint32_t)b->i;
	struct us_point *p = us_points_intern(&us_plugin.points, &like);
	if (p)
		us_block_before(b, entry_callback(), p);
}

static void on_other(unsigned i, void *data)
{
	const struct us_point *p = data;
	us_plugin_take_turn(i);
	us_track_enter_fast(&us_plugin_vcpu(i)->tracker, &p->entry);
}

/* The image's code calls a function of its own, all of which the guest has written
 * over: it is entered. */
static void add_other(const struct us_block *b)
{
	const struct us_functions *f = &us_plugin.points.functions;
	for (unsigned k = 0; k == 0 || k < f->n_layer; k++) {
		uint64_t at = us_layer_address(b->pc, k);
		struct us_point like = { .pc = b->pc, .site.in = &us_track_unnamed };
		if (!us_begins_at(at))
			continue;
		like.entry.function = us_points_function_at(&us_plugin.points, at);
		struct us_point *p = us_points_intern(&us_plugin.points, &like);
		if (p)
			us_block_before(b, on_other, p);
	}
}

/* A load of the link register and a return are reported together only if all
 * instructions between them are plain. */
static bool is_plain(const struct us_flow_insn *f)
{
	bool on = f->flow == US_FLOW_ON && f->link == US_FLOW_LINK_KEPT;
	return f->flow == US_FLOW_RETURN || (on && !f->loads_stack && !f->halts);
}

/* The instruction sets where interrupts enter, so the function there is a handler even
 * before an interrupt is seen. */
static void note_vector(struct us_block *b, const uint8_t *bytes, size_t n)
{
	const struct us_plugin_arch *a = us_plugin.arch;
	uint64_t gva;
	if (!a->sets_vector || !a->sets_vector(&b->address, bytes, n, b->pc, &gva))
		return;
	for (unsigned k = 0; k == 0 || k < us_plugin.points.functions.n_layer; k++) {
		uint64_t at = us_layer_address(gva, k);
		struct us_track_function *f = us_points_function_at(&us_plugin.points,
								    at);
		if (f->address != at)
			continue;
		f->by_interrupt = true;
		__atomic_store_n(&us_plugin.has_vectors, true, __ATOMIC_RELAXED);
	}
}

/* A program's memory may be mapped at that address, too. */
static bool is_reset_code(const struct qemu_plugin_insn *insn)
{
	const void *code = qemu_plugin_insn_haddr(insn);
	return !code || !us_plugin.reset_code || code == us_plugin.reset_code;
}

static void translate_insn(struct us_block *b)
{
	uint8_t copy[US_MAX_INSN] = { 0 };
	size_t n = qemu_plugin_insn_size(b->insn);
	if (n > US_MAX_INSN)
		n = US_MAX_INSN;
	b->pc = qemu_plugin_insn_vaddr(b->insn);
	b->end = b->pc + n;
	const uint8_t *bytes = us_insn_bytes(b->insn, n, copy);
	us_plugin.arch->flow(bytes, n, b->pc, &b->flow);
	if (b->has_last && us_plugin.arch->far_flow)
		us_plugin.arch->far_flow(b->last, bytes, n, b->pc, &b->flow);
	b->has_last = n == sizeof(b->last);
	if (b->has_last)
		memcpy(b->last, bytes, sizeof(b->last));
	note_vector(b, bytes, n);
	bool begins = us_block_begins(b, b->pc);
	if (b->load && (begins || !is_plain(&b->flow)))
		us_link_flush(b);
	if (begins)
		b->pop = NULL;
	if (b->pc == us_plugin.reset_vector && is_reset_code(b->insn))
		us_block_before_here(b, on_reset);
	us_count_code(b->of, b->pc);
	if (begins)
		add_entry(b);
	else if (b->of.other)
		add_other(b);
	if (b->flow.loads_stack)
		us_block_before_here(b, on_switch);
	if (b->flow.halts)
		us_block_before(b, on_halt, NULL);
	if (us_plugin.arch->link)
		us_link_add(b);
	add_flow(b);
	us_pop_note(b);
}

/* The thread that is about to execute a block translates it. */
static void note_thread(void)
{
	static pid_t first;
	pid_t self = us_plugin.counts->in_turns ? gettid() : 0;
	if (!first)
		first = self;
	if (self && self != first)
		us_plugin.counts->in_turns = 0;
}

/* Every reset leads to this address, with or without the same firmware. */
static void learn_reset_vector(struct qemu_plugin_tb *tb)
{
	const struct qemu_plugin_insn *first = qemu_plugin_tb_n_insns(tb)
						       ? qemu_plugin_tb_get_insn(tb, 0)
						       : NULL;
	us_plugin.reset_vector = us_plugin.arch->reset_vector;
	if (first && !us_plugin.reset_vector)
		us_plugin.reset_vector = qemu_plugin_insn_vaddr(first);
	if (first && qemu_plugin_insn_vaddr(first) == us_plugin.reset_vector)
		us_plugin.reset_code = qemu_plugin_insn_haddr(first);
	us_plugin.begun = true;
	us_plugin.counts->begun = 1;
}

void us_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct us_block b = { .tb = tb, .n = qemu_plugin_tb_n_insns(tb) };
	(void)id;
	pthread_mutex_lock(&lock);
	note_thread();
	if (!us_plugin.begun)
		learn_reset_vector(tb);
	if (b.n)
		b.of = us_code_of_block(tb);
	us_look_for_slide(tb, b.n);
	count_instructions(tb, b.n);
	if (us_plugin.boot)
		us_boot_translate(tb);
	for (b.i = 0; b.i < b.n && !us_plugin.syscalls_alone; b.i++) {
		b.insn = qemu_plugin_tb_get_insn(tb, b.i);
		translate_insn(&b);
	}
	us_link_flush(&b);
	if (us_plugin.syscalls)
		us_syscalls_translate(tb);
	us_plugin.counts->n_full = us_plugin.points.n_full;
	pthread_mutex_unlock(&lock);
}
