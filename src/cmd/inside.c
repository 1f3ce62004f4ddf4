/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inside.c: see inside.h. */
#include "cmd/inside.h"

#include "cmd/record/kernel.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BETWEEN_NS (300 * US_NS_PER_MS)
#define AT_ONCE	   8 /* guests: most of the time is spent waiting for them */

/* Large: tables of images. */
struct inside {
	struct us_images images;
	struct us_backend *backend;
	struct us_unwinder *unwinder;
	struct us_kernel kernel;
	struct us_paging paging;
};

/* The CPU time of each process, sorted by process ID. */
struct usage {
	struct used {
		uint32_t pid;
		unsigned n_thread;
		uint64_t ns, started_ns; /* started_ns: of its first thread */
		char name[US_LINUX_COMM];
	} * v;
	size_t n;
};

static int attach(struct inside *x, const struct us_found *f, struct us_err *e)
{
	static const struct us_symbol_files none;
	struct us_target t = f->target;
	t.registers = true;
	int r = us_images_open(&x->images, &none, t.guest, e);
	if (r == 0)
		r = us_backend_open(&t, NULL, &x->backend, NULL, 0, e);
	if (r < 0)
		return r;
	if (us_unwinder_new(x->backend->arch, NULL, NULL, &x->unwinder) < 0)
		return us_fail(e, -ENOMEM, "out of memory");
	x->images.unwinder = x->unwinder;
	return us_kernel_open(&x->kernel, &x->images, x->backend, e);
}

static void detach(struct inside *x)
{
	us_kernel_stop(&x->kernel);
	us_backend_close(x->backend);
	us_kernel_close(&x->kernel);
	us_unwinder_free(x->unwinder);
	us_images_fini(&x->images);
	free(x);
}

/* A process's threads follow its first one in the list. */
static void add(struct usage *u, const struct us_linux_task *t, uint64_t ns)
{
	struct used *last = u->n ? &u->v[u->n - 1] : NULL;
	if (!last || last->pid != (uint32_t)t->tgid) {
		last = &u->v[u->n++];
		*last = (struct used){ .pid = (uint32_t)t->tgid };
	}
	last->ns += ns;
	last->n_thread++;
	if (t->pid != t->tgid)
		return;
	last->started_ns = t->start_ns;
	memcpy(last->name, t->comm, sizeof(last->name));
}

static int read_usage(struct inside *x, struct usage *ret, struct us_err *e)
{
	const struct us_linux *l = us_kernel_linux(&x->kernel);
	struct us_linux_tasks t;
	us_paging_init(&x->paging, x->kernel.source.mem);
	int r = us_linux_tasks_read(&l->tasks, &x->paging, &l->space, &t);
	if (r < 0)
		return us_fail(e, r, "read its list of tasks: %s", strerror(-r));
	ret->v = calloc(t.n + 1, sizeof(*ret->v));
	for (size_t k = 0; ret->v && k < t.n; k++)
		if (t.v[k].pid) /* not the idle task */
			add(ret, &t.v[k],
			    us_linux_who_runtime(&l->who, &x->paging, &l->space,
						 t.v[k].at));
	us_linux_tasks_fini(&t);
	return ret->v ? 0 : us_fail(e, -ENOMEM, "out of memory");
}

static const struct used *find(const struct usage *u, const struct used *of)
{
	for (size_t k = 0; k < u->n; k++)
		if (u->v[k].pid == of->pid && u->v[k].started_ns == of->started_ns)
			return &u->v[k];
	return NULL;
}

/* A guest whose vCPU waited for a host CPU accounts for that time when it runs again:
 * the time counted can be longer than the time measured. */
static double share_of(const struct used *u, uint64_t did, uint64_t ns, unsigned n_vcpu)
{
	double most = u->n_thread < n_vcpu ? u->n_thread : n_vcpu;
	double share = (double)did / (double)ns;
	return share < most ? share : most;
}

/* A process that began or ended meanwhile is not counted. */
static void compare(const struct usage *before, const struct usage *after, uint64_t ns,
		    unsigned n_vcpu, struct us_inside *ret)
{
	uint64_t most = 0;
	for (size_t k = 0; k < after->n; k++) {
		const struct used *was = find(before, &after->v[k]);
		uint64_t did = was && after->v[k].ns > was->ns
				       ? after->v[k].ns - was->ns
				       : 0;
		if (did <= most)
			continue;
		most = did;
		ret->pid = after->v[k].pid;
		ret->share = share_of(&after->v[k], did, ns, n_vcpu);
		memcpy(ret->process, after->v[k].name, sizeof(ret->process));
	}
}

static int find_busiest(struct inside *x, struct us_inside *ret, struct us_err *e)
{
	const struct timespec pause = { .tv_nsec = BETWEEN_NS };
	struct usage before = { 0 }, after = { 0 };
	uint64_t from = us_now_ns();
	int r = read_usage(x, &before, e);
	if (r == 0) {
		nanosleep(&pause, NULL);
		r = read_usage(x, &after, e);
	}
	if (r == 0)
		compare(&before, &after, us_now_ns() - from, x->backend->n_vcpu, ret);
	free(before.v);
	free(after.v);
	return r;
}

static int look(struct inside *x, const struct us_found *f, struct us_inside *ret,
		struct us_err *e)
{
	int r = attach(x, f, e);
	if (r < 0)
		return r;
	bool whole = us_kernel_attach(&x->kernel, x->backend, 0);
	us_kernel_stop(&x->kernel);
	const struct us_linux *l = us_kernel_linux(&x->kernel);
	if (!l && !whole)
		return us_fail(e, -ETIMEDOUT,
			       "no Linux kernel was found in its memory in %.0f s",
			       (double)US_KERNEL_ATTACH_NS / US_NS_PER_SEC);
	if (!l)
		return us_fail(e, -ENOENT, "no Linux kernel was found in its memory");
	snprintf(ret->release, sizeof(ret->release), "%s", l->release);
	if (x->kernel.source.mem && !l->has_who && us_kernel_unfinished(l))
		return us_fail(e, -ETIMEDOUT, "the busiest process is not known: %s",
			       us_kernel_unfinished(l));
	if (x->kernel.source.mem && !l->has_types) {
		us_fail(e, -ENOENT, "the busiest process is not known: %s",
			l->no_types);
		us_hint(e, "uniscope top --sort process -e vmlinux, the kernel's own "
			   "ELF file with debug information (DWARF)");
		return -ENOENT;
	}
	if (!l->has_who || !l->who.runtime || !x->kernel.source.mem)
		return us_fail(
			e, -ENOENT, "the busiest process is not known: %s",
			!x->kernel.source.mem
				? "its memory can be read only through a GDB stub"
			: l->misfit
				? l->no_tasks
				: "the kernel's types do not show where it keeps that");
	return find_busiest(x, ret, e);
}

static void look_at(const struct us_found *f, struct us_inside *ret)
{
	struct us_err e = { 0 };
	struct inside *x = calloc(1, sizeof(*x));
	int r = x ? look(x, f, ret, &e) : us_fail(&e, -ENOMEM, "out of memory");
	if (r < 0) {
		snprintf(ret->why, sizeof(ret->why), "%.255s", e.msg);
		snprintf(ret->hint, sizeof(ret->hint), "%.255s", e.hint);
	}
	if (x)
		detach(x);
}

/* --- several --- */

struct us_insides {
	const struct us_found *f;
	size_t n;
	size_t next, n_known; /* these, and what v has, are under the lock */
	pthread_mutex_t lock;
	pthread_cond_t known;
	pthread_t thread[AT_ONCE];
	unsigned n_thread;
	struct {
		bool known;
		struct us_inside in;
		size_t order; /* the position that the caller knows this guest by */
	} v[];
};

/* Look at the next guest that no thread has taken; false: there is none. */
static bool look_at_next(struct us_insides *s)
{
	pthread_mutex_lock(&s->lock);
	size_t i = s->next;
	s->next += i < s->n;
	pthread_mutex_unlock(&s->lock);
	if (i == s->n)
		return false;
	look_at(&s->f[i], &s->v[i].in);
	pthread_mutex_lock(&s->lock);
	s->v[i].known = true;
	s->v[s->n_known++].order = i;
	pthread_cond_broadcast(&s->known);
	pthread_mutex_unlock(&s->lock);
	return true;
}

static void *run(void *arg)
{
	while (look_at_next(arg))
		;
	return NULL;
}

int us_insides_begin(const struct us_found *f, size_t n, struct us_insides **ret,
		     struct us_err *e)
{
	struct us_insides *s = calloc(1, sizeof(*s) + n * sizeof(s->v[0]));
	if (!s)
		return us_fail(e, -ENOMEM, "out of memory");
	s->f = f;
	s->n = n;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->known, NULL);
	while (s->n_thread < AT_ONCE && s->n_thread < n &&
	       pthread_create(&s->thread[s->n_thread], NULL, run, s) == 0)
		s->n_thread++;
	*ret = s;
	return 0;
}

const struct us_inside *us_insides_wait(struct us_insides *s, size_t i)
{
	if (!s->n_thread) /* none could be started */
		run(s);
	pthread_mutex_lock(&s->lock);
	while (!s->v[i].known)
		pthread_cond_wait(&s->known, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return &s->v[i].in;
}

size_t us_insides_order(struct us_insides *s, size_t k)
{
	if (!s->n_thread)
		run(s);
	pthread_mutex_lock(&s->lock);
	while (s->n_known <= k)
		pthread_cond_wait(&s->known, &s->lock);
	size_t i = s->v[k].order;
	pthread_mutex_unlock(&s->lock);
	return i;
}

void us_insides_end(struct us_insides *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_thread; i++)
		pthread_join(s->thread[i], NULL);
	pthread_cond_destroy(&s->known);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
