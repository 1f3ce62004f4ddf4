/* SPDX-License-Identifier: GPL-2.0-or-later */
/* id_index.c: see id_index.h. */
#include "cmd/record/id_index.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICE 5

/* Without memory for all of them it is as if the others were not there. */
static void *run(void *arg)
{
	struct us_id_index *x = arg;
	(void)!setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	(void)!us_id_files_read(&x->files, x->dirs, &x->stop);
	atomic_store_explicit(&x->done, true, memory_order_release);
	atomic_store(x->news, true);
	return NULL;
}

static void start(struct us_id_index *x, const struct us_debug_dirs *dirs,
		  atomic_bool *news)
{
	sigset_t all, before;
	x->dirs = dirs;
	x->news = news;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	x->started = pthread_create(&x->thread, NULL, run, x) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

const struct us_id_files *us_id_index_get(struct us_id_index *x,
					  const struct us_debug_dirs *dirs,
					  atomic_bool *news)
{
	if (!x->started)
		start(x, dirs,
		      news); /* if there is no thread to be had: the next time */
	return atomic_load_explicit(&x->done, memory_order_acquire) ? &x->files : NULL;
}

void us_id_index_fini(struct us_id_index *x)
{
	atomic_store(&x->stop, true);
	if (x->started)
		pthread_join(x->thread, NULL);
	us_id_files_fini(&x->files);
	x->started = false;
	atomic_store(&x->done, false);
	atomic_store(&x->stop, false);
}
