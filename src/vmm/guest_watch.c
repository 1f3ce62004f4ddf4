/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_watch.c: see guest_watch.h. */
#include "vmm/guest_watch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PAUSE_NS US_NS_PER_SEC
#define MOST_PAUSE_NS  (64 * US_NS_PER_SEC)

static int by_pid(const void *a, const void *b)
{
	const struct us_watched *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct us_watched *find(const struct us_guest_watch *w, size_t n, pid_t pid)
{
	const struct us_watched key = { .pid = pid };
	return n ? bsearch(&key, w->v, n, sizeof(key), by_pid) : NULL;
}

/* Update the list of processes: drop those that ended, add new ones. */
static int list_processes(struct us_guest_watch *w, uint64_t now_ns, DIR *d)
{
	size_t before = w->n, kept = 0;
	for (struct dirent *ent; (ent = readdir(d));) {
		if (!isdigit((unsigned char)ent->d_name[0]))
			continue;
		pid_t pid = (pid_t)strtol(ent->d_name, NULL, 10);
		struct us_watched *p = find(w, before, pid);
		if (!p && !(p = us_vec_push(w)))
			return -ENOMEM;
		if (!p->pid)
			*p = (struct us_watched){ .pid = pid, .next_ns = now_ns };
		p->seen = true;
	}
	for (size_t i = 0; i < w->n; i++) {
		if (!w->v[i].seen)
			continue;
		w->v[kept] = w->v[i];
		w->v[kept++].seen = false;
	}
	w->n = kept;
	if (kept)
		qsort(w->v, kept, sizeof(*w->v), by_pid);
	return 0;
}

/* True: it is a guest that was not known before. */
static bool look_into(struct us_watched *p, uint64_t now_ns, struct us_guest *g)
{
	p->pause_ns = p->pause_ns ? 2 * p->pause_ns : FIRST_PAUSE_NS;
	if (p->pause_ns > MOST_PAUSE_NS)
		p->pause_ns = MOST_PAUSE_NS;
	p->next_ns = now_ns + p->pause_ns;
	bool guest = us_guest_inspect(p->pid, g, NULL) == 0;
	bool fresh = guest && (!p->guest || g->start_time != p->start_time);
	p->guest = guest;
	p->start_time = guest ? g->start_time : 0;
	return fresh;
}

static int look_into_all(struct us_guest_watch *w, uint64_t now_ns,
			 struct us_guest_list *l)
{
	_cleanup_free_ struct us_guest *g = malloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++) {
		if (w->v[i].next_ns > now_ns || !look_into(&w->v[i], now_ns, g))
			continue;
		struct us_guest *slot = us_vec_push(l);
		if (!slot)
			return -ENOMEM;
		*slot = *g;
	}
	return 0;
}

int us_guest_watch_look(struct us_guest_watch *w, uint64_t now_ns,
			struct us_guest_list *ret, struct us_err *e)
{
	struct us_guest_list l = { 0 };
	DIR *d = opendir("/proc");
	if (!d)
		return us_fail(e, -errno, "search /proc for guests: %s",
			       strerror(errno));
	int r = list_processes(w, now_ns, d);
	closedir(d);
	if (r == 0)
		r = look_into_all(w, now_ns, &l);
	if (r < 0) {
		us_guest_list_fini(&l);
		return us_fail(e, r, "search /proc for guests: %s", strerror(-r));
	}
	*ret = l;
	return 0;
}

void us_guest_watch_forget(struct us_guest_watch *w, pid_t pid)
{
	struct us_watched *p = find(w, w->n, pid);
	if (p)
		*p = (struct us_watched){ .pid = pid };
}

void us_guest_watch_fini(struct us_guest_watch *w)
{
	free(w->v);
	*w = (struct us_guest_watch){ 0 };
}
