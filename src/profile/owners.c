/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/owners.c: the thread of a Linux guest that a stack belongs to, and how that
 * is known. */
#include "profile/profile_priv.h"

#include "base/vec.h"
#include "store/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEVERAL UINT32_MAX /* threads of a process */

/* --- what the recording says --- */

static void free_names(struct us_task *t)
{
	free((char *)t->name);
	free((char *)t->process);
	free((char *)t->cgroup);
}

static uint32_t *slot_of(struct us_profile *p, const struct us_task *t)
{
	const uint64_t rest[2] = { t->pid, t->from_ns };
	if (t->id)
		return us_pair_map_at(&p->tasks.of_id, t->id, 0);
	return us_pair_map_at(&p->tasks.known, t->stack,
			      us_hash_bytes(rest, sizeof(rest)));
}

static bool set_names(struct us_task *t)
{
	t->name = strdup(t->name);
	t->process = strdup(t->process);
	t->cgroup = strdup(t->cgroup);
	return t->name && t->process && t->cgroup;
}

/* All threads of a process are in one cgroup, mostly. */
static bool note_cgroup(struct us_profile *p, const struct us_task *t, uint32_t number)
{
	uint64_t name = us_hash_bytes(t->process, strlen(t->process));
	uint32_t *one = us_pair_map_at(&p->tasks.cgroup, t->tgid, name);
	if (!one)
		return false;
	const struct us_task *had = *one && *one != SEVERAL ? &p->tasks.v[*one - 1].t
							    : NULL;
	if (!*one || (had && !strcmp(had->cgroup, US_PROCESS_UNKNOWN)))
		*one = number;
	else if (had && strcmp(t->cgroup, US_PROCESS_UNKNOWN) &&
		 strcmp(had->cgroup, t->cgroup))
		*one = SEVERAL;
	return true;
}

/* Is a thread the only one of its process, or one of several?  Samples meet only some
 * of them; the list of tasks, where threads have their stacks, has two if there are. */
static bool count_threads(struct us_profile *p, const struct us_task *t,
			  uint32_t number)
{
	uint64_t name = us_hash_bytes(t->process, strlen(t->process));
	uint32_t *only = us_pair_map_at(&p->tasks.only, t->tgid, 0);
	if (!only)
		return false;
	if (!*only)
		*only = number;
	else if (*only != SEVERAL && p->tasks.v[*only - 1].t.pid != t->pid)
		*only = SEVERAL;
	uint32_t *listed = us_pair_map_at(&p->tasks.only, t->tgid, 1);
	if (!listed)
		return false;
	*listed = *listed || !t->id;
	uint32_t *named = us_pair_map_at(&p->tasks.named, t->tgid, name);
	if (!named)
		return false;
	*named = number; /* by its last name */
	return note_cgroup(p, t, number);
}

static int push(struct us_profile *p, const struct us_task *t)
{
	struct us_profile_task *to = us_vec_push(&p->tasks);
	if (!to)
		return -ENOMEM;
	uint32_t number = (uint32_t)p->tasks.n;
	*to = (struct us_profile_task){ .t = *t };
	if (!count_threads(p, t, number))
		return -ENOMEM;
	if (t->id)
		return 0;
	uint32_t *last = us_pair_map_at(&p->tasks.of_stack, t->stack, 0);
	if (!last)
		return -ENOMEM;
	to->before = *last;
	*last = number;
	return 0;
}

int us_profile_add_task(struct us_profile *p, const struct us_task *t)
{
	if (t->inner && t->pid == t->tgid) {
		uint32_t *inner = us_pair_map_at(&p->tasks.inner, p->file_now, t->tgid);
		if (!inner)
			return -ENOMEM;
		*inner = t->inner;
	}
	if (!p->opts.processes || p->n_file > 1)
		return 0;
	struct us_task copy = *t;
	uint32_t *slot = set_names(&copy) ? slot_of(p, t) : NULL;
	if (slot && *slot) {
		free_names(&p->tasks.v[*slot - 1].t);
		p->tasks.v[*slot - 1].t = copy;
		return 0;
	}
	int r = slot ? push(p, &copy) : -ENOMEM;
	if (slot && r == 0)
		*slot = (uint32_t)p->tasks.n;
	if (!slot) /* else it is in the list */
		free_names(&copy);
	return r;
}

void us_profile_free_tasks(struct us_profile *p)
{
	for (size_t k = 0; k < p->tasks.n; k++)
		free_names(&p->tasks.v[k].t);
	free(p->tasks.v);
	us_name_set_fini(&p->roots);
	us_pair_map_fini(&p->tasks.of_id);
	us_pair_map_fini(&p->tasks.known);
	us_pair_map_fini(&p->tasks.of_stack);
	us_pair_map_fini(&p->tasks.only);
	us_pair_map_fini(&p->tasks.named);
	us_pair_map_fini(&p->tasks.cgroup);
	us_pair_map_fini(&p->tasks.inner);
	us_pair_map_fini(&p->root_of);
}

/* --- the owner of a stack --- */

struct us_profile_marks us_profile_marks(const struct us_profile *p, uint32_t node)
{
	struct us_profile_marks m = { 0 };
	const struct us_trie_node *v = p->trie.nodes.v;
	for (node = v[node].no_frame; node; node = v[v[node].parent].no_frame) {
		const struct us_trie_node *n = &v[node];
		if (n->flags & US_PROFILE_EPOCH)
			m.epoch = (uint32_t)n->pc;
		if (n->flags & US_PC_SPACE)
			m.root = n->pc;
		if (n->flags & US_PC_TASK)
			m.task = n->pc;
		m.has_space |= (n->flags & US_PC_SPACE) != 0;
		m.has_task |= (n->flags & US_PC_TASK) != 0;
	}
	return m;
}

/* The thread that had this stack during the whole epoch. */
static const struct us_task *by_stack(struct us_profile *p, us_gva stack,
				      uint32_t epoch)
{
	uint64_t begin = epoch ? p->cuts.v[epoch - 1] : 0;
	uint64_t end = epoch < p->cuts.n ? p->cuts.v[epoch] : UINT64_MAX;
	uint32_t *last = us_pair_map_at(&p->tasks.of_stack, stack, 0);
	for (uint32_t k = last ? *last : 0; k; k = p->tasks.v[k - 1].before) {
		const struct us_task *t = &p->tasks.v[k - 1].t;
		if (t->from_ns <= begin && (!t->until_ns || t->until_ns >= end))
			return t;
	}
	return NULL;
}

static const struct us_task *by_id(struct us_profile *p, uint64_t id)
{
	uint32_t *number = us_pair_map_at(&p->tasks.of_id, id, 0);
	return number && *number ? &p->tasks.v[*number - 1].t : NULL;
}

/* The thread with this number in a map, under this name of its process. */
static const struct us_task *named_in(struct us_profile *p, struct us_pair_map *m,
				      const struct us_process *s)
{
	uint32_t *n = us_pair_map_at(m, s->pid,
				     us_hash_bytes(s->name, strlen(s->name)));
	const struct us_task *t = n && *n && *n != SEVERAL ? &p->tasks.v[*n - 1].t
							   : NULL;
	return t && strcmp(t->process, s->name) == 0 ? t : NULL;
}

/* The thread of a process that never had another one, if the process had this name. */
static const struct us_task *only_thread(struct us_profile *p,
					 const struct us_process *s)
{
	const uint32_t *listed = us_pair_map_at(&p->tasks.only, s->pid, 1);
	if (!listed || !*listed || us_profile_fact(p, us_limit_key(US_LIMIT_THREADS)))
		return NULL;
	const uint32_t *only = us_pair_map_at(&p->tasks.only, s->pid, 0);
	return only && *only && *only != SEVERAL ? named_in(p, &p->tasks.named, s)
						 : NULL;
}

static const struct us_task *of_its_cgroup(struct us_profile *p,
					   const struct us_process *s)
{
	return named_in(p, &p->tasks.cgroup, s);
}

enum how {
	BY_CURRENT,
	BY_STACK,
	BY_TABLES,
	BY_NOTHING, /* in the kernel, called by no program */
	NOBODY,
};

struct found {
	enum how how;
	const struct us_task *task;
	const struct us_process *process; /* with BY_TABLES */
};

static struct found find(struct us_profile *p, uint32_t node)
{
	struct us_profile_marks m = us_profile_marks(p, node);
	struct found f = { .how = NOBODY, .task = us_profile_waiter_of(p, node) };
	if (f.task)
		f.how = BY_CURRENT;
	else if (m.has_task) {
		bool stack = m.task >> 63;
		f.task = stack ? by_stack(p, m.task, m.epoch) : by_id(p, m.task);
		f.how = f.task ? stack ? BY_STACK : BY_CURRENT : NOBODY;
	}
	if (f.task)
		return f;
	if (m.has_space) {
		f.process = us_profile_process_at(p, m.root, m.epoch);
		f.how = f.process ? BY_TABLES : NOBODY;
		if (f.process)
			f.task = only_thread(p, f.process);
		return f;
	}
	f.how = node && (!m.has_task || m.task >> 63) ? BY_NOTHING : NOBODY;
	return f;
}

/* All threads of a process are in one pid namespace, but only its first one's record
 * tells the process's number there. */
static uint32_t inner_of_process(struct us_profile *p, const struct us_profile_owner *w)
{
	if (w->pid && w->pid == w->tgid)
		return w->inner;
	const uint32_t *inner = us_pair_map_at(&p->tasks.inner, 0, w->tgid);
	return inner ? *inner : 0;
}

bool us_profile_owner_of(const struct us_profile *p, uint32_t node,
			 struct us_profile_owner *ret)
{
	/* Not const: find() caches its results. */
	struct found f = find((struct us_profile *)p, node);
	*ret = (struct us_profile_owner){ 0 };
	const struct us_task *t = f.task;
	if (t) {
		*ret = (struct us_profile_owner){ .pid = t->pid,
						  .tgid = t->tgid,
						  .inner = t->inner,
						  .comm = t->name,
						  .process = t->process,
						  .cgroup = t->cgroup,
						  .kernel_thread = t->kernel_thread };
	}
	if (f.process) { /* by its name at that time */
		ret->tgid = f.process->pid;
		ret->process = f.process->name;
	}
	if (f.process && !f.task) {
		t = of_its_cgroup((struct us_profile *)p, f.process);
		ret->cgroup = t ? t->cgroup : NULL;
	}
	ret->process_inner = inner_of_process((struct us_profile *)p, ret);
	return f.task || f.process;
}

uint32_t us_profile_stack_of(const struct us_profile *p, uint32_t key)
{
	return us_profile_guest_node(p, key / US_N_KIND);
}

static void put_inner(uint32_t inner, char *dst, size_t size)
{
	dst[0] = '\0';
	if (inner)
		snprintf(dst, size, ", inside %u", inner);
}

static void put_process(const struct us_profile_owner *w, char *dst, size_t size)
{
	char inner[32];
	put_inner(w->process_inner, inner, sizeof(inner));
	snprintf(dst, size, "%s (%u%s)", w->process, w->tgid, inner);
}

static void put_thread(const struct us_profile_owner *w, char *dst, size_t size)
{
	char inner[32], process[US_OWNER_NAME];
	put_inner(w->inner, inner, sizeof(inner));
	put_process(w, process, sizeof(process));
	if (!w->comm)
		snprintf(dst, size, "[a thread of %s]", process);
	else if (w->pid == w->tgid)
		snprintf(dst, size, "%s (%u%s)", w->comm, w->pid, inner);
	else
		snprintf(dst, size, "%s (%u%s) of %s", w->comm, w->pid, inner, process);
}

/* If no process is known at all, page tables still distinguish programs. */
static void put_nobody(const struct us_profile *p, uint32_t node, enum us_profile_by by,
		       char *dst, size_t size)
{
	struct found f = find((struct us_profile *)p, node);
	struct us_profile_marks m = us_profile_marks(p, node);
	if (by == US_BY_PROCESS && m.has_space && !us_profile_owners_known(p))
		snprintf(dst, size, "[page tables 0x%" PRIx64 "]", m.root);
	else
		snprintf(dst, size, "%s",
			 f.how == BY_NOTHING ? US_PROCESS_KERNEL : US_PROCESS_UNKNOWN);
}

char *us_profile_owner_name(const struct us_profile *p, uint32_t node,
			    enum us_profile_by by, char *dst, size_t size)
{
	struct us_profile_owner w;
	if (!us_profile_owner_of(p, node, &w)) {
		put_nobody(p, node, by, dst, size);
	} else if (by == US_BY_PROCESS) {
		put_process(&w, dst, size);
	} else if (by == US_BY_THREAD) {
		put_thread(&w, dst, size);
	} else if (by == US_BY_COMM) {
		if (w.comm)
			snprintf(dst, size, "%s", w.comm);
		else
			snprintf(dst, size, "[a thread of %s]", w.process);
	} else {
		snprintf(dst, size, "%s",
			 w.kernel_thread ? US_PROCESS_KERNEL
			 : !w.cgroup	 ? US_PROCESS_UNKNOWN
			 : w.cgroup[0]	 ? w.cgroup
					 : "/");
	}
	return dst;
}

/* --- how many samples have an owner --- */

bool us_profile_owners_known(const struct us_profile *p)
{
	return p->tasks.n || p->processes.n || p->waiters.n;
}

struct us_profile_owners us_profile_owners(const struct us_profile *p)
{
	struct us_profile_owners s = { 0 };
	uint64_t *const of[] = { [BY_CURRENT] = &s.current,
				 [BY_STACK] = &s.stack,
				 [BY_TABLES] = &s.tables,
				 [BY_NOTHING] = &s.kernel,
				 [NOBODY] = &s.nobody };
	for (size_t i = 0; i < p->keys.n; i++) {
		uint32_t key = p->keys.v[i];
		if (p->key_node[key] == US_PROFILE_NONE)
			continue;
		uint32_t node = us_profile_stack_of(p, key);
		*of[find((struct us_profile *)p, node).how] += p->keys.weight[key];
	}
	return s;
}

/* --- the function above a stack --- */

uint32_t us_profile_root_of(struct us_profile *p, uint32_t node)
{
	char name[US_OWNER_NAME];
	if (!p->opts.roots || p->opts.waits)
		return 0;
	uint32_t *known = us_pair_map_at(&p->root_of, node, 0);
	if (!known)
		return US_PROFILE_NONE;
	if (*known)
		return US_PROFILE_ROOTS + *known - 1;
	us_profile_owner_name(p, node, p->opts.roots, name, sizeof(name));
	uint32_t root = us_name_set_at(&p->roots, name);
	known = us_pair_map_at(&p->root_of, node, 0); /* it may have moved */
	if (!known || root == US_NAME_NONE)
		return US_PROFILE_NONE;
	*known = root + 1;
	return US_PROFILE_ROOTS + root;
}
