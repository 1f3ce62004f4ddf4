/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owners.c: see owners.h. */
#include "cmd/record/owners.h"

#include <string.h>

/* Look for the CPU again after so many samples in a row in the kernel that were on no
 * stack of its task.  Samples in interrupts are among them. */
#define MOST_DOUBTS 100
#define FEW_DOUBTS  16	/* the same before the first match */
#define MOST_TRIES  200 /* to find a vCPU's number in the guest */

struct look {
	struct us_owners *o;
	const struct us_linux *l;
	const struct us_capture *c;
	struct us_paging *p;
	struct us_backend *b;
	us_gpa *root; /* receives the program's page tables; NULL: not wanted */
};

static us_gva current_of(const struct look *k, unsigned cpu)
{
	return us_linux_current(&k->l->who, k->p, &k->l->space, cpu);
}

static bool on_stack(const struct look *k, us_gva stack)
{
	us_gva sp = k->c->regs.sp;
	return stack && sp >= stack && sp - stack < k->l->who.stack_size;
}

static bool runs_on(const struct look *k, unsigned cpu)
{
	us_gva task = current_of(k, cpu);
	return task &&
	       on_stack(k, us_linux_who_stack(&k->l->who, k->p, &k->l->space, task));
}

/* Find the guest's number of the vCPU, mostly the same as the host's: the CPU whose
 * task's stack is in use. */
static void find_cpu(const struct look *k, struct us_owner_cpu *cpu)
{
	unsigned first = k->c->vcpu;
	if (cpu->tries >= MOST_TRIES)
		return;
	cpu->tries++;
	if (runs_on(k, first)) {
		cpu->cpu = (uint8_t)(first + 1);
		return;
	}
	for (unsigned n = 0; n < US_MAX_VCPUS; n++)
		if (n != first && runs_on(k, n)) {
			cpu->cpu = (uint8_t)(n + 1);
			return;
		}
}

static bool runs_tables(const struct look *k, us_gva task)
{
	us_gpa root = task ? us_linux_who_root(&k->l->who, k->p, &k->l->space, task)
			   : 0;
	return root && us_linux_is_root(k->l->who.arch, k->c->regs.space.root, root);
}

/*
 * The same for a vCPU in a program, which may never leave it: the one CPU whose task
 * has these page tables.  Several threads of a program may run, so they do not tell the
 * CPU for a while: look at the samples 1, 2, 4, ...
 */
static void find_cpu_of_program(const struct look *k, struct us_owner_cpu *cpu)
{
	us_gva found = 0;
	uint8_t found_cpu = 0;
	uint32_t nth = ++cpu->in_programs;
	if (nth & (nth - 1))
		return;
	for (unsigned n = 0; n < US_MAX_VCPUS; n++) {
		us_gva task = current_of(k, n);
		/* A kernel without SMP gives the same task for each number. */
		if (task == found || !runs_tables(k, task))
			continue;
		if (found)
			return;
		found = task;
		found_cpu = (uint8_t)(n + 1);
	}
	cpu->cpu = found_cpu;
}

static unsigned slot_number(us_gva at)
{
	return at * 0x9e3779b97f4a7c15 >> 40 & (US_OWNERS_KNOWN - 1);
}

static struct us_owner_known *slot_of(struct us_owners *o, us_gva task)
{
	return &o->known[slot_number(task)];
}

static void keep(struct us_owners *o, struct us_owner_known *slot,
		 const struct us_linux_who *who)
{
	*slot = (struct us_owner_known){ who->at, who->id, who->stack, who->root };
	o->by_stack[slot_number(who->stack)] = (uint16_t)(slot - o->known + 1);
}

/* Stacks begin at multiples of their size; 0: not on a kernel stack. */
static us_gva stack_of(const struct look *k)
{
	const struct us_regs *regs = &k->c->regs;
	uint64_t size = k->l->tasks.stack_size;
	return regs->user || regs->sp_unknown || !(regs->sp >> 63) || !size
		       ? 0
		       : regs->sp & ~(size - 1);
}

/* The known task that owns this stack and still exists; 0: none. */
static uint64_t on_whose_stack(const struct look *k)
{
	us_gva stack = stack_of(k);
	unsigned n = stack ? k->o->by_stack[slot_number(stack)] : 0;
	const struct us_owner_known *slot = n ? &k->o->known[n - 1] : NULL;
	if (!slot || slot->stack != stack)
		return 0;
	return us_linux_who_stack(&k->l->who, k->p, &k->l->space, slot->at) == stack &&
			       us_linux_who_id(&k->l->who, k->p, &k->l->space,
					       slot->at) == slot->id
		       ? slot->id
		       : 0;
}

static bool tell(struct us_owners *o, const struct us_linux_who *who)
{
	uint32_t put = atomic_load_explicit(&o->put, memory_order_relaxed);
	uint32_t taken = atomic_load_explicit(&o->taken, memory_order_acquire);
	if (put - taken == US_OWNERS_QUEUE)
		return false;
	o->queue[put & (US_OWNERS_QUEUE - 1)] = *who;
	atomic_store_explicit(&o->put, put + 1, memory_order_release);
	return true;
}

/* A task that is new, or has a new name. */
static bool meet(const struct look *k, us_gva task, struct us_owner_known *slot)
{
	struct us_linux_who who;
	if (!us_linux_who_read(&k->l->who, k->p, &k->l->space, task, &who) ||
	    !tell(k->o, &who))
		return false;
	keep(k->o, slot, &who);
	return true;
}

/* exec() gives a task other page tables, maybe with the same name. */
static bool has_tables(const struct look *k, us_gva task, struct us_owner_known *slot)
{
	enum us_arch arch = k->l->who.arch;
	us_gpa root = k->c->regs.space.root;
	if (us_linux_is_root(arch, root, slot->root))
		return true;
	slot->root = us_linux_who_root(&k->l->who, k->p, &k->l->space, task);
	return us_linux_is_root(arch, root, slot->root);
}

/* In the kernel the sample may be on the stack of an interrupt or of another task.  0:
 * no task is known. */
static uint64_t who_agrees(const struct look *k, us_gva task,
			   struct us_owner_known *slot, struct us_owner_cpu *cpu)
{
	if (k->c->regs.user)
		return has_tables(k, task, slot) ? slot->id : 0;
	if (k->c->regs.sp_unknown || on_stack(k, slot->stack)) {
		cpu->doubts = 0;
		return slot->id;
	}
	if (++cpu->doubts >= MOST_DOUBTS)
		*cpu = (struct us_owner_cpu){ 0 };
	uint64_t other = on_whose_stack(k);
	return other || !cpu->cpu ? other : slot->id;
}

static uint64_t by_current(const struct look *k)
{
	struct us_owner_cpu *cpu = &k->o->cpu[k->c->vcpu % US_MAX_VCPUS];
	if (!cpu->cpu && k->c->regs.user)
		find_cpu_of_program(k, cpu);
	else if (!cpu->cpu)
		find_cpu(k, cpu);
	us_gva task = cpu->cpu ? current_of(k, cpu->cpu - 1U) : 0;
	if (!task)
		return 0;
	uint64_t id = us_linux_who_id(&k->l->who, k->p, &k->l->space, task);
	struct us_owner_known *slot = slot_of(k->o, task);
	if (!id || ((slot->at != task || slot->id != id) && !meet(k, task, slot)))
		return 0;
	return who_agrees(k, task, slot, cpu);
}

/* --- of a copy --- */

/* Ask for the task of the guest's next CPU.  The first try is the vCPU's own number,
 * which the guest mostly uses, too. */
static void point(const struct look *k, struct us_owner_cpu *cpu)
{
	unsigned n = cpu->cpu ? cpu->cpu % US_MAX_VCPUS : k->c->vcpu % US_MAX_VCPUS;
	if (!k->b || !k->b->ops->point || cpu->tries >= MOST_TRIES)
		return;
	us_gva at = us_linux_current_at(&k->l->who, k->p, &k->l->space, n);
	*cpu = (struct us_owner_cpu){ .tries = cpu->tries + 1 };
	if (!at)
		return;
	cpu->cpu = (uint8_t)(n + 1);
	k->b->ops->point(k->b, k->c->vcpu, at, &k->o->plan);
}

/* In the kernel: it is on its stack, or SP_EL0 points to it.  On the way in and out of
 * the kernel SP_EL0 is the program's. */
static bool is_current(const struct look *k, const struct us_linux_who *who,
		       const struct us_owner_cpu *cpu)
{
	const struct us_regs *r = &k->c->regs;
	if (r->sp_el0 >> 63 && r->sp_el0 == who->at)
		return true;
	return r->sp_unknown ? cpu->sure && !(r->sp_el0 >> 63)
			     : on_stack(k, who->stack);
}

/* The copy may be that of another CPU. */
static bool is_its(const struct look *k, const struct us_linux_who *who,
		   struct us_owner_cpu *cpu)
{
	const struct us_regs *r = &k->c->regs;
	if (r->user && r->space_old)
		return cpu->sure;
	bool its = r->user ? us_linux_is_root(k->l->who.arch, r->space.root, who->root)
			   : is_current(k, who, cpu);
	if (its) {
		cpu->sure = true;
		cpu->doubts = 0;
	} else if (++cpu->doubts >= (cpu->sure ? MOST_DOUBTS : FEW_DOUBTS)) {
		point(k, cpu);
	}
	return its;
}

static bool meet_copy(const struct look *k, struct us_linux_who *who)
{
	struct us_owner_known *slot = slot_of(k->o, who->at);
	if (slot->at == who->at && slot->id == who->id)
		return true;
	us_linux_who_complete(&k->l->who, k->p, &k->l->space, who);
	if (!tell(k->o, who))
		return false;
	keep(k->o, slot, who);
	return true;
}

static uint64_t by_copy(const struct look *k)
{
	const struct us_pointed *p = k->c->pointed;
	struct us_owner_cpu *cpu = &k->o->cpu[k->c->vcpu % US_MAX_VCPUS];
	struct us_linux_who who;
	if (!cpu->cpu)
		point(k, cpu);
	if (!p || p->plan != k->o->plan.number ||
	    !us_linux_who_pointed(&k->l->who, k->p, &k->l->space, p, &who))
		return 0;
	if (!is_its(k, &who, cpu)) {
		uint64_t other = on_whose_stack(k);
		if (other || !cpu->sure || k->c->regs.user)
			return other;
	}
	if (!meet_copy(k, &who))
		return 0;
	if (k->root && k->c->regs.space_old)
		*k->root = who.root;
	return who.id;
}

uint64_t us_owners_of(struct us_owners *o, const struct us_linux *l,
		      const struct us_live_sample *s)
{
	const struct look k = { o, l, s->capture, s->paging, s->backend, s->root };
	const struct us_regs *regs = &s->capture->regs;
	if (!l || !l->has_tasks || (regs->bits != 64 && !regs->space_old))
		return 0;
	if (o->of != l) { /* modules were read again, or it is another kernel */
		memset(o->known, 0, sizeof(o->known));
		memset(o->by_stack, 0, sizeof(o->by_stack));
		memset(o->cpu, 0, sizeof(o->cpu));
		us_linux_who_plan(&l->who, &o->plan);
		o->plan.root_upper = l->space.root_upper;
		o->plan.number += 1 + (o->plan.number == UINT32_MAX);
		o->of = l;
	}
	bool asks = l->has_who && l->who.current;
	if (asks && s->capture->form == US_CAPTURE_LIVE)
		return by_current(&k);
	uint64_t id = asks ? by_copy(&k) : 0;
	return id ? id : stack_of(&k);
}

const struct us_linux_who *us_owners_peek(struct us_owners *o)
{
	uint32_t taken = atomic_load_explicit(&o->taken, memory_order_relaxed);
	uint32_t put = atomic_load_explicit(&o->put, memory_order_acquire);
	return taken == put ? NULL : &o->queue[taken & (US_OWNERS_QUEUE - 1)];
}

void us_owners_pop(struct us_owners *o)
{
	uint32_t taken = atomic_load_explicit(&o->taken, memory_order_relaxed);
	atomic_store_explicit(&o->taken, taken + 1, memory_order_release);
}
