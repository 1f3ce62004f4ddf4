/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guests.c: guests that are served live, and the tick that updates them each second. */
#include "serve/serve_priv.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Guests come and go ---- */

static void free_guest(struct us_serve_guest *g)
{
	if (!g)
		return;
	us_live_close(g->live);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static struct us_serve_guest *named(struct us_serve *s, const char *name)
{
	for (unsigned i = 0; i < s->n_guest; i++)
		if (!strcmp(s->guest[i]->name, name))
			return s->guest[i];
	return NULL;
}

/* "web", "web 2", ... */
static void set_name(struct us_serve *s, struct us_serve_guest *g, const char *name)
{
	char wanted[sizeof(g->name) - 16];
	us_printable(wanted, sizeof(wanted), *name ? name : "guest");
	snprintf(g->name, sizeof(g->name), "%s", wanted);
	for (unsigned i = 2; named(s, g->name); i++)
		snprintf(g->name, sizeof(g->name), "%s %u", wanted, i);
}

/* Remove the guest that ended first, if nobody uses it. */
static bool make_room(struct us_serve *s)
{
	unsigned i = 0;
	if (s->n_guest < US_SERVE_GUESTS)
		return true;
	while (i < s->n_guest && (!s->guest[i]->over || s->guest[i]->users))
		i++;
	if (i == s->n_guest)
		return false;
	free_guest(s->guest[i]);
	memmove(&s->guest[i], &s->guest[i + 1], (--s->n_guest - i) * sizeof(*s->guest));
	return true;
}

int us_serve_add(struct us_serve *s, const char *name, int fd,
		 const struct us_live_opts *o, struct us_serve_guest **ret,
		 struct us_err *e)
{
	struct us_serve_guest *g = calloc(1, sizeof(*g));
	if (!g)
		return us_fail(e, -ENOMEM, "serve %s: out of memory", name);
	pthread_mutex_init(&g->lock, NULL);
	g->host_cpu = -1;
	int rc = us_live_open(fd, o, &g->live, e);
	if (rc) {
		free_guest(g);
		return rc;
	}
	pthread_mutex_lock(&s->lock);
	if (make_room(s)) {
		set_name(s, g, name);
		g->number = s->next_number++;
		s->guest[s->n_guest++] = *ret = g;
	} else {
		rc = us_fail(e, -ENOSPC, "serve %s: %u guests are served already", name,
			     s->n_guest);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc)
		free_guest(g);
	return rc;
}

static void end_guest(struct us_serve_guest *g, const char *words)
{
	if (!g->ended)
		us_printable(g->words, sizeof(g->words), words);
	g->ended = true;
}

struct us_serve_guest *us_serve_take(struct us_serve *s, const char *name)
{
	pthread_mutex_lock(&s->lock);
	struct us_serve_guest *g = *name	     ? named(s, name)
				   : s->n_guest == 1 ? s->guest[0]
						     : NULL;
	if (g)
		g->users++;
	pthread_mutex_unlock(&s->lock);
	return g;
}

unsigned us_serve_take_all(struct us_serve *s, struct us_serve_guest **ret)
{
	pthread_mutex_lock(&s->lock);
	unsigned n = s->n_guest;
	for (unsigned i = 0; i < n; i++) {
		ret[i] = s->guest[i];
		ret[i]->users++;
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

void us_serve_put(struct us_serve *s, struct us_serve_guest *g)
{
	pthread_mutex_lock(&s->lock);
	g->users--;
	pthread_mutex_unlock(&s->lock);
}

bool us_serve_stopping(struct us_serve *s)
{
	pthread_mutex_lock(&s->lock);
	bool is = s->stopping;
	pthread_mutex_unlock(&s->lock);
	return is;
}

/* ---- One guest's data ---- */

static uint32_t clamped(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void add_second(struct us_serve_guest *g)
{
	struct us_live_vcpu did[US_SERVE_ROWS];
	struct us_serve_second *to = g->second[g->n % US_SERVE_HISTORY];
	const struct us_live_view v = { .from_ns = g->n * US_NS_PER_SEC,
					.to_ns = (g->n + 1) * US_NS_PER_SEC };
	us_live_vcpus(g->live, &v, did, US_SERVE_ROWS);
	for (unsigned i = 0; i < US_SERVE_ROWS; i++)
		to[i] = (struct us_serve_second){ clamped(did[i].guest),
						  clamped(did[i].exit),
						  clamped(did[i].ready),
						  clamped(did[i].idle) };
	g->n++;
	if (g->n - g->first > US_SERVE_HISTORY)
		g->first = g->n - US_SERVE_HISTORY;
}

void us_serve_renew(struct us_serve_guest *g)
{
	struct us_err e = { 0 };
	enum us_record_end end;
	const char *words;
	if (us_live_follow(g->live, &e))
		end_guest(g, e.msg);
	if (us_live_ended(g->live, &end, &words))
		end_guest(g, words);
	if (us_live_bytes(g->live) == g->bytes)
		return;
	g->bytes = us_live_bytes(g->live);
	g->generation++;
	g->n_vcpu = us_live_n_vcpu(g->live);
	uint64_t now = us_live_now_ns(g->live) / US_NS_PER_SEC;
	if (now > g->n + US_SERVE_HISTORY)
		g->first = g->n = now - US_SERVE_HISTORY;
	while (g->n < now)
		add_second(g);
}

void us_serve_host_cpu(struct us_serve_guest *g, double share)
{
	pthread_mutex_lock(&g->lock);
	g->host_cpu = share;
	pthread_mutex_unlock(&g->lock);
}

void us_serve_over(struct us_serve_guest *g, const char *words)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	us_serve_renew(g);
	end_guest(g, words);
	g->host_cpu = -1;
	g->generation++;
	pthread_mutex_unlock(&g->lock);
	atomic_store(&g->over, true);
}

/* ---- Once a second ---- */

static void renew_all(struct us_serve *s)
{
	struct us_serve_guest *g[US_SERVE_GUESTS];
	unsigned n = us_serve_take_all(s, g);
	for (unsigned i = 0; i < n; i++) {
		pthread_mutex_lock(&g[i]->lock);
		if (!g[i]->ended)
			us_serve_renew(g[i]);
		pthread_mutex_unlock(&g[i]->lock);
		us_serve_put(s, g[i]);
	}
}

/* Less than PIPE_BUF, so all of it is written, or nothing.  If the pipe is full, its
 * reader does not read now; it will get later ticks.  The lock is held. */
static void tell(struct us_serve *s, int *fd)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "data: %u\n\n", s->tick);
	if (*fd < 0 || write(*fd, text, (size_t)n) == n || errno == EAGAIN)
		return;
	close(*fd);
	*fd = -1;
}

static void *run_ticks(void *arg)
{
	struct us_serve *s = arg;
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	pthread_mutex_lock(&s->lock);
	while (!s->stopping) {
		at.tv_sec++;
		while (!s->stopping &&
		       pthread_cond_timedwait(&s->stop, &s->lock, &at) != ETIMEDOUT)
			;
		if (s->stopping)
			break;
		pthread_mutex_unlock(&s->lock);
		renew_all(s);
		pthread_mutex_lock(&s->lock);
		s->tick++;
		for (unsigned i = 0; i < US_SERVE_LISTENERS; i++)
			tell(s, &s->listener[i]);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int us_serve_begin_ticks(struct us_serve *s, struct us_err *e)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->stop, &attr);
	pthread_condattr_destroy(&attr);
	for (unsigned i = 0; i < US_SERVE_LISTENERS; i++)
		s->listener[i] = -1;
	sigfillset(&all); /* also SIGPIPE, from a listener that is gone */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&s->ticker, NULL, run_ticks, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->ticks = rc == 0;
	return rc ? us_fail(e, -rc, "start a thread: %s", strerror(rc)) : 0;
}

void us_serve_end_ticks(struct us_serve *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	if (s->ticks)
		pthread_cond_broadcast(&s->stop);
	pthread_mutex_unlock(&s->lock);
	if (!s->ticks)
		return;
	pthread_join(s->ticker, NULL);
	for (unsigned i = 0; i < US_SERVE_LISTENERS; i++)
		if (s->listener[i] >= 0)
			close(s->listener[i]);
	pthread_cond_destroy(&s->stop);
}

void us_serve_free_guests(struct us_serve *s)
{
	for (unsigned i = 0; i < s->n_guest; i++)
		free_guest(s->guest[i]);
}

void us_serve_events(struct us_serve *s, struct us_http_reply *r)
{
	int fd[2], *slot = NULL;
	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK)) {
		us_http_say(r, 503, "no free file descriptors\n");
		return;
	}
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < US_SERVE_LISTENERS && !slot && s->ticks; i++)
		if (s->listener[i] < 0)
			slot = &s->listener[i];
	if (slot && !s->stopping) {
		*slot = fd[1];
		tell(s, slot);
		r->fd = fd[0];
		r->endless = true;
		r->type = "text/event-stream";
	}
	pthread_mutex_unlock(&s->lock);
	if (r->fd >= 0)
		return;
	close(fd[0]);
	close(fd[1]);
	us_http_say(r, 503, "%u pages get live updates already\n", US_SERVE_LISTENERS);
}
