/* SPDX-License-Identifier: GPL-2.0-or-later */
/* processes.c: see processes.h. */
#include "cmd/record/processes.h"

#include "base/clock.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* When a list was read.  A process in it existed at its end if it is also in the next
 * list. */
struct span {
	uint64_t begin, end;
};

static uint64_t since(uint64_t start_ns)
{
	return start_ns ? us_now_ns() - start_ns : 0;
}

void us_processes_init(struct us_processes *p, bool by_stack)
{
	memset(p, 0, sizeof(*p));
	p->by_stack = by_stack;
	p->owners = calloc(1, sizeof(*p->owners));
	pthread_mutex_init(&p->lock, NULL);
	us_programs_init(&p->programs);
}

void us_processes_fini(struct us_processes *p)
{
	free(p->all.v);
	free(p->tasks.v);
	free(p->paging);
	free(p->pages);
	free(p->owners);
	us_programs_fini(&p->programs);
	us_pair_map_fini(&p->of_root);
	us_pair_map_fini(&p->of_stack);
	us_pair_map_fini(&p->told);
	pthread_mutex_destroy(&p->lock);
	memset(p, 0, sizeof(*p));
}

/* The process with these page tables if it is still the same one, otherwise a new
 * one. */
static struct us_known_process *
known(struct us_processes *p, const struct us_linux_task *t, const struct span *at)
{
	uint32_t *last = us_pair_map_at(&p->of_root, t->root, 0);
	struct us_known_process *one = last && *last ? &p->all.v[*last - 1] : NULL;
	if (!last || (one && !one->gone && one->pid == (uint32_t)t->tgid))
		return one;
	if (one && !one->gone) /* another has its tables: its end was missed */
		one->gone = one->dirty = true;
	one = p->all.n < US_PROCESSES_MOST ? us_vec_push(&p->all) : NULL;
	if (!one && p->all.n >= US_PROCESSES_MOST)
		us_limit_reached(&p->programs.limits, US_LIMIT_PROCESSES,
				 US_PROCESSES_MOST);
	if (!one)
		return NULL;
	*last = (uint32_t)p->all.n;
	one->root = t->root;
	one->pid = (uint32_t)t->tgid;
	one->from_ns = at->end;
	return one;
}

/* The name it has now is its name since it called exec(). */
static void see(struct us_processes *p, const struct us_linux_task *t, bool pair,
		const struct span *at)
{
	struct us_known_process *one = known(p, t, at);
	if (!one)
		return;
	one->dirty |= strcmp(one->name, t->comm) != 0 || one->pair != pair;
	one->pair = pair;
	memcpy(one->name, t->comm, sizeof(one->name));
	one->seen_ns = at->begin;
}

static void take(struct us_processes *p, const struct us_linux_tasks *t, bool pair,
		 const struct span *at)
{
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; k < t->n; k++)
		if (t->v[k].root && t->v[k].pid == t->v[k].tgid)
			see(p, &t->v[k], pair, at);
	for (size_t k = 0; !t->torn && !t->full && k < p->all.n; k++) {
		struct us_known_process *one = &p->all.v[k];
		if (!one->gone && one->seen_ns != at->begin)
			one->gone = one->dirty = true;
	}
	pthread_mutex_unlock(&p->lock);
}

/* The thread on this stack if it is still the same one, otherwise a new one. */
static struct us_known_task *known_task(struct us_processes *p,
					const struct us_linux_who *w, uint64_t t_ns)
{
	uint32_t *last = us_pair_map_at(&p->of_stack, w->stack, 0);
	struct us_known_task *one = last && *last ? &p->tasks.v[*last - 1] : NULL;
	if (!last || (one && !one->gone && one->who.id == w->id))
		return one;
	if (one && !one->gone)
		one->gone = one->dirty = true;
	one = p->tasks.n < US_TASKS_MOST ? us_vec_push(&p->tasks) : NULL;
	if (!one && p->tasks.n >= US_TASKS_MOST)
		us_limit_reached(&p->programs.limits, US_LIMIT_THREADS, US_TASKS_MOST);
	if (!one)
		return NULL;
	*last = (uint32_t)p->tasks.n;
	*one = (struct us_known_task){ .who = *w, .from_ns = t_ns, .dirty = true };
	return one;
}

/* All that identifies the thread is unchanged: do not read it again. */
static bool is_known(struct us_processes *p, const struct us_linux_task *t,
		     uint64_t seen_ns)
{
	uint32_t *last = us_pair_map_at(&p->of_stack, t->stack, 0);
	struct us_known_task *one = last && *last ? &p->tasks.v[*last - 1] : NULL;
	if (!one || one->gone || !t->start_ns || one->who.at != t->at ||
	    one->who.pid != (uint32_t)t->pid || one->who.tgid != (uint32_t)t->tgid ||
	    one->start_ns != t->start_ns || strcmp(one->who.comm, t->comm) != 0)
		return false;
	pthread_mutex_lock(&p->lock);
	one->seen_ns = seen_ns;
	pthread_mutex_unlock(&p->lock);
	return true;
}

/* Of a process whose samples tell their threads two are enough to know that it has
 * several: the list is sorted by process. */
static bool is_wanted(const struct us_processes *p, const struct us_linux *l,
		      const struct us_linux_tasks *t, size_t k)
{
	return p->by_stack || !l->who.current ||
	       (t->v[k].root && (k < 2 || t->v[k - 2].tgid != t->v[k].tgid));
}

/* Threads by their stacks.  A thread with a new name got it at some time since the last
 * reading. */
static void take_tasks(struct us_processes *p, const struct us_linux *l,
		       const struct us_linux_tasks *t, uint64_t start_ns)
{
	uint64_t begin = since(start_ns);
	struct us_linux_who who;
	p->stack_size = (uint32_t)l->who.stack_size;
	for (size_t k = 0; k < t->n; k++) {
		if (!is_wanted(p, l, t, k) || is_known(p, &t->v[k], begin) ||
		    !us_linux_who_read(&l->who, p->paging, &l->space, t->v[k].at, &who))
			continue;
		uint64_t now = since(start_ns);
		pthread_mutex_lock(&p->lock);
		struct us_known_task *one = known_task(p, &who, now);
		if (one) {
			one->seen_ns = begin;
			one->start_ns = t->v[k].start_ns;
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; !t->torn && !t->full && k < p->tasks.n; k++) {
		struct us_known_task *one = &p->tasks.v[k];
		if (!one->gone && one->seen_ns != begin)
			one->gone = one->dirty = true;
	}
	pthread_mutex_unlock(&p->lock);
}

static void count_scan(struct us_processes *p, uint64_t began_ns, size_t tasks)
{
	struct us_scan_stats *s = &p->stats;
	uint64_t cost = us_thread_cpu_ns() - began_ns;
	pthread_mutex_lock(&p->lock);
	if (!s->scans++)
		s->cost_first_ns = cost;
	if (cost > s->cost_max_ns)
		s->cost_max_ns = cost;
	s->cost_ns += cost;
	s->tasks = tasks;
	pthread_mutex_unlock(&p->lock);
}

static void count_feed(struct us_processes *p, uint64_t began_ns)
{
	struct us_scan_stats *s = &p->stats;
	uint64_t cost = us_thread_cpu_ns() - began_ns;
	pthread_mutex_lock(&p->lock);
	s->feeds++;
	s->feed_ns += cost;
	if (cost > s->feed_max_ns)
		s->feed_max_ns = cost;
	pthread_mutex_unlock(&p->lock);
}

void us_processes_stats(struct us_processes *p, struct us_scan_stats *ret)
{
	pthread_mutex_lock(&p->lock);
	*ret = p->stats;
	pthread_mutex_unlock(&p->lock);
}

void us_processes_read(struct us_processes *p, const struct us_linux *l,
		       struct us_mem *mem, uint64_t start_ns)
{
	uint64_t began = us_thread_cpu_ns();
	struct us_linux_tasks t;
	struct span at = { .begin = since(start_ns) };
	if (!atomic_load(&p->wanted) || !l->has_tasks)
		return;
	if (!p->paging)
		p->paging = malloc(sizeof(*p->paging));
	if (!p->pages)
		p->pages = calloc(1, sizeof(*p->pages));
	if (!p->paging || !p->pages)
		return;
	us_mem_use_pages(mem, p->pages);
	us_paging_init(p->paging, mem);
	if (us_linux_tasks_read(&l->tasks, p->paging, &l->space, &t) < 0) {
		us_mem_use_pages(mem, NULL);
		return;
	}
	at.end = since(start_ns);
	if (t.full)
		us_limit_reached(&p->programs.limits, US_LIMIT_TASKS,
				 US_LINUX_MAX_TASKS);
	bool pair = us_linux_tasks_isolated(&l->tasks, p->paging, &t);
	take(p, &t, pair, &at);
	/* With tasks missing a process seems to have fewer threads than it has. */
	if (l->has_who && (p->by_stack || !l->who.current || !(t.torn || t.full)))
		take_tasks(p, l, &t, start_ns);
	us_programs_read(&p->programs, l, p->paging, &t, pair,
			 &(struct us_programs_time){ start_ns, at.begin, at.end });
	count_scan(p, began, t.n);
	us_programs_unwind(&p->programs, l, p->paging);
	us_mem_use_pages(mem, NULL);
	us_linux_tasks_fini(&t);
}

void us_processes_feed(struct us_processes *p, const struct us_linux *l,
		       uint64_t start_ns)
{
	uint64_t began = us_thread_cpu_ns();
	if (!p->paging || !atomic_exchange(&p->programs.hungry, false))
		return;
	if (start_ns) {
		uint64_t t = since(start_ns);
		p->programs.last = (struct us_programs_time){ start_ns, t, t };
	}
	us_mem_use_pages(p->paging->mem, p->pages);
	us_programs_unwind(&p->programs, l, p->paging);
	us_mem_use_pages(p->paging->mem, NULL);
	count_feed(p, began);
}

/* It ended at t_ns: what was read since then was left over. */
static void end(bool *gone, bool *dirty, uint64_t from_ns, uint64_t *seen_ns,
		uint64_t t_ns)
{
	if (*gone)
		return;
	*gone = *dirty = true;
	if (*seen_ns > t_ns)
		*seen_ns = from_ns > t_ns ? from_ns : t_ns;
}

void us_processes_end(struct us_processes *p, uint64_t t_ns)
{
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; k < p->all.n; k++) {
		struct us_known_process *one = &p->all.v[k];
		end(&one->gone, &one->dirty, one->from_ns, &one->seen_ns, t_ns);
	}
	for (size_t k = 0; k < p->tasks.n; k++) {
		struct us_known_task *one = &p->tasks.v[k];
		end(&one->gone, &one->dirty, one->from_ns, &one->seen_ns, t_ns);
	}
	pthread_mutex_unlock(&p->lock);
}

/* When it was last seen; never 0, which means the end of the recording. */
static uint64_t until(bool gone, uint64_t seen_ns)
{
	return !gone ? 0 : seen_ns > US_NS_PER_US ? seen_ns : US_NS_PER_US;
}

/* One that was seen only once existed at that moment, and no more is known, so it is
 * not written.  But a record that was written has to be corrected. */
static bool is_to_be_written(bool dirty, bool written, uint64_t from_ns,
			     uint64_t seen_ns)
{
	return written ? dirty : seen_ns > from_ns;
}

static int write_task(struct us_writer *w, const struct us_linux_who *who,
		      const struct us_known_task *of_stack, uint32_t stack_size)
{
	const struct us_task t = {
		.id = of_stack ? 0 : who->id,
		.stack = of_stack ? who->stack : 0,
		.stack_size = of_stack ? stack_size : 0,
		.from_ns = of_stack ? of_stack->from_ns : 0,
		.until_ns = of_stack ? until(of_stack->gone, of_stack->seen_ns) : 0,
		.started_ns = who->started_ns,
		.pid = who->pid,
		.tgid = who->tgid,
		.inner = who->inner,
		.kernel_thread = who->kernel_thread,
		.name = who->comm,
		.process = who->process,
		.cgroup = who->cgroup,
	};
	return us_writer_task(w, &t, NULL);
}

/* Write the tasks that samples met for the first time. */
static int write_owners(struct us_processes *p, struct us_writer *w)
{
	const struct us_linux_who *who;
	int r = 0;
	while (r == 0 && p->owners && (who = us_owners_peek(p->owners))) {
		uint32_t *told = us_pair_map_at(&p->told, who->id, 0);
		if (!told)
			return -ENOMEM;
		if (!*told)
			r = write_task(w, who, NULL, 0);
		*told = 1;
		us_owners_pop(p->owners);
	}
	return r;
}

static int write_tasks(struct us_processes *p, struct us_writer *w)
{
	int r = 0;
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; r == 0 && k < p->tasks.n; k++) {
		struct us_known_task *one = &p->tasks.v[k];
		if (!is_to_be_written(one->dirty, one->written, one->from_ns,
				      one->seen_ns))
			continue;
		r = write_task(w, &one->who, one, p->stack_size);
		one->written = true;
		one->dirty = false;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

static int write_processes(struct us_processes *p, struct us_writer *w)
{
	int r = 0;
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; r == 0 && k < p->all.n; k++) {
		struct us_known_process *one = &p->all.v[k];
		const struct us_process s = { .root = one->root,
					      .pair = one->pair,
					      .pid = one->pid,
					      .from_ns = one->from_ns,
					      .until_ns = until(one->gone,
								one->seen_ns),
					      .name = one->name };
		if (!is_to_be_written(one->dirty, one->written, one->from_ns,
				      one->seen_ns))
			continue;
		r = us_writer_process(w, &s, NULL);
		one->written = true;
		one->dirty = false;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

int us_processes_write(struct us_processes *p, struct us_writer *w)
{
	int r = write_processes(p, w);
	if (r == 0)
		r = write_tasks(p, w);
	if (r == 0)
		r = us_programs_write(&p->programs, w);
	return r ? r : write_owners(p, w);
}
