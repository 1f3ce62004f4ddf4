/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.c: see tasks.h. */
#include "linux/tasks.h"

#include "base/vec.h"
#include "guest/page_table_x86.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES	      3
#define KERNEL_THREAD 0x00200000U /* include/linux/sched.h, PF_KTHREAD */
#define FIRST_BITS    11	  /* of the set of tasks that are known */
#define MOST_PROBES   256
#define USER_ENTRIES  256 /* of an x86 root: the lower half */
#define MOST_ROOTS    8	  /* that are compared with the page after them */

struct reader {
	const struct us_linux_tasks_layout *l;
	struct us_paging *p;
	const struct us_space *s;
};

static bool read_at(const struct reader *r, us_gva va, void *buf, size_t len)
{
	return va >> 63 && us_paging_read(r->p, r->s, va, buf, len);
}

static bool read_word(const struct reader *r, us_gva va, uint64_t *ret)
{
	return read_at(r, va, ret, sizeof(*ret));
}

static bool read_half(const struct reader *r, us_gva va, void *ret)
{
	return read_at(r, va, ret, 4);
}

/* --- tasks already seen: a list may be circular --- */

struct set {
	us_gva *v; /* 1 << bits of them; 0: free */
	unsigned bits;
	size_t n;
};

/* false: it is already there; or so many share one place that somebody chose them. */
static bool insert(struct set *s, us_gva task)
{
	size_t mask = ((size_t)1 << s->bits) - 1;
	size_t k = (size_t)(task * 0x9e3779b97f4a7c15 >> (64 - s->bits));
	for (unsigned n = 0; n < MOST_PROBES; n++, k = (k + 1) & mask) {
		if (s->v[k] == task)
			return false;
		if (!s->v[k]) {
			s->v[k] = task;
			s->n++;
			return true;
		}
	}
	return false;
}

static int grow(struct set *s)
{
	struct set larger = { .bits = s->bits ? s->bits + 2 : FIRST_BITS };
	int r = 0;
	larger.v = calloc((size_t)1 << larger.bits, sizeof(*larger.v));
	if (!larger.v)
		return -ENOMEM;
	for (size_t k = 0; s->bits && k < (size_t)1 << s->bits; k++)
		if (s->v[k] && !insert(&larger, s->v[k]))
			r = -EAGAIN;
	free(s->v);
	*s = larger;
	return r;
}

/* 0, -ENOMEM, or -EAGAIN: it was known. */
static int remember(struct set *s, us_gva task)
{
	int r = !s->bits || s->n >= (size_t)1 << (s->bits - 1) ? grow(s) : 0;
	return r < 0 || insert(s, task) ? r : -EAGAIN;
}

/* --- a task --- */

struct walk {
	struct reader r;
	const struct us_linux_tasks_layout *l; /* the reader's */
	struct us_linux_tasks *ret;
	struct set known;
	/* The task that was read last: a task_struct is read in one piece. */
	us_gva at;
	uint8_t bytes[US_LINUX_MOST_OF_TASK];
	/* Of the task before: threads of one process have the same. */
	us_gva mm;
	us_gpa root;
};

static bool load(struct walk *w, us_gva at)
{
	w->at = at;
	return read_at(&w->r, at + w->l->first, w->bytes, w->l->span);
}

static void take(const struct walk *w, uint32_t offset, void *ret, size_t len)
{
	memcpy(ret, w->bytes + (offset - w->l->first), len);
}

static uint32_t half(const struct walk *w, uint32_t offset)
{
	uint32_t v;
	take(w, offset, &v, sizeof(v));
	return v;
}

static uint64_t word(const struct walk *w, uint32_t offset)
{
	uint64_t v;
	take(w, offset, &v, sizeof(v));
	return v;
}

/* include/linux/sched.h, task_state_index(): the highest bit that is reported. */
char us_linux_task_letter(uint64_t state, uint32_t exit_state)
{
	static const char letters[] = "RSDTtXZP";
	uint64_t all = (state | exit_state) & 0x7f;
	/* TASK_RTLOCK_WAIT (since 5.15) or TASK_FROZEN (since 6.1), alone: the kernel
	 * reports these as D.  Before, nothing used these bits. */
	if (state & 0x9000)
		return 'D';
	if ((state & 0x402) == 0x402) /* TASK_IDLE: no load, not interruptible */
		return 'I';
	unsigned n = 0;
	for (; all; all >>= 1)
		n++;
	return letters[n];
}

static char take_state(const struct walk *w)
{
	uint64_t state = 0;
	take(w, w->l->state, &state, w->l->state_bytes);
	return us_linux_task_letter(state, half(w, w->l->exit_state));
}

/* Kernel threads have none, although they may borrow one. */
static us_gpa read_root(struct walk *w)
{
	us_gva mm = word(w, w->l->mm), pgd;
	if (mm == w->mm)
		return w->root;
	w->mm = mm;
	w->root = 0;
	if (read_word(&w->r, mm + w->l->pgd, &pgd) && pgd >> 63)
		us_paging_translate(w->r.p, w->r.s, pgd, &w->root, NULL);
	return w->root;
}

/* A kernel thread keeps a name that is too long for comm (kernel/kthread.c, since
 * 5.17). */
static void read_name(const struct walk *w, struct us_linux_task *t)
{
	size_t n = strlen(t->comm);
	char name[US_LINUX_NAME] = "";
	uint64_t at;
	memcpy(t->name, t->comm, n + 1);
	if (!w->l->has_names || !t->kernel_thread || n < US_LINUX_COMM - 1 ||
	    !read_word(&w->r, word(w, w->l->kthread) + w->l->full_name, &at))
		return;
	size_t left = 4096 - at % 4096; /* the next page may not be mapped */
	if (read_at(&w->r, at, name, left < sizeof(name) ? left : sizeof(name) - 1) &&
	    !strncmp(name, t->comm, n))
		memcpy(t->name, name, sizeof(name));
}

/* false: there is no task. */
static bool read_task(struct walk *w, struct us_linux_task *t)
{
	const struct us_linux_tasks_layout *l = w->l;
	memset(t, 0, sizeof(*t));
	t->at = w->at;
	t->pid = (int32_t)half(w, l->pid);
	t->tgid = (int32_t)half(w, l->tgid);
	t->kernel_thread = half(w, l->flags) & KERNEL_THREAD;
	t->stack = word(w, l->stack);
	t->state = take_state(w);
	t->start_ns = l->start ? word(w, l->start) : 0;
	if (l->lists_switches)
		t->switches = word(w, l->switches[0]) + word(w, l->switches[1]);
	t->mm = word(w, l->mm);
	t->root = read_root(w);
	take(w, l->comm, t->comm, US_LINUX_COMM - 1);
	read_name(w, t);
	if (l->has_cpu) {
		t->on_cpu = half(w, l->on_cpu) & l->on_cpu_mask;
		t->cpu = half(w, l->cpu);
	}
	return t->pid >= 0 && t->tgid >= 0;
}

/* Add the loaded task.  0, -ENOMEM, or -EAGAIN: it is no task, or already known. */
static int add(struct walk *w)
{
	struct us_linux_task t;
	int r = remember(&w->known, w->at);
	if (r < 0)
		return r;
	if (!read_task(w, &t))
		return -EAGAIN;
	struct us_linux_task *slot = us_vec_push(w->ret);
	if (!slot)
		return -ENOMEM;
	*slot = t;
	return 0;
}

/* --- the lists --- */

struct link {
	uint64_t next, prev; /* the next one's prev must be this one */
};

static bool is_full(struct walk *w)
{
	if (w->ret->n >= US_LINUX_MAX_TASKS)
		w->ret->full = true;
	return w->ret->full;
}

/* Add the threads of the loaded leader, which is one of them. */
static int add_threads(struct walk *w)
{
	const us_gva leader = w->at, signal = word(w, w->l->signal);
	const us_gva head = signal + w->l->thread_head;
	struct link of_leader, ends;
	/* init_task has no other threads, and a task that has exited has none. */
	if (!signal)
		return 0;
	take(w, w->l->thread_node, &of_leader, sizeof(of_leader));
	if (of_leader.next == head && of_leader.prev == head)
		return 0; /* no other threads */
	if (!read_at(&w->r, head, &ends, sizeof(ends)))
		return -EAGAIN;
	us_gva link = head;
	for (us_gva next = ends.next; next != head;) {
		us_gva task = next - w->l->thread_node;
		struct link here = of_leader;
		if (is_full(w))
			return 0;
		if (task != leader && !load(w, task))
			return -EAGAIN;
		if (task != leader)
			take(w, w->l->thread_node, &here, sizeof(here));
		if (here.prev != link)
			return -EAGAIN;
		int r = task != leader ? add(w) : 0;
		if (r < 0)
			return r;
		link = next;
		next = here.next;
	}
	return ends.prev == link ? 0 : -EAGAIN;
}

static int add_processes(struct walk *w)
{
	const us_gva head = w->l->init + w->l->tasks;
	struct link here;
	us_gva last;
	if (!load(w, w->l->init))
		return -ENOENT;
	int r = add(w);
	if (r < 0)
		return r == -EAGAIN ? -ENOENT : r;
	take(w, w->l->tasks, &here, sizeof(here));
	us_gva link = head;
	for (us_gva next = here.next; next != head; next = here.next) {
		if (is_full(w))
			return 0;
		if (!load(w, next - w->l->tasks))
			return -EAGAIN;
		take(w, w->l->tasks, &here, sizeof(here));
		if (here.prev != link)
			return -EAGAIN;
		r = add(w);
		if (r == 0)
			r = add_threads(w);
		if (r < 0)
			return r;
		link = next;
	}
	us_paging_forget(w->r.p, w->r.s, head + 8);
	return read_word(&w->r, head + 8, &last) && last == link ? 0 : -EAGAIN;
}

static int by_number(const void *a, const void *b)
{
	const struct us_linux_task *x = a, *y = b;
	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Keep what the last try has read, even if it is incomplete. */
static int read_all(struct walk *w)
{
	int r = -EAGAIN;
	for (unsigned k = 0; r == -EAGAIN && k < TRIES; k++) {
		w->ret->n = 0;
		w->mm = w->root = 0;
		us_paging_new_sample(w->r.p);
		r = add_processes(w);
		free(w->known.v);
		w->known = (struct set){ 0 };
	}
	w->ret->torn = r == -EAGAIN;
	return w->ret->torn ? 0 : r;
}

bool us_linux_task_is_current(const struct us_linux_tasks_layout *l,
			      struct us_paging *p, const struct us_space *s,
			      us_gva task)
{
	const struct reader w = { .l = l, .p = p, .s = s };
	uint64_t at;
	return !l->has_cpu && l->current && read_word(&w, l->current, &at) &&
	       at == task;
}

/* Mark the running task, if tasks do not record it. */
static void mark_current(struct walk *w)
{
	uint64_t at = 0;
	if (w->l->has_cpu || !w->l->current || !read_word(&w->r, w->l->current, &at))
		return;
	for (size_t k = 0; k < w->ret->n; k++)
		w->ret->v[k].on_cpu = w->ret->v[k].at == at;
}

int us_linux_tasks_read(const struct us_linux_tasks_layout *l, struct us_paging *p,
			const struct us_space *s, struct us_linux_tasks *ret)
{
	struct walk *w = calloc(1, sizeof(*w));
	memset(ret, 0, sizeof(*ret));
	if (!w)
		return -ENOMEM;
	w->r = (struct reader){ .l = l, .p = p, .s = s };
	w->l = l;
	w->ret = ret;
	int r = read_all(w);
	if (r == 0)
		mark_current(w);
	free(w);
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

static bool read_saved(const struct reader *w, us_gva from, us_gva sp,
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
	const struct reader w = { .l = l, .p = p, .s = s };
	uint64_t sp;
	uint32_t on_cpu = 0;
	memset(ret, 0, sizeof(*ret));
	us_paging_new_sample(p);
	if ((l->has_cpu && !read_half(&w, t->at + l->on_cpu, &on_cpu)) ||
	    on_cpu & l->on_cpu_mask || us_linux_task_is_current(l, p, s, t->at) ||
	    !read_word(&w, t->at + l->sp, &sp) || !in_stack(l, t, sp) ||
	    !read_saved(&w, l->frame ? sp : t->at, sp, ret))
		return false;
	ret->arch = (uint8_t)l->arch;
	ret->bits = 64;
	ret->space = *s;
	if (t->root) /* a process's tables map the kernel, too */
		ret->space.root = t->root;
	ret->fp = ret->gpr[fp_of[l->arch]];
	return set(ret, sp_of[l->arch], ret->sp);
}

/* With page-table isolation, bit 12 distinguishes the two roots of one process
 * (arch/x86/mm/pti.c). */
static bool is_root(const struct us_linux_tasks_layout *l, us_gpa root, us_gpa of)
{
	us_gpa ignored = l->arch == US_ARCH_X86_64 ? 0x1000 : 0;
	return of && ((root ^ of) & US_ROOT_MASK & ~ignored) == 0;
}

static bool is_process(const struct us_linux_task *t)
{
	return t->root && t->pid == t->tgid;
}

/* Is the page after the root a root too, of the same program?  Without isolation, no
 * two roots share a table of user memory. */
static bool has_user_root(struct us_paging *p, us_gpa root)
{
	uint64_t own[USER_ENTRIES], users;
	if (!us_mem_read(p->mem, root, own, sizeof(own)))
		return false;
	for (size_t k = 0; k < USER_ENTRIES; k++)
		if (own[k] & US_X86_PRESENT)
			return us_mem_read(p->mem,
					   (root | US_ROOT_OF_USER) + k * sizeof(*own),
					   &users, sizeof(users)) &&
			       !((own[k] ^ users) &
				 (US_X86_PRESENT | US_X86_ADDRESS_52));
	return false;
}

bool us_linux_tasks_isolated(const struct us_linux_tasks_layout *l, struct us_paging *p,
			     const struct us_linux_tasks *t)
{
	unsigned tries = 0;
	bool found = false;
	if (l->arch != US_ARCH_X86_64)
		return false;
	for (size_t k = 0; k < t->n; k++) {
		if (!is_process(&t->v[k]))
			continue;
		if (t->v[k].root & US_ROOT_OF_USER)
			return false;
		/* A process that ends or calls exec() proves nothing: ask more. */
		if (!found && tries++ < MOST_ROOTS)
			found = has_user_root(p, t->v[k].root);
	}
	return found;
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
		    ((l->has_cpu || l->current) && !one->on_cpu))
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
