/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wait.c: see wait.h. */
#include "linux/wait.h"

#include <string.h>

void us_linux_scheduler_find(const struct us_kallsyms *k,
			     struct us_linux_scheduler *ret)
{
	static const char *const border[2][2] = {
		{ "__sched_text_start", "__sched_text_end" },
		{ "__lock_text_start", "__lock_text_end" },
	};
	memset(ret, 0, sizeof(*ret));
	for (unsigned i = 0; i < 2; i++) {
		us_gva start = us_kallsyms_address(k, border[i][0]);
		us_gva end = us_kallsyms_address(k, border[i][1]);
		if (!start || end < start)
			continue;
		ret->start[i] = start;
		ret->end[i] = end;
	}
}

static bool is_inside(const struct us_linux_scheduler *s, us_gva pc)
{
	return (pc >= s->start[0] && pc < s->end[0]) ||
	       (pc >= s->start[1] && pc < s->end[1]);
}

unsigned us_linux_inside(const struct us_linux_scheduler *s, const us_gva *pc,
			 unsigned n)
{
	unsigned k = 0;
	while (k < n && is_inside(s, pc[k]))
		k++;
	return k < n ? k : 0;
}

/* What is read of a task, in one piece. */
struct piece {
	uint32_t first, span;
	uint8_t bytes[US_LINUX_MOST_OF_TASK];
};

static void widen(struct piece *p, uint32_t at, uint32_t size)
{
	uint32_t end = p->first + p->span;
	p->first = at < p->first ? at : p->first;
	p->span = (at + size > end ? at + size : end) - p->first;
}

static uint64_t word(const struct piece *p, uint32_t at, size_t size)
{
	uint64_t v = 0;
	memcpy(&v, p->bytes + (at - p->first), size);
	return v;
}

/* false: it is not mapped, or is more than a task_struct has before the saved
 * registers. */
static bool load(const struct us_linux_tasks_layout *l, struct us_paging *p,
		 const struct us_space *s, us_gva at, struct piece *ret)
{
	ret->first = l->pid;
	ret->span = 4;
	widen(ret, l->state, l->state_bytes);
	widen(ret, l->exit_state, 4);
	if (l->has_cpu)
		widen(ret, l->on_cpu, 4);
	for (unsigned i = 0; i < 2 && l->has_switches; i++)
		widen(ret, l->switches[i], 8);
	us_paging_new_sample(p);
	return ret->span <= sizeof(ret->bytes) &&
	       us_paging_read(p, s, at + ret->first, ret->bytes, ret->span);
}

bool us_linux_task_look(const struct us_linux_tasks_layout *l, struct us_paging *p,
			const struct us_space *s, const struct us_linux_task *t,
			struct us_linux_task_now *ret)
{
	struct piece x;
	if (!load(l, p, s, t->at, &x) || (int32_t)word(&x, l->pid, 4) != t->pid)
		return false;
	*ret = (struct us_linux_task_now){
		.state = us_linux_task_letter(word(&x, l->state, l->state_bytes),
					      (uint32_t)word(&x, l->exit_state, 4)),
		.on_cpu = l->has_cpu ? word(&x, l->on_cpu, 4) & l->on_cpu_mask
				     : us_linux_task_is_current(l, p, s, t->at),
	};
	for (unsigned i = 0; i < 2 && l->has_switches; i++)
		ret->switches += word(&x, l->switches[i], 8);
	return true;
}
