/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscalls.c: see syscalls.h. */
#include "trace/plugin/syscalls.h"

#include "trace/plugin/image_code.h"
#include "trace/plugin/program_regs.h"
#include "trace/plugin/syscall_code.h"
#include "trace/plugin/syscall_text.h"
#include "trace/plugin/translate.h"
#include "trace/reserve.h"
#include "trace/syscall_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VCPU      256U
#define PATH_INSNS    4096U /* executed by an entry until its first call */
#define MOVE_INSNS    512U  /* executed by a gate's first call; a switch takes more */
#define STACK_PART    512U
#define MAX_FILTER    1024U
#define N_WANDERER    256U /* a power of two */
#define N_MARK	      (1U << 16)
#define PROBES	      64U
#define PC_BITS	      48
#define ABI_BITS      4
#define MAX_PER_BLOCK 0xfffU
#define MAX_ABI	      3U /* below, the rest of these bits is the gate */

/* What is known about an address in the guest's code: bits. */
enum mark {
	ENTRY = 1,
	PATH_CALL = 2,
	BEHIND_PATH_CALL = 4,
	BEHIND = 8, /* after a system call instruction of ABI 0; << 1: of ABI 1 ... */
};

struct vcpu {
	struct us_program_regs regs;
	struct us_syscall_texts texts;
	uint64_t pc;	     /* after the system call instruction */
	uint64_t insns;	     /* instructions executed by then */
	uint64_t open;	     /* the same pc, until it returns */
	uint64_t left;	     /* instructions executed when the kernel was left */
	uint64_t stack;	     /* the kernel's, as seen in the entry's code */
	uint64_t entry;	     /* where the kernel was entered */
	uint64_t first;	     /* the stack of its entry's first call; 0: none yet */
	uint64_t path_until; /* end of the entry's code, in instructions */
	uint8_t abi, gate;
	bool entering;	/* the next block is the kernel's entry */
	bool in_path;	/* it executes the entry's code, before a call */
	bool told;	/* the stack was reported */
	bool waits;	/* the stack is that of a later call of the entry's code */
	bool elsewhere; /* the call may return to another place */
};

static struct {
	struct us_syscall_options options;
	struct vcpu *vcpu;
	const struct us_syscall_code *code;
	unsigned n_entering; /* vCPUs; atomic */
	uint64_t mover;	     /* a gate that leaves the stack of its first call */
	struct {
		uint64_t pc;
		uint8_t marks;
	} * mark;
	bool filtered[US_N_ABI][MAX_FILTER];  /* this call is left out */
	bool elsewhere[US_N_ABI][MAX_FILTER]; /* this call is exec or sigreturn */
	uint64_t wanderer[N_WANDERER]; /* stacks of such calls, hashed by address */
} all;

/* The vCPU of this thread that executes the entry's code. */
static __thread struct vcpu *here;

/* ---- Options ---- */

bool us_syscall_option(struct us_syscall_options *o, const char *text)
{
	char *end;
	if (!strcmp(text, "syscalls=on") || !strcmp(text, "syscalls=alone")) {
		o->on = true;
		o->alone = !strcmp(text, "syscalls=alone");
		return true;
	}
	if (!strncmp(text, "text=", 5)) {
		o->text = (unsigned)strtoul(text + 5, &end, 10);
		return end != text + 5 && !*end && o->text <= US_SYSCALL_TEXT;
	}
	if (strncmp(text, "calls=", 6) != 0)
		return false;
	o->calls = text + 6;
	return true;
}

/* Include this call in each ABI.  False: no ABI has it. */
static bool take_in(const char *name)
{
	bool some = false;
	uint64_t number;
	for (unsigned abi = 0; abi < US_N_ABI; abi++)
		if (us_syscall_number(abi, name, &number) && number < MAX_FILTER) {
			all.filtered[abi][number] = false;
			some = true;
		}
	return some;
}

static int set_filter(const char *calls)
{
	char name[64];
	memset(all.filtered, calls != NULL, sizeof(all.filtered));
	while (calls && *calls) {
		size_t n = strcspn(calls, "+");
		if (n >= sizeof(name))
			return -EINVAL;
		memcpy(name, calls, n);
		name[n] = '\0';
		if (!take_in(name))
			return -EINVAL;
		calls += n + (calls[n] == '+');
	}
	return 0;
}

int us_syscalls_init(const struct us_syscall_options *o, const char *target,
		     unsigned n_vcpu)
{
	all.options = *o;
	all.code = us_syscall_code_of(target);
	/* Without registers, only what calls store shows the stack. */
	if (!all.code || (!all.code->call_stores && !us_registers_can_be_read()))
		return -ENOTSUP;
	all.vcpu = us_reserve(n_vcpu * sizeof(*all.vcpu));
	all.mark = us_reserve(N_MARK * sizeof(*all.mark));
	us_syscall_texts_init(o->text);
	for (unsigned abi = 0; abi < US_N_ABI; abi++)
		for (unsigned i = 0; i < MAX_FILTER; i++) {
			enum us_syscall_fate f = us_syscall_fate(abi, i);
			all.elsewhere[abi][i] = f == US_SYSCALL_EXECS ||
						f == US_SYSCALL_RESTORES;
		}
	return all.vcpu && all.mark ? set_filter(o->calls) : -ENOMEM;
}

void us_syscalls_start(unsigned vcpu)
{
	us_program_regs_init(&all.vcpu[vcpu].regs, all.code->target, vcpu);
}

/* ---- What is recorded.  Hot path. ---- */

static struct vcpu *vcpu_of(unsigned i)
{
	return &all.vcpu[i < us_plugin.n_vcpu ? i : us_plugin.n_vcpu - 1];
}

static uint64_t insns_of(unsigned i)
{
	return *us_plugin_vcpu(i)->tracker.insns;
}

static void put(unsigned i, uint64_t insns, const struct us_syscall_message *m)
{
	uint8_t bytes[US_SYSCALL_MESSAGE];
	struct us_events *e = &us_plugin_vcpu(i)->events;
	if (us_events_epoch(e))
		us_events_put_data(e, insns, bytes, us_syscall_message_put(m, bytes));
}

/* Pack for a callback: where a block begins or a system call instruction ends, the
 * number of the block's instructions, and the ABI. */
static void *pack(uint64_t pc, size_t n, unsigned abi)
{
	uint64_t high = (n < MAX_PER_BLOCK ? n : MAX_PER_BLOCK) << ABI_BITS | abi;
	return (void *)(uintptr_t)(high << PC_BITS | (pc & ((1ULL << PC_BITS) - 1)));
}

static uint64_t pc_of(const void *data)
{
	return (uint64_t)((int64_t)((uintptr_t)data << (64 - PC_BITS)) >>
			  (64 - PC_BITS));
}

static uint64_t n_of(const void *data)
{
	return (uintptr_t)data >> (PC_BITS + ABI_BITS);
}

static uint8_t abi_of(const void *data)
{
	return (uintptr_t)data >> PC_BITS & ((1U << ABI_BITS) - 1);
}

static void set_call(struct us_syscall_message *m, const struct us_program_call *c)
{
	uint64_t mask = m->abi == US_ABI_I386 ? UINT32_MAX : UINT64_MAX;
	m->has_number = m->has_regs = true;
	m->sp = c->sp;
	m->root = c->root;
	m->thread = c->thread;
	m->number = c->number & mask;
	m->value = m->abi == US_ABI_I386 ? (uint64_t)(int32_t)c->value : c->value;
	for (unsigned k = 0; k < US_SYSCALL_ARGS; k++)
		m->arg[k] = c->arg[k] & mask;
}

static bool is_filtered(const struct us_syscall_message *m)
{
	if (!m->has_number)
		return false;
	return m->number < MAX_FILTER ? all.filtered[m->abi][m->number]
				      : all.options.calls != NULL;
}

/* At int 0x80 the processor itself changes the stack pointer, and pushes the program's
 * together with the program counter, cs and the flags.  0: not known. */
static void set_sp(struct us_syscall_message *m, const struct us_program_regs *r,
		   bool entered)
{
	uint64_t sp = 0;
	size_t n = us_program_regs_is_long(r) ? 8 : 4;
	if (m->abi != US_ABI_I386)
		return;
	if (!us_program_memory_is_there(r))
		m->sp = 0;
	else if (entered)
		m->sp = us_program_memory_read(r, m->sp + 3 * n, &sp, n) ? sp : 0;
}

/* The vDSO has pushed ebp, and syscall overwrites ecx, which is therefore in ebp.  At
 * sysenter the processor changes the stack pointer: the program's is in ebp. */
static void set_from_vdso(struct us_syscall_message *m, const struct us_program_regs *r,
			  uint8_t gate)
{
	uint32_t last = 0;
	uint64_t ebp = m->arg[5];
	if (gate == US_GATE_VDSO_SYSCALL)
		m->arg[1] = ebp;
	else
		m->sp = ebp;
	m->arg[5] = us_program_memory_read(r, m->sp, &last, sizeof(last)) ? last : 0;
	/* As for int 0x80: it may be unknown at the return. */
	if (!us_program_memory_is_there(r))
		m->sp = 0;
}

/* Before a system call instruction; behind: where it ends, and the ABI. */
static void on_syscall(unsigned i, void *behind)
{
	struct vcpu *v = vcpu_of(i);
	v->pc = pc_of(behind);
	v->abi = abi_of(behind) & MAX_ABI;
	v->gate = (uint8_t)(abi_of(behind) / (MAX_ABI + 1));
	v->insns = insns_of(i);
	if (!v->entering)
		__atomic_fetch_add(&all.n_entering, 1, __ATOMIC_RELAXED);
	v->entering = true;
}

static void begin_path(struct vcpu *v, uint64_t insns)
{
	v->in_path = true;
	v->path_until = insns + PATH_INSNS;
	here = v;
}

/* Before the block that follows the system call instruction. */
static void on_entry(unsigned i, const void *block, const uint64_t *env)
{
	struct vcpu *v = vcpu_of(i);
	struct us_program_call c = { 0 };
	v->waits = false;
	if (!v->entering) {
		/* Entered by a fault: the code that follows is the same. */
		v->told = true;
		v->entry = 0;
		if (all.code->is_entry)
			begin_path(v, insns_of(i));
		return;
	}
	v->entering = false;
	__atomic_fetch_sub(&all.n_entering, 1, __ATOMIC_RELAXED);
	if (insns_of(i) - n_of(block) != v->insns)
		return;
	struct us_syscall_message m = { .type = US_SYSCALL_ENTERED,
					.abi = v->abi,
					.pc = v->pc };
	if (us_program_regs_begin(&v->regs, env, pc_of(block))) {
		us_program_regs_read(&v->regs, v->abi, true, &c);
		/* The instruction does not exist in this mode: a fault entered the
		 * kernel. */
		if (v->abi == US_ABI_X86_64 && c.behind != v->pc)
			return;
		if (v->gate == US_GATE_VDSO_SYSCALL && (uint32_t)c.arg[1] != v->pc - 2)
			return;
		set_call(&m, &c);
		if (v->gate)
			set_from_vdso(&m, &v->regs, v->gate);
		else
			set_sp(&m, &v->regs, true);
		if (!is_filtered(&m))
			us_syscall_texts_before(&v->texts, &v->regs, &m);
		us_syscall_texts_remember(&m);
	}
	v->open = v->pc;
	v->stack = v->first = 0;
	v->entry = v->abi == US_ABI_I386 && !v->gate ? pc_of(block) : 0;
	v->told = is_filtered(&m);
	v->elsewhere = m.has_number && m.number < MAX_FILTER &&
		       all.elsewhere[m.abi][m.number];
	begin_path(v, v->insns);
	if (!v->told)
		put(i, v->insns, &m);
}

static uint64_t *wanderer_of(uint64_t stack)
{
	return &all.wanderer[stack * 0x9e3779b97f4a7c15 >> 33 & (N_WANDERER - 1)];
}

/*
 * Through a gate (int 0x80) the processor itself changes the stack.  On Linux since 6.7
 * this is one that all threads of a vCPU use: the entry's first call copies what is on
 * it to the thread's stack, where the entry continues.  That is learned from the first
 * such entry.  Is this call not yet on the thread's stack?
 */
static bool will_move(struct vcpu *v, uint64_t sp, uint64_t insns)
{
	if (!v->entry || insns > v->insns + MOVE_INSNS)
		return false;
	if (!v->first) {
		v->first = sp;
		v->waits = v->entry == all.mover;
		return v->waits;
	}
	if (v->first / STACK_PART != sp / STACK_PART)
		all.mover = v->entry;
	return false;
}

/* The entry's code makes a call, on this stack. */
static void on_stack(unsigned i, struct vcpu *v, uint64_t sp)
{
	struct us_syscall_message m = {
		.type = US_SYSCALL_ON_STACK, .abi = v->abi, .pc = v->pc, .stack = sp
	};
	v->in_path = false;
	here = NULL;
	v->stack = sp;
	if (will_move(v, sp, insns_of(i)))
		return;
	v->waits = false;
	if (v->elsewhere)
		*wanderer_of(sp) = sp;
	v->elsewhere = false;
	if (!v->told)
		put(i, v->insns, &m);
	v->told = true;
}

static void on_path_store(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp,
			  void *data)
{
	struct vcpu *v = vcpu_of(i);
	(void)data;
	if (v->in_path && qemu_plugin_mem_is_store(info) &&
	    insns_of(i) <= v->path_until)
		on_stack(i, v, sp + (1U << qemu_plugin_mem_size_shift(info)));
}

/* For architectures where calls store nothing. */
static void on_path_call(unsigned i, void *data)
{
	struct vcpu *v = vcpu_of(i);
	uint64_t sp;
	(void)data;
	if (v->in_path && insns_of(i) <= v->path_until &&
	    us_program_regs_sp(&v->regs, &sp))
		on_stack(i, v, sp);
}

/* The entry's code continues after its call. */
static void on_path(unsigned i, const void *block, const uint64_t *env)
{
	struct vcpu *v = vcpu_of(i);
	uint64_t sp;
	if (us_program_regs_begin(&v->regs, env, pc_of(block)) &&
	    us_program_regs_sp(&v->regs, &sp)) {
		v->stack = sp;
		if (!v->waits || insns_of(i) > v->insns + MOVE_INSNS)
			v->told = true;
		begin_path(v, insns_of(i));
	}
}

/* Before a return to programs, or to what was interrupted in the kernel. */
static void on_left(unsigned i, void *data)
{
	struct vcpu *v = vcpu_of(i);
	(void)data;
	v->left = insns_of(i);
	v->in_path = false;
	if (!v->stack || *wanderer_of(v->stack) != v->stack)
		return;
	struct us_syscall_message m = { .type = US_SYSCALL_LEFT, .stack = v->stack };
	*wanderer_of(v->stack) = 0;
	put(i, v->left, &m);
}

/* Before a block that begins after a system call instruction. */
static void on_behind(unsigned i, const void *block, const uint64_t *env)
{
	struct vcpu *v = vcpu_of(i);
	struct us_program_call c = { 0 };
	uint64_t insns = insns_of(i) - n_of(block), pc = pc_of(block);
	/* Kernels whose programs run with kernel privileges return with a jump. */
	if (insns != v->left && v->open != pc)
		return;
	struct us_syscall_message m = { .type = US_SYSCALL_RETURNED,
					.abi = abi_of(block),
					.pc = pc,
					.stack = v->stack };
	v->open = 0;
	v->stack = 0;
	if (us_program_regs_begin(&v->regs, env, pc)) {
		us_program_regs_read(&v->regs, m.abi, false, &c);
		set_call(&m, &c);
		set_sp(&m, &v->regs, false);
		us_syscall_texts_recall(&m);
		if (is_filtered(&m))
			return;
		us_syscall_texts_after(&v->texts, &v->regs, &m);
	}
	put(i, insns, &m);
}

/* For both kinds of QEMU.  Not static: the callbacks of old versions call them from
 * assembly. */
typedef void with_state(unsigned i, const void *block, const uint64_t *env);
with_state us_syscalls_entry, us_syscalls_path, us_syscalls_behind;

void us_syscalls_entry(unsigned i, const void *block, const uint64_t *env)
{
	on_entry(i, block, env);
}

void us_syscalls_path(unsigned i, const void *block, const uint64_t *env)
{
	on_path(i, block, env);
}

void us_syscalls_behind(unsigned i, const void *block, const uint64_t *env)
{
	on_behind(i, block, env);
}

US_ENV_CALLBACK(us_syscalls_env_entry, us_syscalls_entry);
US_ENV_CALLBACK(us_syscalls_env_path, us_syscalls_path);
US_ENV_CALLBACK(us_syscalls_env_behind, us_syscalls_behind);

static void entry(unsigned i, void *block)
{
	on_entry(i, block, NULL);
}

static void path(unsigned i, void *block)
{
	on_path(i, block, NULL);
}

static void behind(unsigned i, void *block)
{
	on_behind(i, block, NULL);
}

static const struct callbacks {
	us_vcpu_exec *entry, *path, *behind;
} with_env = { us_syscalls_env_entry, us_syscalls_env_path, us_syscalls_env_behind },
  with_api = { entry, path, behind };

/* ---- Where QEMU should call us ---- */

static const struct callbacks *callbacks(void)
{
	return us_registers_can_be_read() ? &with_api : &with_env;
}

static uint8_t *marks_of(uint64_t pc)
{
	static uint8_t none;
	uint64_t i = pc * 0x9e3779b97f4a7c15 >> 33;
	for (unsigned k = 0; k < PROBES; k++, i++) {
		if (all.mark[i % N_MARK].pc == pc && all.mark[i % N_MARK].marks)
			return &all.mark[i % N_MARK].marks;
		if (!all.mark[i % N_MARK].marks) {
			all.mark[i % N_MARK].pc = pc;
			return &all.mark[i % N_MARK].marks;
		}
	}
	none = 0; /* full: marks set here are dropped */
	return &none;
}

static void before(struct qemu_plugin_insn *insn, us_vcpu_exec *cb, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_R_REGS, data);
}

struct block {
	struct qemu_plugin_insn *first;
	uint64_t pc;
	size_t n;
	bool in_path; /* follows a call of an entry's code */
};

/* Does a system call instruction end where the block begins? */
static bool is_behind(const struct block *b, enum us_syscall_abi *ret)
{
	const uint8_t *code = qemu_plugin_insn_haddr(b->first);
	unsigned n = all.code->insn;
	uint8_t before[US_SYSCALL_INSN] = { 0 };
	struct us_syscall_insn x;
	if (b->pc % US_EVENTS_PAGE >= n) {
		if (!code)
			return false;
		memcpy(before, code - n, n);
		bool is = all.code->is_call(before, &x);
		*ret = x.abi;
		return is;
	}
	unsigned marks = *marks_of(b->pc) / BEHIND;
	*ret = marks ? (enum us_syscall_abi)__builtin_ctz(marks) : 0;
	return marks;
}

static void translate_start(struct block *b)
{
	const struct callbacks *c = callbacks();
	enum us_syscall_abi abi;
	uint8_t *marks = marks_of(b->pc);
	if (__atomic_load_n(&all.n_entering, __ATOMIC_RELAXED) ||
	    (all.code->is_entry && all.code->is_entry(b->pc)))
		*marks |= ENTRY;
	if (*marks & ENTRY)
		before(b->first, c->entry, pack(b->pc, b->n, 0));
	b->in_path = *marks & BEHIND_PATH_CALL;
	if (b->in_path)
		before(b->first, c->path, pack(b->pc, b->n, 0));
	if (is_behind(b, &abi))
		before(b->first, c->behind, pack(b->pc, b->n, abi));
}

static void add_path_call(struct qemu_plugin_insn *insn, uint64_t end)
{
	*marks_of(end) |= BEHIND_PATH_CALL;
	if (all.code->call_stores)
		qemu_plugin_register_vcpu_mem_cb(insn, on_path_store,
						 QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	else
		before(insn, on_path_call, NULL);
}

/* Looks also at what is behind it, if that is on the same page. */
static bool is_call(const struct qemu_plugin_insn *insn, const uint8_t *code,
		    struct us_syscall_insn *ret)
{
	uint8_t bytes[US_SYSCALL_INSN] = { 0 };
	size_t n = all.code->insn;
	const uint8_t *there = qemu_plugin_insn_haddr(insn);
	memcpy(bytes, code, n);
	if (there && qemu_plugin_insn_vaddr(insn) % US_EVENTS_PAGE + sizeof(bytes) <=
			     US_EVENTS_PAGE)
		memcpy(bytes + n, there + n, sizeof(bytes) - n);
	return all.code->is_call(bytes, ret);
}

static void translate_insn(const struct block *b, struct qemu_plugin_insn *insn,
			   const uint8_t *code, size_t n)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	struct us_syscall_insn x;
	struct us_flow_insn flow;
	if (n == all.code->insn && is_call(insn, code, &x)) {
		if ((pc + x.n) % US_EVENTS_PAGE < n)
			*marks_of(pc + x.n) |= (uint8_t)(BEHIND << x.abi);
		before(insn, on_syscall,
		       pack(pc + x.n, 0, x.gate * (MAX_ABI + 1) + x.abi));
		return;
	}
	if (all.code->is_return(code, n))
		before(insn, on_left, NULL);
	us_plugin.arch->flow(code, n, pc, &flow);
	if (flow.flow != US_FLOW_CALL)
		return;
	if (b->in_path || (here && here->in_path))
		*marks_of(pc) |= PATH_CALL;
	if (*marks_of(pc) & PATH_CALL)
		add_path_call(insn, pc + n);
}

void us_syscalls_translate(struct qemu_plugin_tb *tb)
{
	struct block b = { .n = qemu_plugin_tb_n_insns(tb) };
	b.first = qemu_plugin_tb_get_insn(tb, 0);
	b.pc = qemu_plugin_insn_vaddr(b.first);
	translate_start(&b);
	for (size_t i = 0; i < b.n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t copy[US_MAX_INSN + 1] = { 0 };
		size_t n = qemu_plugin_insn_size(insn);
		n = n < US_MAX_INSN ? n : US_MAX_INSN;
		translate_insn(&b, insn, us_insn_bytes(insn, n, copy), n);
	}
}
