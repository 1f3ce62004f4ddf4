/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/waits.c: what tasks wait for, as a profile.
 *
 * Instead of samples of vCPUs it has looks at tasks that were not on a CPU.  The
 * innermost frame of a stack is the one before the scheduler's own frames.  Above the
 * stack are nodes for its process and thread, like those of phases, with
 * US_PROFILE_WAITER in their pc.
 */
#include "profile/profile_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_FRAME "[waits for a CPU]"

/* Which node of a task: the pc of a node is US_PROFILE_WAITER, plus N_PART times the
 * number of the task, plus this. */
enum part {
	PROCESS,
	THREAD, /* if it is not the first thread of its process */
	N_PART,
};
#define MOST_WAITERS (US_PROFILE_WAITER / N_PART - 1)

int us_profile_add_waiter(struct us_profile *p, const struct us_waiter *s)
{
	if (!p->opts.waits)
		return 0;
	if (p->waiters.n == MOST_WAITERS)
		return -EBADMSG;
	char *name = strdup(s->name), *process = strdup(s->process_name);
	struct us_task *to = name && process ? us_vec_push(&p->waiters) : NULL;
	if (!to) {
		free(name);
		free(process);
		return -ENOMEM;
	}
	*to = (struct us_task){ .pid = s->pid,
				.tgid = s->process,
				.kernel_thread = s->kernel_thread,
				.name = name,
				.process = process };
	return 0;
}

void us_profile_free_waiters(struct us_profile *p)
{
	for (size_t i = 0; i < p->waiters.n; i++) {
		free((char *)p->waiters.v[i].name);
		free((char *)p->waiters.v[i].process);
	}
	free(p->waiters.v);
}

static const struct us_task *task_of(const struct us_profile *p, us_gva pc)
{
	return &p->waiters.v[(pc & ~US_PROFILE_WAITER) / N_PART];
}

/* "server (107)", "worker (108)". */
void us_profile_waiter_name(const struct us_profile *p, us_gva pc, char *ret,
			    size_t size)
{
	const struct us_task *t = task_of(p, pc);
	if (pc % N_PART == PROCESS)
		snprintf(ret, size, "%s (%u)", t->process, t->tgid);
	else
		snprintf(ret, size, "%s (%u)", t->name, t->pid);
}

const struct us_task *us_profile_waiter_of(const struct us_profile *p, uint32_t node)
{
	const struct us_trie_node *v = p->trie.nodes.v;
	for (; node && p->opts.waits; node = v[node].parent)
		if (v[node].flags & US_PROFILE_PHASE && v[node].pc & US_PROFILE_WAITER)
			return task_of(p, v[node].pc);
	return NULL;
}

uint32_t us_profile_wait_top(struct us_profile *p, uint32_t key)
{
	return key % US_N_KIND == US_KIND_READY ? us_profile_special(p, CPU_FRAME)
						: US_PROFILE_NO_TOP;
}

static uint32_t below(struct us_profile *p, uint32_t node, uint32_t number,
		      enum part part)
{
	return us_profile_twin(p, node, US_PROFILE_WAITER | (number * N_PART + part),
			       US_PROFILE_PHASE);
}

/* The stack without the scheduler's frames, below nodes for its thread and process. */
static uint32_t stack_of(struct us_profile *p, const struct us_wait *s)
{
	uint32_t node = us_trie_node_of(&p->trie, s->stack), number = s->waiter - 1;
	const struct us_task *who = &p->waiters.v[number];
	if (node == US_TRIE_NONE)
		return node;
	for (unsigned i = 0; i < s->inside && p->trie.nodes.v[node].parent; i++)
		node = p->trie.nodes.v[node].parent;
	node = us_profile_stack_at(p, node, s->t_ns);
	if (node != US_TRIE_NONE && who->pid != who->tgid)
		node = below(p, node, number, THREAD);
	return node == US_TRIE_NONE ? node : below(p, node, number, PROCESS);
}

static int count(struct us_profile *p, const struct us_wait *s)
{
	static const uint8_t kind[US_N_WAIT_STATE] = {
		[US_WAIT_SLEEPS] = US_KIND_GUEST,
		[US_WAIT_BLOCKED] = US_KIND_EXIT,
		[US_WAIT_READY] = US_KIND_READY,
	};
	struct us_profile_summary *sum = &p->sum;
	uint32_t stack = stack_of(p, s);
	if (stack >= US_STRETCH_OFF / US_N_KIND)
		return -EBADMSG;
	uint32_t key = stack * US_N_KIND + kind[s->state];
	if (s->end != US_END_ROOT) {
		uint32_t *ends = us_pair_map_at(&p->key_ends, key, s->end);
		if (!ends)
			return -ENOMEM;
		++*ends;
	}
	sum->running++;
	p->recording[p->file_now].running++;
	sum->ends[s->end]++;
	p->waits.state[s->state]++;
	return us_slices_queue(&p->running, key, s->t_ns - p->opts.from_ns, 1);
}

/* All tasks of a look are one observation, as if they were one sample. */
static void count_look(struct us_profile *p, uint64_t t_ns)
{
	if (!p->waits.shown_looks || t_ns != p->last_look_ns)
		p->of_look = 0;
	p->waits.shown_looks += p->of_look == 0;
	p->last_look_ns = t_ns;
	p->sum_weight_squares += (double)(2 * p->of_look++ + 1);
}

int us_profile_add_wait(struct us_profile *p, const struct us_wait *s)
{
	const struct us_profile_opts *o = &p->opts;
	p->waits.n++;
	if (!o->waits || p->file[p->file_now].left_out)
		return 0;
	if (s->t_ns > p->last_t)
		p->last_t = s->t_ns;
	if (s->t_ns < o->from_ns || (o->to_ns && s->t_ns >= o->to_ns))
		return 0;
	p->file[p->file_now].sampled = true;
	if (p->sum.first_ns > s->t_ns)
		p->sum.first_ns = s->t_ns;
	if (p->sum.last_ns < s->t_ns)
		p->sum.last_ns = s->t_ns;
	count_look(p, s->t_ns);
	return count(p, s);
}

const struct us_profile_waits *us_profile_waits(const struct us_profile *p)
{
	return &p->waits;
}

void us_profile_warn_of_waits(struct us_profile *p)
{
	const struct us_wait_stats *s = &p->waits.stats;
	const char *note = us_profile_fact(p, "tasks_note");
	if (note && *note)
		us_profile_warn(p, "no task was looked at: %s", note);
	else if (!p->waits.n && !s->looks)
		us_profile_warn(p, us_profile_fact(p, "tasks_hz")
					   ? "no task was looked at yet"
					   : "the recording has no looks at waiting "
					     "tasks: use record --tasks");
	if ((s->moved + s->failed + s->skipped + s->lost) * 10 > s->due)
		us_profile_warn(
			p,
			"%.1f %% of the tasks that waited are missing (%" PRIu64
			" ran while they were read, %" PRIu64
			" could not be read, %" PRIu64
			" because the look took too long, %" PRIu64 " lost)",
			100.0 * (double)(s->moved + s->failed + s->skipped + s->lost) /
				(double)s->due,
			s->moved, s->failed, s->skipped, s->lost);
	if (s->torn * 10 > s->looks)
		us_profile_warn(p,
				"in %" PRIu64 " of %" PRIu64
				" looks the list of tasks changed at each try: some "
				"tasks are missing",
				s->torn, s->looks);
}
