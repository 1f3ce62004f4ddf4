/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits.c: see waits.h. */
#include "cmd/record/waits.h"
#include "cmd/record/waits_kept.h"

#include "base/clock.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES	     3
#define MOST_LOOK_NS (50 * US_NS_PER_MS)
#define CPU_PART     50 /* of a CPU: a fiftieth */
#define PROGRAMS_NS                                                                    \
	(10 * US_NS_PER_MS) /* in each look, for stacks with a program's part */

void us_waits_init(struct us_waits *w)
{
	memset(w, 0, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
}

static void queue_fini(struct us_waits_queue *q)
{
	free(q->waits.v);
	free(q->pc.v);
	free(q->flags.v);
	memset(q, 0, sizeof(*q));
}

void us_waits_fini(struct us_waits *w)
{
	for (size_t i = 0; w->kept && i < US_WAITS_KEPT; i++)
		us_waits_drop(&w->kept[i]);
	free(w->kept);
	free(w->code);
	free(w->paging);
	free(w->pages);
	free(w->view);
	free(w->names.v);
	us_unwinder_free(w->unwinder);
	us_pair_map_fini(&w->name_of);
	queue_fini(&w->queue);
	pthread_mutex_destroy(&w->lock);
	memset(w, 0, sizeof(*w));
}

void us_waits_want(struct us_waits *w, double hz, uint64_t seed)
{
	w->hz = hz;
	w->random = seed * 2 + 1;
}

/* --- when --- */

/* xorshift64*: from 0 to 1. */
static double next_random(struct us_waits *w)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return (double)(w->random * 0x2545f4914f6cdd1d >> 11) / 0x1p53;
}

uint64_t us_waits_due(const struct us_waits *w)
{
	if (w->hz <= 0)
		return UINT64_MAX;
	return w->next_ns > w->rest_ns ? w->next_ns : w->rest_ns;
}

/* One look in each period, at a random moment.  Missed ones are not made up for. */
static void choose_next(struct us_waits *w, uint64_t start_ns, uint64_t now_ns)
{
	double period = (double)US_NS_PER_SEC / w->hz;
	uint64_t tick = (uint64_t)((double)(now_ns - start_ns) / period);
	if (tick > w->tick)
		w->now.late += tick - w->tick;
	w->tick = (tick > w->tick ? tick : w->tick) + 1;
	w->next_ns = start_ns + (uint64_t)(((double)w->tick + next_random(w)) * period);
}

/* --- what stacks are unwound by --- */

static bool counts(const struct us_place *p)
{
	return p->match == US_MATCH_YES && !p->until_ns && !p->end && p->root;
}

/* Read the places of images; true if those that count have changed.  The number of
 * changes also grows with rules of other programs for the sampler, which do not matter
 * here. */
static bool read_places(struct us_waits *w)
{
	struct us_waits_code *c = w->code;
	size_t known = 0;
	w->changes = atomic_load_explicit(&w->images->changes, memory_order_acquire);
	c->n_place = us_images_places(w->images, c->place);
	for (size_t i = 0; i < c->n_place; i++) {
		const struct us_place *p = &c->place[i];
		if (!counts(p))
			continue;
		if (known == c->n_map || c->image[known] != p->image ||
		    c->map[known].bias != p->bias || c->map[known].root != p->root)
			return true;
		known++;
	}
	return known != c->n_map;
}

static void take_images(struct us_waits *w)
{
	struct us_waits_code *c = w->code;
	const struct us_code_map *next = &c->own;
	c->cfi.n = c->n_map = 0;
	for (size_t i = 0; i < c->n_place; i++) {
		const struct us_place *p = &c->place[i];
		const struct us_image *m = &w->images->v[p->image];
		if (!counts(p))
			continue;
		struct us_code_map *map = &c->map[c->n_map];
		c->image[c->n_map++] = p->image;
		*map = (struct us_code_map){ .start = m->start,
					     .n = m->n_start,
					     .part = m->part,
					     .n_part = m->n_part,
					     .text_start = m->text_start,
					     .text_end = m->text_end,
					     .bias = p->bias,
					     .root = p->root,
					     .next = next };
		next = map;
		us_cfi_place(&c->cfi, m->cfi, p->bias, p->root);
	}
	if (w->of->cfi)
		us_cfi_place(&c->cfi, w->of->cfi, 0, US_CFI_ANY_ROOT);
	c->next = next;
	for (size_t i = 0; i < US_WAITS_KEPT; i++)
		us_waits_drop(&w->kept[i]);
}

/* Use the rules of programs whose tasks wait; stacks that were cut short without them
 * are read again. */
static void take_programs(struct us_waits *w)
{
	const struct us_program_code *p = &w->programs->waiting;
	const struct us_code_set *set = atomic_load(&p->offered);
	w->program_changes = p->n_change;
	w->code->cfi.next = set && set->n ? set->block : NULL;
	us_unwinder_set_code(w->unwinder, w->code->next, &w->code->cfi);
}

static bool make_room(struct us_waits *w)
{
	if (!w->code)
		w->code = calloc(1, sizeof(*w->code));
	if (!w->paging)
		w->paging = malloc(sizeof(*w->paging));
	if (!w->pages)
		w->pages = malloc(sizeof(*w->pages));
	if (!w->view)
		w->view = calloc(1, sizeof(*w->view));
	if (!w->kept)
		w->kept = calloc(US_WAITS_KEPT, sizeof(*w->kept));
	return w->code && w->paging && w->pages && w->view && w->kept;
}

/* Another kernel has other code; false: out of memory. */
static bool use_kernel(struct us_waits *w, const struct us_linux *l)
{
	bool other = false;
	if (w->of != l) {
		us_unwinder_free(w->unwinder);
		w->unwinder = NULL;
		w->of = NULL;
		if (!make_room(w) ||
		    us_unwinder_new(l->tasks.arch, NULL, NULL, &w->unwinder) < 0)
			return false;
		us_unwinder_share_code(w->unwinder, &w->view->paging);
		w->code->own = (struct us_code_map){ .start = l->start,
						     .n = l->n_start,
						     .part = l->part,
						     .n_part = l->n_part,
						     .text_start = l->code,
						     .text_end = l->text_end,
						     .narrow_cs = US_LINUX_CS_OF_32 };
		us_linux_scheduler_find(&l->symbols, &w->scheduler);
		w->of = l;
		other = true;
	}
	if (other || w->changes != atomic_load(&w->images->changes))
		other |= read_places(w);
	if (other)
		take_images(w);
	if (other || w->program_changes != w->programs->waiting.n_change)
		take_programs(w);
	return true;
}

/* Are the program's mappings known, or is the code in an image that is there? */
static bool is_known(const struct us_waits *w, us_gpa root, us_gva pc)
{
	if (w->known)
		return true;
	for (size_t i = 0; i < w->code->n_map; i++) {
		const struct us_code_map *m = &w->code->map[i];
		if (m->root == (root & US_ROOT_MASK) && pc - m->bias >= m->text_start &&
		    pc - m->bias < m->text_end)
			return true;
	}
	return false;
}

/* Unknown code of a program would have to be analyzed for each task again.  That would
 * be most of a look's cost, and cut_program() drops it anyway.  The kernel's own page
 * tables map no program; on other architectures they cover only the kernel's half. */
static void leave_out_unknown(const struct us_waits *w, const struct us_linux_task *t,
			      struct us_regs *regs)
{
	if (w->known)
		return;
	for (size_t i = 0; i < w->code->n_map; i++)
		if (w->code->map[i].root == (t->root & US_ROOT_MASK))
			return;
	if (regs->arch == US_ARCH_X86_64)
		regs->space.root = w->of->space.root;
}

/* Keep the kernel's part of the stack, and the program's if its code is known. */
static void cut_program(const struct us_waits *w, const struct us_linux_task *t,
			struct us_stack *s)
{
	uint16_t n = 0;
	while (n < s->n && !(s->flags[n] & US_PC_USER))
		n++;
	if (n == s->n)
		return;
	if (!is_known(w, t->root, s->pc[n])) {
		s->n = n;
		s->end = US_END_ROOT;
	} else if (s->n < US_MAX_FRAMES) {
		s->pc[s->n] = t->root & US_ROOT_MASK;
		s->flags[s->n++] = US_PC_SPACE;
	}
}

/* --- one task --- */

static bool is_same(const struct us_regs *a, const struct us_regs *b)
{
	return a->pc == b->pc && a->sp == b->sp &&
	       !memcmp(a->gpr, b->gpr, sizeof(a->gpr));
}

enum seen {
	SEEN,
	MOVED, /* it ran meanwhile */
	BAD,   /* the saved state is inconsistent */
};

static enum seen unwind(struct us_waits *w, const struct us_linux_task *t,
			struct us_linux_task_now *now)
{
	const struct us_linux_tasks_layout *l = &w->of->tasks;
	const struct us_space *s = &w->of->space;
	struct us_linux_task_now then;
	struct us_regs before, after;
	for (unsigned k = 0; k < TRIES; k++) {
		bool had = us_linux_task_regs(l, w->paging, s, t, &before);
		if (had)
			leave_out_unknown(w, t, &before);
		if (had)
			us_unwind(w->unwinder, w->paging, &before, &w->code->stack);
		if (!us_linux_task_look(l, w->paging, s, t, &then) || then.on_cpu)
			return MOVED;
		bool still = then.switches == now->switches && then.state == now->state;
		if (still && !l->has_switches && had)
			still = us_linux_task_regs(l, w->paging, s, t, &after) &&
				is_same(&before, &after);
		*now = then;
		if (still)
			return had ? SEEN : BAD;
	}
	return MOVED;
}

/* Code without rules has to be analyzed, in each process again: measure that time. */
static enum seen unwind_in_time(struct us_waits *w, const struct us_linux_task *t,
				struct us_linux_task_now *now)
{
	uint64_t began = w->known ? us_thread_cpu_ns() : 0;
	enum seen seen = unwind(w, t, now);
	if (w->known)
		w->programs_ns += us_thread_cpu_ns() - began;
	return seen;
}

/* The number of a task with these names; 0: there are too many, or no memory. */
static uint32_t name(struct us_waits *w, const struct us_linux_task *t,
		     const struct us_linux_task *leader)
{
	struct us_waits_name n = { .pid = (uint32_t)t->pid,
				   .process = (uint32_t)t->tgid,
				   .kernel_thread = t->kernel_thread };
	/* There may be anything after the NUL. */
	snprintf(n.name, sizeof(n.name), "%s", t->name);
	snprintf(n.process_name, sizeof(n.process_name), "%s", leader->name);
	char both[2 * US_LINUX_NAME];
	memcpy(both, n.name, sizeof(n.name));
	memcpy(both + sizeof(n.name), n.process_name, sizeof(n.process_name));
	uint32_t *number = us_pair_map_at(&w->name_of,
					  (uint64_t)n.process << 32 | n.pid,
					  us_hash_bytes(both, sizeof(both)));
	if (!number || *number)
		return number ? *number : 0;
	struct us_waits_name *slot = w->names.n < US_WAITS_TASKS
					     ? us_vec_push(&w->names)
					     : NULL;
	if (!slot)
		return 0;
	*slot = n;
	return *number = (uint32_t)w->names.n;
}

static bool push_frames(struct us_waits_queue *q, const struct us_stack *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		us_gva *pc = us_vec_push(&q->pc);
		uint8_t *flags = pc ? us_vec_push(&q->flags) : NULL;
		if (!flags)
			return false;
		*pc = s->pc[i];
		*flags = s->flags[i];
	}
	return true;
}

static bool push(struct us_waits *w, const struct us_wait *s)
{
	struct us_waits_queue *q = &w->queue;
	size_t first = q->flags.n;
	struct us_waits_one *one = NULL;
	q->pc.n = first; /* both have as many */
	if (s->waiter && q->waits.n < US_WAITS_QUEUE && push_frames(q, &w->code->stack))
		one = us_vec_push(&q->waits);
	if (!one) {
		q->pc.n = q->flags.n = first;
		return false;
	}
	*one = (struct us_waits_one){ *s, (uint32_t)first, w->code->stack.n };
	return true;
}

static void take(struct us_waits *w, const struct us_linux_task *t,
		 const struct us_linux_task *leader, char state, uint64_t t_ns)
{
	const struct us_stack *stack = &w->code->stack;
	struct us_wait s = {
		.t_ns = t_ns,
		.end = stack->end,
		.state = state == 'S'	? US_WAIT_SLEEPS
			 : state == 'D' ? US_WAIT_BLOCKED
					: US_WAIT_READY,
		.inside = (uint8_t)us_linux_inside(&w->scheduler, stack->pc, stack->n),
	};
	pthread_mutex_lock(&w->lock);
	s.waiter = name(w, t, leader);
	bool ok = push(w, &s);
	pthread_mutex_unlock(&w->lock);
	w->now.taken += ok;
	w->now.lost += !ok;
	w->now.truncated += ok && s.end != US_END_ROOT;
}

static bool has_no_work(const struct us_linux_task *t, char state)
{
	return state == 'I' || (state == 'S' && t->kernel_thread);
}

/* The counter for a task that does not wait; NULL: it waits. */
static uint64_t *other_count(struct us_waits *w, const struct us_linux_task *t,
			     bool on_cpu, char state)
{
	if (on_cpu)
		return &w->now.running;
	if (has_no_work(t, state))
		return &w->now.idle;
	return strchr("SDR", state) ? NULL : &w->now.other;
}

/* Read the task's state now: has it run since the last look? */
static void look_closely(struct us_waits *w, const struct us_linux_task *t,
			 const struct us_linux_task *leader, uint64_t t_ns)
{
	struct us_linux_task_now now;
	if (!us_linux_task_look(&w->of->tasks, w->paging, &w->of->space, t, &now)) {
		w->now.due++;
		w->now.moved++;
		return;
	}
	uint64_t *other = other_count(w, t, now.on_cpu, now.state);
	if (other) {
		++*other;
		return;
	}
	w->now.due++;
	if (!w->of->tasks.has_switches || !us_waits_recall(w, t, now.switches)) {
		enum seen seen = unwind_in_time(w, t, &now);
		w->now.moved += seen == MOVED;
		w->now.failed += seen == BAD;
		if (seen != SEEN)
			return;
		cut_program(w, t, &w->code->stack);
		us_waits_keep(w, t, now.switches);
	}
	take(w, t, leader, now.state, t_ns);
}

/* For a task that still waits as at the last look, what the list has is enough. */
static void look_at(struct us_waits *w, const struct us_linux_task *t,
		    const struct us_linux_task *leader, uint64_t t_ns)
{
	uint64_t *other = other_count(w, t, t->on_cpu, t->state);
	w->now.tasks++;
	if (other) {
		++*other;
		return;
	}
	w->known = us_programs_wait(w->programs, t) && w->programs_ns < PROGRAMS_NS;
	if (w->of->tasks.lists_switches && us_waits_recall(w, t, t->switches)) {
		w->now.due++;
		take(w, t, leader, t->state, t_ns);
		return;
	}
	look_closely(w, t, leader, t_ns);
}

/* --- all of them --- */

static void skip(struct us_waits *w, const struct us_linux_task *t)
{
	uint64_t *other = other_count(w, t, t->on_cpu, t->state);
	w->now.tasks++;
	++*(other ? other : &w->now.due);
	w->now.skipped += !other;
}

/* The list is sorted by process; the leader mostly has the least number in it. */
static size_t leader_of(const struct us_linux_tasks *t, size_t k)
{
	size_t first = k;
	while (first && t->v[first - 1].tgid == t->v[k].tgid)
		first--;
	for (size_t i = first; i < t->n && t->v[i].tgid == t->v[k].tgid; i++)
		if (t->v[i].pid == t->v[i].tgid)
			return i;
	return first;
}

/* The kernel's idle tasks, of number 0, wait for nothing. */
static void look_at_all(struct us_waits *w, const struct us_linux_tasks *t,
			uint64_t t_ns)
{
	uint64_t began = us_thread_cpu_ns();
	size_t leader = SIZE_MAX, first = w->turn < t->n ? w->turn : 0;
	bool late = false;
	w->turn = w->programs_ns = 0;
	for (size_t i = 0; i < t->n; i++) {
		size_t k = first + i < t->n ? first + i : first + i - t->n;
		if (!t->v[k].pid)
			continue;
		if (!late && us_thread_cpu_ns() - began > MOST_LOOK_NS) {
			late = true;
			w->turn = k;
		}
		if (leader == SIZE_MAX || t->v[leader].tgid != t->v[k].tgid)
			leader = leader_of(t, k);
		if (late)
			skip(w, &t->v[k]);
		else
			look_at(w, &t->v[k], &t->v[leader], t_ns);
	}
}

/* Make code that was read in the last look count as old, so that it is compared. */
static void new_view(struct us_waits_view *v, const struct us_mem *mem)
{
	uint32_t epoch = v->paging.epoch;
	v->mem = *mem;
	us_mem_init(&v->mem);
	us_mem_use_pages(&v->mem, &v->pages);
	us_paging_init(&v->paging, &v->mem);
	v->paging.epoch = epoch + US_CODE_TRUST;
}

static void look(struct us_waits *w, struct us_mem *mem, uint64_t t_ns)
{
	struct us_linux_tasks t;
	us_paging_init(w->paging, mem);
	us_mem_use_pages(mem, w->pages);
	int r = us_linux_tasks_read(&w->of->tasks, w->paging, &w->of->space, &t);
	us_mem_use_pages(mem, NULL);
	if (r < 0)
		return;
	new_view(w->view, mem);
	w->now.looks++;
	w->now.torn += t.torn || t.full;
	look_at_all(w, &t, t_ns);
	us_linux_tasks_fini(&t);
}

void us_waits_look(struct us_waits *w, const struct us_linux *l,
		   const struct us_images *images, struct us_programs *programs,
		   struct us_mem *mem, uint64_t start_ns)
{
	uint64_t now_ns = us_now_ns(), began = us_thread_cpu_ns();
	if (now_ns < us_waits_due(w))
		return;
	w->images = images;
	w->programs = programs;
	if (!start_ns || !l || !l->has_tasks || !mem || !use_kernel(w, l)) {
		w->next_ns = now_ns + 50 * US_NS_PER_MS;
		return;
	}
	look(w, mem, now_ns - start_ns);
	uint64_t cost = us_thread_cpu_ns() - began;
	choose_next(w, start_ns, now_ns);
	/* Random, too: looks at the interval of a task's own cycle would always see the
	 * same part of it. */
	w->rest_ns = us_now_ns() +
		     (uint64_t)((0.5 + next_random(w)) * CPU_PART * (double)cost);
	w->now.cost_ns += cost;
	if (cost > w->now.cost_max_ns)
		w->now.cost_max_ns = cost;
	pthread_mutex_lock(&w->lock);
	w->stats = w->now;
	w->news = true;
	pthread_mutex_unlock(&w->lock);
}

/* --- the writer's thread --- */

static int write_names(struct us_waits *w, struct us_writer *to)
{
	int r = 0;
	for (; r == 0 && w->names_told < w->names.n; w->names_told++) {
		const struct us_waits_name *n = &w->names.v[w->names_told];
		const struct us_waiter s = { .number = (uint32_t)w->names_told + 1,
					     .pid = n->pid,
					     .process = n->process,
					     .kernel_thread = n->kernel_thread,
					     .name = n->name,
					     .process_name = n->process_name };
		r = us_writer_waiter(to, &s, NULL);
	}
	return r;
}

int us_waits_write(struct us_waits *w, struct us_writer *to)
{
	if (w->hz <= 0)
		return 0;
	pthread_mutex_lock(&w->lock);
	struct us_waits_queue q = w->queue;
	struct us_wait_stats stats = w->stats;
	bool news = w->news;
	memset(&w->queue, 0, sizeof(w->queue));
	w->news = false;
	int r = write_names(w, to);
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; r == 0 && i < q.waits.n; i++) {
		const struct us_waits_one *one = &q.waits.v[i];
		r = us_writer_wait(to, &one->s, q.pc.v + one->first,
				   q.flags.v + one->first, one->n, NULL);
	}
	if (r == 0 && news)
		r = us_writer_wait_stats(to, &stats, NULL);
	queue_fini(&q);
	return r;
}

void us_waits_stats(struct us_waits *w, struct us_wait_stats *ret)
{
	pthread_mutex_lock(&w->lock);
	*ret = w->stats;
	pthread_mutex_unlock(&w->lock);
}
