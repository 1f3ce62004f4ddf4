/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.c: see tasks.h. */
#include "linux/tasks.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES	      3
#define KERNEL_THREAD 0x00200000U /* include/linux/sched.h, PF_KTHREAD */
#define HASH_BITS     18	  /* twice US_LINUX_MAX_TASKS, and more */
#define MOST_PROBES   256
_Static_assert(US_LINUX_MAX_TASKS < 1U << (HASH_BITS - 1), "it gets slow");

struct walk {
	const struct us_linux_tasks_layout *l;
	struct us_paging *p;
	const struct us_space *s;
	struct us_linux_tasks *ret;
	us_gva *known; /* hash set of task_structs: a list may come round */
};

static bool read_at(const struct walk *w, us_gva va, void *buf, size_t len)
{
	return va >> 63 && us_paging_read(w->p, w->s, va, buf, len);
}

static bool read_word(const struct walk *w, us_gva va, uint64_t *ret)
{
	return read_at(w, va, ret, sizeof(*ret));
}

static bool read_half(const struct walk *w, us_gva va, void *ret)
{
	return read_at(w, va, ret, 4);
}

/* false: it is there already; or so many lie at one place that somebody chose them. */
static bool remember(struct walk *w, us_gva task)
{
	size_t mask = ((size_t)1 << HASH_BITS) - 1;
	size_t k = (size_t)(task * 0x9e3779b97f4a7c15 >> (64 - HASH_BITS));
	for (unsigned n = 0; n < MOST_PROBES; n++, k = (k + 1) & mask) {
		if (w->known[k] == task)
			return false;
		if (!w->known[k]) {
			w->known[k] = task;
			return true;
		}
	}
	return false;
}

/* include/linux/sched.h, task_state_index(): the highest bit that is reported. */
static char state_of(uint64_t state, uint32_t exit_state)
{
	static const char letters[] = "RSDTtXZP";
	uint64_t all = (state | exit_state) & 0x7f;
	if ((state & 0x402) == 0x402) /* TASK_IDLE: no load, not interruptible */
		return 'I';
	unsigned n = 0;
	for (; all; all >>= 1)
		n++;
	return letters[n];
}

static bool read_state(const struct walk *w, us_gva at, char *ret)
{
	uint64_t state = 0;
	uint32_t exit_state;
	if (!read_at(w, at + w->l->state, &state, w->l->state_bytes) ||
	    !read_half(w, at + w->l->exit_state, &exit_state))
		return false;
	*ret = state_of(state, exit_state);
	return true;
}

/* Of a thread of the kernel: none, although it may borrow some. */
static bool read_root(const struct walk *w, us_gva at, us_gpa *ret)
{
	uint64_t mm, pgd;
	if (!read_word(w, at + w->l->mm, &mm))
		return false;
	if (mm && read_word(w, mm + w->l->pgd, &pgd) && pgd >> 63)
		us_paging_translate(w->p, w->s, pgd, ret, NULL);
	return true;
}

static bool read_task(const struct walk *w, us_gva at, struct us_linux_task *t)
{
	const struct us_linux_tasks_layout *l = w->l;
	uint32_t flags, on_cpu = 0;
	memset(t, 0, sizeof(*t));
	t->at = at;
	if (!read_half(w, at + l->pid, &t->pid) ||
	    !read_half(w, at + l->tgid, &t->tgid) ||
	    !read_half(w, at + l->flags, &flags) ||
	    !read_at(w, at + l->comm, t->comm, US_LINUX_COMM - 1) ||
	    !read_word(w, at + l->stack, &t->stack) || !read_root(w, at, &t->root) ||
	    !read_state(w, at, &t->state))
		return false;
	if (l->has_cpu && (!read_half(w, at + l->on_cpu, &on_cpu) ||
			   !read_half(w, at + l->cpu, &t->cpu)))
		return false;
	t->on_cpu = on_cpu;
	t->kernel_thread = flags & KERNEL_THREAD;
	return t->pid >= 0 && t->tgid >= 0;
}

/* 0, -ENOMEM, or -EAGAIN: what lies there is no task. */
static int add(struct walk *w, us_gva at)
{
	struct us_linux_task t;
	if (!remember(w, at))
		return 0;
	if (!read_task(w, at, &t))
		return -EAGAIN;
	struct us_linux_task *slot = us_vec_push(w->ret);
	if (!slot)
		return -ENOMEM;
	*slot = t;
	return 0;
}

/* From one link to the next, which has to point back. */
static bool follow(const struct walk *w, us_gva *link)
{
	uint64_t next, back;
	if (!read_word(w, *link, &next) || !read_word(w, next + 8, &back) ||
	    back != *link)
		return false;
	*link = next;
	return true;
}

static bool is_full(struct walk *w)
{
	if (w->ret->n >= US_LINUX_MAX_TASKS)
		w->ret->full = true;
	return w->ret->full;
}

static int add_threads(struct walk *w, us_gva leader)
{
	uint64_t signal;
	/* init_task has no threads but itself, and what is gone has none. */
	if (!read_word(w, leader + w->l->signal, &signal))
		return -EAGAIN;
	if (!signal)
		return 0;
	us_gva head = signal + w->l->thread_head, link = head;
	while (!is_full(w)) {
		size_t before = w->ret->n;
		if (!follow(w, &link))
			return -EAGAIN;
		if (link == head)
			return 0;
		us_gva task = link - w->l->thread_node;
		int r = add(w, task);
		if (r < 0)
			return r;
		if (w->ret->n == before && task != leader)
			return -EAGAIN; /* it comes round */
	}
	return 0;
}

static int add_processes(struct walk *w)
{
	us_gva head = w->l->init + w->l->tasks, link = head;
	int r = add(w, w->l->init);
	if (r < 0)
		return r == -EAGAIN ? -ENOENT : r;
	while (!is_full(w)) {
		size_t before = w->ret->n;
		if (!follow(w, &link))
			return -EAGAIN;
		if (link == head)
			return 0;
		r = add(w, link - w->l->tasks);
		if (r == 0 && w->ret->n == before)
			return -EAGAIN; /* it comes round */
		if (r == 0)
			r = add_threads(w, link - w->l->tasks);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct us_linux_task *x = a, *y = b;
	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The last try is kept as far as it came. */
static int read_all(struct walk *w)
{
	int r = -EAGAIN;
	for (unsigned k = 0; r == -EAGAIN && k < TRIES; k++) {
		w->ret->n = 0;
		w->known = calloc((size_t)1 << HASH_BITS, sizeof(*w->known));
		if (!w->known)
			return -ENOMEM;
		us_paging_new_sample(w->p);
		r = add_processes(w);
		free(w->known);
	}
	w->ret->torn = r == -EAGAIN;
	return w->ret->torn ? 0 : r;
}

int us_linux_tasks_read(const struct us_linux_tasks_layout *l, struct us_paging *p,
			const struct us_space *s, struct us_linux_tasks *ret)
{
	struct walk w = { .l = l, .p = p, .s = s, .ret = ret };
	memset(ret, 0, sizeof(*ret));
	int r = read_all(&w);
	if (r < 0)
		us_linux_tasks_fini(ret);
	else
		qsort(ret->v, ret->n, sizeof(*ret->v), by_number);
	return r;
}

void us_linux_tasks_fini(struct us_linux_tasks *t)
{
	free(t->v);
	memset(t, 0, sizeof(*t));
}

/* --- what it does --- */

static bool in_stack(const struct us_linux_tasks_layout *l,
		     const struct us_linux_task *t, us_gva sp)
{
	return t->stack && sp >= t->stack && sp - t->stack < l->stack_size;
}

static bool set(struct us_regs *r, unsigned reg, uint64_t value)
{
	r->gpr[reg] = value;
	r->valid |= 1U << reg;
	return true;
}

static bool read_saved(const struct walk *w, us_gva from, us_gva sp,
		       struct us_regs *ret)
{
	const struct us_linux_tasks_layout *l = w->l;
	for (unsigned k = 0; k < l->n_saved; k++) {
		uint64_t value;
		if (!read_word(w, from + l->saved[k].at, &value))
			return false;
		set(ret, l->saved[k].reg, value);
	}
	ret->sp = sp + l->frame;
	return read_word(w, from + l->pc, &ret->pc) && ret->pc >> 63;
}

bool us_linux_task_regs(const struct us_linux_tasks_layout *l, struct us_paging *p,
			const struct us_space *s, const struct us_linux_task *t,
			struct us_regs *ret)
{
	static const unsigned sp_of[] = { [US_ARCH_X86_64] = US_X86_RSP,
					  [US_ARCH_AARCH64] = US_AARCH64_SP,
					  [US_ARCH_RISCV64] = US_RISCV_SP };
	static const unsigned fp_of[] = { [US_ARCH_X86_64] = US_X86_RBP,
					  [US_ARCH_AARCH64] = US_AARCH64_FP,
					  [US_ARCH_RISCV64] = US_RISCV_FP };
	const struct walk w = { .l = l, .p = p, .s = s };
	uint64_t sp;
	uint32_t on_cpu = 0;
	memset(ret, 0, sizeof(*ret));
	us_paging_new_sample(p);
	if ((l->has_cpu && !read_half(&w, t->at + l->on_cpu, &on_cpu)) || on_cpu ||
	    !read_word(&w, t->at + l->sp, &sp) || !in_stack(l, t, sp) ||
	    !read_saved(&w, l->frame ? sp : t->at, sp, ret))
		return false;
	ret->arch = (uint8_t)l->arch;
	ret->bits = 64;
	ret->space = *s;
	if (t->root) /* the program below has the kernel's half, too */
		ret->space.root = t->root;
	ret->fp = ret->gpr[fp_of[l->arch]];
	return set(ret, sp_of[l->arch], ret->sp);
}

/* Bit 12 tells the two roots of one process from each other, under page-table
 * isolation (arch/x86/mm/pti.c). */
static bool is_root(const struct us_linux_tasks_layout *l, us_gpa root, us_gpa of)
{
	us_gpa ignored = l->arch == US_ARCH_X86_64 ? 0x1000 : 0;
	return of && ((root ^ of) & US_ROOT_MASK & ~ignored) == 0;
}

const struct us_linux_task *us_linux_task_of(const struct us_linux_tasks_layout *l,
					     const struct us_linux_tasks *t,
					     const struct us_regs *regs)
{
	const struct us_linux_task *found = NULL;
	for (size_t k = 0; k < t->n; k++) {
		const struct us_linux_task *one = &t->v[k];
		if (!regs->user && in_stack(l, one, regs->sp))
			return one;
		if (!regs->user || !is_root(l, regs->space.root, one->root) ||
		    (l->has_cpu && !one->on_cpu))
			continue;
		if (found)
			return NULL;
		found = one;
	}
	return found;
}

const char *us_linux_task_state(char state)
{
	static const struct {
		char letter;
		const char *words;
	} all[] = {
		{ 'R', "ready" },
		{ 'S', "sleeps" },
		{ 'D', "waits, no signal" },
		{ 'T', "stopped" },
		{ 't', "stopped by a tracer" },
		{ 'X', "dead" },
		{ 'Z', "zombie" },
		{ 'P', "parked" },
		{ 'I', "idle" },
	};
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
		if (all[k].letter == state)
			return all[k].words;
	return "?";
}
