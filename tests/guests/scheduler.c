/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scheduler.c: threads that take turns.
 */
#include "scheduler.h"
#include "machine.h"

void scheduler_init(struct scheduler *s, u32 vcpu)
{
	s->vcpu = vcpu;
	s->n_threads = 0;
}

void thread_start(struct scheduler *s, void (*function)(void *), void *arg)
{
	struct thread *t = &s->thread[s->n_threads++];

	t->rsp = new_context(stack_top(s->vcpu, s->n_threads), function, arg);
	t->next = &s->thread[0];
	if (s->n_threads > 1)
		t[-1].next = t;
}

NORETURN void scheduler_run(struct scheduler *s)
{
	u64 boot_rsp;

	s->current = &s->thread[0];
	switch_context(&boot_rsp, s->current->rsp);
	__builtin_unreachable();
}

VISIBLE void yield(struct scheduler *s)
{
	struct thread *from = s->current;

	s->current = from->next;
	switch_context(&from->rsp, s->current->rsp);
}
