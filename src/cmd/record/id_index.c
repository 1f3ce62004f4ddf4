/* SPDX-License-Identifier: GPL-2.0-or-later */
/* id_index.c: see id_index.h. */
#include "cmd/record/id_index.h"

#include "base/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NICE 5

/* Shared by the thread and the index; the last one to end frees it. */
struct us_id_walk {
	struct us_id_files files;  /* the thread's, until it is done */
	struct us_debug_dirs dirs; /* own names: it may outlive the options */
	pthread_t thread;
	uint64_t began_ns;
	atomic_bool there, done, stop;
	pthread_mutex_t lock; /* for these: */
	pthread_cond_t told;
	bool wanted;	   /* index all files */
	atomic_bool *news; /* NULL: the index is gone */
	unsigned users;
};

static void free_walk(struct us_id_walk *w)
{
	for (size_t k = 0; w->dirs.dir && k < w->dirs.n; k++)
		free((char *)w->dirs.dir[k]);
	free((void *)w->dirs.dir);
	us_id_files_fini(&w->files);
	pthread_cond_destroy(&w->told);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void leave(struct us_id_walk *w)
{
	pthread_mutex_lock(&w->lock);
	unsigned left = --w->users;
	pthread_mutex_unlock(&w->lock);
	if (!left)
		free_walk(w);
}

static void tell(struct us_id_walk *w, atomic_bool *what)
{
	atomic_store_explicit(what, true, memory_order_release);
	pthread_mutex_lock(&w->lock);
	if (w->news)
		atomic_store(w->news, true);
	pthread_mutex_unlock(&w->lock);
}

/* A folder that is missing or may not be read has answered, too. */
static void open_folders(const struct us_id_walk *w)
{
	for (size_t k = 0; k < w->dirs.n; k++) {
		int fd = open(w->dirs.dir[k], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
	}
}

static void wait_until_wanted(struct us_id_walk *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->wanted && !atomic_load(&w->stop))
		pthread_cond_wait(&w->told, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

/* Out of memory: files that do not fit are treated as missing. */
static void *run(void *arg)
{
	struct us_id_walk *w = arg;
	(void)!setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	open_folders(w);
	tell(w, &w->there);
	wait_until_wanted(w);
	(void)!us_id_files_read(&w->files, &w->dirs, &w->stop);
	tell(w, &w->done);
	leave(w);
	return NULL;
}

static bool copy_dirs(struct us_debug_dirs *to, const struct us_debug_dirs *from)
{
	char **dir = calloc(from->n + 1, sizeof(*dir));
	bool ok = dir;
	for (size_t k = 0; ok && k < from->n; k++) {
		dir[k] = strdup(from->dir[k]);
		ok = dir[k];
	}
	*to = (struct us_debug_dirs){ .dir = (const char *const *)dir, .n = from->n };
	return ok;
}

/* NULL: no thread could be started, or out of memory. */
static struct us_id_walk *start(const struct us_debug_dirs *dirs, atomic_bool *news)
{
	struct us_id_walk *w = calloc(1, sizeof(*w));
	sigset_t all, before;
	if (!w)
		return NULL;
	w->news = news;
	w->users = 2;
	w->began_ns = us_now_ns();
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->told, NULL);
	if (!copy_dirs(&w->dirs, dirs)) {
		free_walk(w);
		return NULL;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		return w;
	free_walk(w);
	return NULL;
}

bool us_id_index_there(struct us_id_index *x, const struct us_debug_dirs *dirs,
		       atomic_bool *news)
{
	if (!x->walk)
		x->walk = start(dirs, news); /* NULL: try again next time */
	return x->walk && atomic_load_explicit(&x->walk->there, memory_order_acquire);
}

static void set(struct us_id_walk *w, bool stop)
{
	pthread_mutex_lock(&w->lock);
	if (stop)
		atomic_store(&w->stop, true);
	w->wanted = true;
	pthread_cond_signal(&w->told);
	pthread_mutex_unlock(&w->lock);
}

const struct us_id_files *us_id_index_get(struct us_id_index *x,
					  const struct us_debug_dirs *dirs,
					  atomic_bool *news)
{
	if (!us_id_index_there(x, dirs, news))
		return NULL;
	set(x->walk, false);
	return atomic_load_explicit(&x->walk->done, memory_order_acquire)
		       ? &x->walk->files
		       : NULL;
}

unsigned us_id_index_pending(struct us_id_index *x)
{
	struct us_id_walk *w = x->walk;
	if (!w)
		return 0;
	pthread_mutex_lock(&w->lock);
	bool wanted = w->wanted;
	pthread_mutex_unlock(&w->lock);
	if (atomic_load(wanted ? &w->done : &w->there))
		return 0;
	return 1 + (unsigned)((us_now_ns() - w->began_ns) / US_NS_PER_SEC);
}

void us_id_index_fini(struct us_id_index *x)
{
	struct us_id_walk *w = x->walk;
	struct timespec until;
	if (!w)
		return;
	set(w, true);
	clock_gettime(US_WAIT_CLOCK, &until);
	until.tv_sec += (time_t)(US_ID_INDEX_WAIT_NS / US_NS_PER_SEC);
	if (us_thread_join_until(w->thread, &until))
		pthread_detach(w->thread);
	pthread_mutex_lock(&w->lock);
	w->news = NULL;
	pthread_mutex_unlock(&w->lock);
	leave(w);
	x->walk = NULL;
}
