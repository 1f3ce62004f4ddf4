/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscalls.c: see syscalls.h. */
#include "trace/syscalls.h"

#include "backend/backend.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS	  (1U << 12)
#define MAX_CHAIN 256U /* calls of one place that are checked */
/* An entry uses this much of a stack, which ends at a multiple of it. */
#define STACK_PART 512U
#define MAX_BELOW  64U /* open calls of a thread */

struct call {
	struct us_syscall shown;
	uint64_t pc, sp, root, pointer, stack;
	uint8_t texts[2 * US_SYSCALL_TEXTS * US_SYSCALL_TEXT];
	size_t n_text_byte;
	enum us_syscall_fate fate;
	bool left; /* the kernel; not known yet for where */
	uint64_t left_ns, left_insns;
	struct call *next;  /* at the same place */
	struct call *below; /* the same thread's call during which this one was made */
};

struct thread {
	uint64_t stack, root, pointer;
	uint64_t tid;
	char *program;
	bool new_program; /* it has its own page tables */
	bool ended;
	struct call *top;
	uint32_t next; /* in the hash table */
};

struct us_syscalls {
	const struct us_syscalls_ops *ops;
	void *ctx;
	struct call *slot[SLOTS];
	unsigned n_open;
	struct {
		struct thread *v;
		size_t n, cap;
	} threads;
	uint32_t thread_slot[SLOTS];
	struct call *entered[US_MAX_VCPUS]; /* their stack is not known yet */
	struct call *leaving[US_MAX_VCPUS];
	bool stacks_are_shared; /* by threads */
	uint64_t n, n_unknown;
};

static uint64_t stack_end(uint64_t sp)
{
	return (sp + STACK_PART - 1) & ~(uint64_t)(STACK_PART - 1);
}

static uint32_t hash(uint64_t a, uint64_t b)
{
	return (uint32_t)((a ^ b * 31) * 0x9e3779b97f4a7c15 >> 33) & (SLOTS - 1);
}

int us_syscalls_new(const struct us_syscalls_ops *ops, void *ctx,
		    struct us_syscalls **ret)
{
	struct us_syscalls *s = calloc(1, sizeof(*s));
	*ret = s;
	if (!s)
		return -ENOMEM;
	s->ops = ops;
	s->ctx = ctx;
	/* No thread has the number 0. */
	struct thread *none = us_vec_push(&s->threads);
	if (none)
		return 0;
	us_syscalls_free(s);
	*ret = NULL;
	return -ENOMEM;
}

void us_syscalls_free(struct us_syscalls *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < SLOTS; i++)
		for (struct call *c = s->slot[i], *next; c; c = next) {
			next = c->next;
			free(c);
		}
	for (unsigned i = 0; i < US_MAX_VCPUS; i++)
		free(s->entered[i]);
	for (size_t i = 0; i < s->threads.n; i++)
		free(s->threads.v[i].program);
	free(s->threads.v);
	free(s);
}

/* ---- Threads ---- */

static bool is_thread(const struct us_syscalls *s, const struct thread *t,
		      const struct call *c)
{
	if (t->ended)
		return false;
	if (c->stack && !s->stacks_are_shared)
		return t->stack == c->stack;
	return !t->stack && t->root == c->root && t->pointer == c->pointer;
}

/* Its number; 0: there is no room for more.  -ENOMEM. */
static int find_thread(struct us_syscalls *s, const struct call *c, uint32_t *ret)
{
	bool by_stack = c->stack && !s->stacks_are_shared;
	uint32_t *slot = &s->thread_slot[by_stack ? hash(c->stack, 0)
						  : hash(c->root, c->pointer)];
	for (*ret = *slot; *ret; *ret = s->threads.v[*ret].next)
		if (is_thread(s, &s->threads.v[*ret], c))
			return 0;
	if (s->threads.n >= US_SYSCALLS_THREADS)
		return 0;
	struct thread *t = us_vec_push(&s->threads);
	if (!t)
		return -ENOMEM;
	*t = (struct thread){ .stack = by_stack ? c->stack : 0,
			      .root = c->root,
			      .pointer = c->pointer,
			      .next = *slot };
	*ret = *slot = (uint32_t)(s->threads.n - 1);
	return 0;
}

static struct thread *thread_of(struct us_syscalls *s, const struct call *c)
{
	return &s->threads.v[c->shown.thread];
}

static struct thread *thread_by_stack(struct us_syscalls *s, uint64_t stack)
{
	uint32_t i = s->thread_slot[hash(stack, 0)];
	while (i && (s->threads.v[i].stack != stack || s->threads.v[i].ended))
		i = s->threads.v[i].next;
	return i ? &s->threads.v[i] : NULL;
}

/* What a returned call shows about its thread. */
static void learn(struct us_syscalls *s, const struct call *c)
{
	struct thread *t = thread_of(s, c);
	const char *name = us_syscall_name(c->shown.abi, c->shown.number);
	if (!c->shown.thread || !c->shown.has_value || !c->shown.has_number || !name)
		return;
	if (!strcmp(name, "set_tid_address") || !strcmp(name, "gettid"))
		t->tid = (uint64_t)c->shown.value;
	if (c->fate != US_SYSCALL_EXECS || c->shown.value)
		return;
	t->new_program = true;
	if (!c->shown.n_text)
		return;
	free(t->program);
	t->program = strndup((const char *)c->shown.text[0].bytes, c->shown.text[0].n);
	t->tid = 0;
}

struct us_syscall_thread us_syscalls_thread(const struct us_syscalls *s,
					    uint32_t thread)
{
	const struct thread *t = &s->threads.v[thread < s->threads.n ? thread : 0];
	return (struct us_syscall_thread){ t->tid, t->program ? t->program : "" };
}

/* ---- Calls ---- */

static void add_texts(struct call *c, const struct us_syscall_message *m)
{
	for (unsigned i = 0; i < m->n_text; i++) {
		struct us_syscall_text t = m->text[i];
		if (c->shown.n_text == 2 * US_SYSCALL_TEXTS)
			return;
		uint8_t *to = c->texts + c->n_text_byte;
		memcpy(to, t.bytes, t.n);
		c->n_text_byte += t.n;
		t.bytes = to;
		c->shown.text[c->shown.n_text++] = t;
	}
}

static void unlink_call(struct us_syscalls *s, struct call *c)
{
	struct call **at = &s->slot[hash(c->pc, c->sp)];
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	at = &thread_of(s, c)->top;
	while (*at && *at != c)
		at = &(*at)->below;
	if (*at)
		*at = c->below;
	for (unsigned i = 0; i < US_MAX_VCPUS; i++)
		if (s->leaving[i] == c)
			s->leaving[i] = NULL;
	s->n_open--;
}

/* The call has ended; frees c. */
static int finish(struct us_syscalls *s, struct call *c, enum us_syscall_end end,
		  uint64_t t_ns, uint64_t insns)
{
	c->shown.end = (uint8_t)end;
	c->shown.end_ns = t_ns > c->shown.begin_ns ? t_ns : c->shown.begin_ns;
	c->shown.end_insns = insns;
	learn(s, c);
	unlink_call(s, c);
	int rc = s->ops->leave(s->ctx, &c->shown);
	free(c);
	return rc;
}

/* It left the kernel, but not to where it was made: an exec has succeeded. */
static int settle(struct us_syscalls *s, struct call *c)
{
	if (c->fate == US_SYSCALL_EXECS) {
		c->shown.has_value = c->shown.has_args;
		c->shown.value = 0;
	}
	return finish(s, c, US_SYSCALL_DONE, c->left_ns, c->left_insns);
}

/* A thread makes a call while it has others that have not returned. */
static int finish_older(struct us_syscalls *s, struct thread *t, const struct call *c)
{
	int rc = 0;
	unsigned n = 0;
	for (struct call *x = t->top, *below; x && !rc; x = below) {
		below = x->below;
		uint64_t now = c->shown.begin_ns, insns = c->shown.begin_insns;
		if (x->left || x->fate == US_SYSCALL_EXECS) {
			x->left_ns = x->left ? x->left_ns : now;
			x->left_insns = x->left ? x->left_insns : insns;
			rc = settle(s, x);
		} else if (x->fate == US_SYSCALL_RESTORES) {
			rc = finish(s, x, US_SYSCALL_DONE, now, insns);
		} else if (x->pc == c->pc && x->sp == c->sp && x->root == c->root) {
			rc = finish(s, x, US_SYSCALL_RESTARTED, now, insns);
		} else if (x->root != c->root) {
			rc = finish(s, x, US_SYSCALL_THREAD_GONE, now, insns);
		} else if (++n > MAX_BELOW) {
			rc = finish(s, x, US_SYSCALL_UNFINISHED, now, insns);
		}
		/* Else a signal handler makes another call during it. */
	}
	return rc;
}

/* Another thread's program uses this kernel stack: the previous thread was killed. */
static bool is_another(struct us_syscalls *s, const struct call *c)
{
	struct thread *t = thread_of(s, c);
	bool another = c->shown.thread && t->root != c->root && !t->new_program;
	t->root = c->root;
	t->new_program = false;
	t->ended = another;
	return another;
}

static int set_thread(struct us_syscalls *s, struct call *c)
{
	int rc = find_thread(s, c, &c->shown.thread);
	if (!rc && c->shown.thread)
		rc = finish_older(s, thread_of(s, c), c);
	if (!rc && is_another(s, c))
		rc = find_thread(s, c, &c->shown.thread);
	return rc;
}

static void add_call(struct us_syscalls *s, struct call *c)
{
	struct call **slot = &s->slot[hash(c->pc, c->sp)];
	c->next = *slot;
	*slot = c;
	c->below = thread_of(s, c)->top;
	thread_of(s, c)->top = c;
	s->n_open++;
	s->n++;
	s->n_unknown += !c->shown.has_number;
}

/* It was this thread's last call. */
static int end_thread(struct us_syscalls *s, struct call *c)
{
	struct thread *t = thread_of(s, c);
	uint64_t now = c->shown.begin_ns, insns = c->shown.begin_insns;
	int rc = finish(s, c, US_SYSCALL_NO_RETURN, now, insns);
	t->ended = t != s->threads.v;
	while (!rc && t->ended && t->top)
		rc = finish(s, t->top, US_SYSCALL_THREAD_GONE, now, insns);
	return rc;
}

/* Everything about its entry is known. */
static int publish(struct us_syscalls *s, struct call *c)
{
	bool room = s->n_open < US_SYSCALLS_OPEN;
	int rc = room ? set_thread(s, c) : 0;
	if (rc || !room) {
		free(c);
		return rc;
	}
	add_call(s, c);
	rc = s->ops->enter(s->ctx, &c->shown);
	if (rc || c->fate != US_SYSCALL_NEVER)
		return rc;
	return end_thread(s, c);
}

/* What this vCPU did after it left the kernel was not the call's return.  A failed exec
 * may also be interrupted right there, and return later: what its thread does next
 * shows whether it failed. */
static int settle_left(struct us_syscalls *s, unsigned vcpu)
{
	struct call *c = s->leaving[vcpu];
	s->leaving[vcpu] = NULL;
	if (!c || (c->fate == US_SYSCALL_EXECS && !s->stacks_are_shared))
		return 0;
	return settle(s, c);
}

/* No more messages will follow about the call that this vCPU left or entered; there is
 * never one of each. */
static int flush(struct us_syscalls *s, unsigned vcpu)
{
	struct call *entered = s->entered[vcpu];
	int rc = settle_left(s, vcpu);
	if (rc)
		return rc;
	s->entered[vcpu] = NULL;
	return entered ? publish(s, entered) : 0;
}

/* ---- Messages about calls ---- */

struct told {
	const struct us_syscall_message *m;
	unsigned vcpu;
	uint64_t t_ns, insns;
};

static int on_entered(struct us_syscalls *s, const struct told *t)
{
	const struct us_syscall_message *m = t->m;
	int rc = flush(s, t->vcpu);
	struct call *c = rc ? NULL : calloc(1, sizeof(*c));
	if (!c)
		return rc ? rc : -ENOMEM;
	c->shown = (struct us_syscall){ .begin_ns = t->t_ns,
					.begin_insns = t->insns,
					.number = m->number,
					.vcpu = (uint16_t)t->vcpu,
					.abi = m->abi,
					.has_number = m->has_number,
					.has_args = m->has_regs };
	memcpy(c->shown.arg, m->arg, sizeof(c->shown.arg));
	c->pc = m->pc;
	c->sp = m->sp;
	c->root = m->root & US_SYSCALL_ROOT_MASK;
	c->pointer = m->thread;
	c->fate = m->has_number ? us_syscall_fate(m->abi, m->number)
				: US_SYSCALL_RETURNS;
	add_texts(c, m);
	c->shown.n_text_before = c->shown.n_text;
	s->entered[t->vcpu] = c;
	return 0;
}

static int on_stack(struct us_syscalls *s, const struct told *t)
{
	struct call *c = s->entered[t->vcpu];
	if (!c || c->pc != t->m->pc)
		return flush(s, t->vcpu);
	c->stack = stack_end(t->m->stack);
	s->entered[t->vcpu] = NULL;
	return publish(s, c);
}

static int on_left(struct us_syscalls *s, const struct told *t)
{
	int rc = flush(s, t->vcpu);
	struct thread *thread = rc ? NULL : thread_by_stack(s, stack_end(t->m->stack));
	struct call *c = thread ? thread->top : NULL;
	if (!c || c->left)
		return rc;
	c->left = true;
	c->left_ns = t->t_ns;
	c->left_insns = t->insns;
	s->leaving[t->vcpu] = c;
	return 0;
}

/* After vfork() two threads have everything about a place in common; and the call
 * itself may have set the thread pointer. */
static bool is_same_thread(const struct call *c, const struct us_syscall_message *m)
{
	if (c->stack && c->stack == stack_end(m->stack))
		return true;
	return m->has_regs && m->sp && c->pointer == m->thread;
}

static struct call *find_returned(struct us_syscalls *s,
				  const struct us_syscall_message *m)
{
	struct call *c = s->slot[hash(m->pc, m->sp)];
	for (unsigned i = 0; c && i < MAX_CHAIN; c = c->next, i++) {
		if (c->pc == m->pc && c->sp == m->sp &&
		    c->root == (m->root & US_SYSCALL_ROOT_MASK) && is_same_thread(c, m))
			return c;
	}
	return NULL;
}

/* The calls that were made during it have ended, too. */
static int finish_newer(struct us_syscalls *s, struct call *c, const struct told *t)
{
	struct thread *thread = thread_of(s, c);
	int rc = 0;
	for (struct call *x = c->shown.thread ? thread->top : c, *below; !rc && x != c;
	     x = below) {
		below = x->below;
		if (x->pointer != c->pointer || x->root != c->root) {
			s->stacks_are_shared = true;
			continue;
		}
		if (x->fate == US_SYSCALL_RESTORES) {
			x->shown.value = (int64_t)t->m->value;
			x->shown.has_value = t->m->has_regs;
		}
		rc = finish(s, x,
			    x->fate == US_SYSCALL_RESTORES ? US_SYSCALL_DONE
							   : US_SYSCALL_THREAD_GONE,
			    t->t_ns, t->insns);
	}
	return rc;
}

static int on_returned(struct us_syscalls *s, const struct told *t)
{
	const struct us_syscall_message *m = t->m;
	int rc = s->entered[t->vcpu] ? flush(s, t->vcpu) : 0;
	struct call *left = s->leaving[t->vcpu], *c = rc ? NULL : find_returned(s, m);
	if (left && left == c)
		s->leaving[t->vcpu] = NULL;
	else if (!rc && left && left->fate != US_SYSCALL_RESTORES)
		rc = settle_left(s, t->vcpu);
	bool child = c && c->fate == US_SYSCALL_FORKS && m->has_regs && !m->value;
	if (rc || !c || child)
		return rc;
	rc = finish_newer(s, c, t);
	if (rc)
		return rc;
	c->shown.has_value = m->has_regs;
	c->shown.value = (int64_t)m->value;
	if (m->has_number && m->number == c->shown.number)
		add_texts(c, m);
	return finish(s, c, US_SYSCALL_DONE, t->t_ns, t->insns);
}

int us_syscalls_add(struct us_syscalls *s, unsigned vcpu, uint64_t t_ns, uint64_t insns,
		    const uint8_t *p, size_t n)
{
	struct us_syscall_message m;
	struct told t = { &m, vcpu, t_ns, insns };
	if (vcpu >= US_MAX_VCPUS || !us_syscall_message_get(p, n, &m))
		return 0;
	switch ((enum us_syscall_told)m.type) {
	case US_SYSCALL_ENTERED:
		return on_entered(s, &t);
	case US_SYSCALL_ON_STACK:
		return on_stack(s, &t);
	case US_SYSCALL_LEFT:
		return on_left(s, &t);
	case US_SYSCALL_RETURNED:
		return on_returned(s, &t);
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct call *const *x = a, *const *y = b;
	uint64_t i = (*x)->shown.begin_ns, k = (*y)->shown.begin_ns;
	return i < k ? -1 : i > k;
}

int us_syscalls_end(struct us_syscalls *s, uint64_t t_ns)
{
	int rc = 0;
	size_t n = 0;
	for (unsigned i = 0; i < US_MAX_VCPUS && !rc; i++)
		rc = flush(s, i);
	struct call **open = rc ? NULL
				: malloc((s->n_open + 1) * sizeof(struct call *));
	if (!open)
		return rc ? rc : -ENOMEM;
	for (unsigned i = 0; i < SLOTS; i++)
		for (struct call *c = s->slot[i]; c; c = c->next)
			open[n++] = c;
	qsort(open, n, sizeof(struct call *), by_time);
	for (size_t i = 0; i < n && !rc; i++)
		rc = open[i]->left && open[i]->fate == US_SYSCALL_EXECS
			     ? settle(s, open[i])
			     : finish(s, open[i], US_SYSCALL_UNFINISHED, t_ns,
				      open[i]->shown.begin_insns);
	free(open);
	return rc;
}

uint64_t us_syscalls_n(const struct us_syscalls *s)
{
	return s->n;
}

uint64_t us_syscalls_n_unknown(const struct us_syscalls *s)
{
	return s->n_unknown;
}
