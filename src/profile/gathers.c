/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/gathers.c: code where stops fell more, or less, often than vCPUs ran it.
 *
 * The recording has this by address (backend/running_pc.h).  Within one function it
 * does not matter.  Between functions it makes their shares wrong, so the report warns.
 */
#include "profile/profile_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLACES 64
#define MAX_NAMED  3
#define POINTS	   0.05 /* part of all stops; less is not reported */
#define SIGMAS	   4

struct gather {
	char name[128];	  /* of the function; its address if there is none */
	us_gva pc;	  /* the address that matters most */
	uint64_t n_of_pc; /* and how much it matters */
	uint64_t stopped, running;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void name_of(struct us_profile *p, us_gva pc, char *ret, size_t size)
{
	struct us_frame frame[16];
	size_t n = us_symbols_lookup(p->symbols, pc, false, frame, 16);
	if (n && frame[n - 1].func)
		snprintf(ret, size, "%s", frame[n - 1].func);
	else
		snprintf(ret, size, "0x%" PRIx64, pc);
}

static size_t add(struct gather *g, size_t n, const struct gather *more)
{
	size_t i = 0;
	while (i < n && strcmp(g[i].name, more->name) != 0)
		i++;
	if (i == MAX_PLACES)
		return n;
	if (i == n)
		g[n++] = *more;
	else {
		g[i].stopped += more->stopped;
		g[i].running += more->running;
		if (more->n_of_pc > g[i].n_of_pc) {
			g[i].pc = more->pc;
			g[i].n_of_pc = more->n_of_pc;
		}
	}
	return n;
}

/* "N; ADDRESS STOPS READINGS; ..."  Returns the number of functions. */
static size_t read_text(struct us_profile *p, const char *text, struct gather *ret,
			uint64_t *ret_n)
{
	size_t n = 0;
	char *at;
	*ret_n = strtoull(text, &at, 10);
	for (size_t i = 0; i < 4 * MAX_PLACES && at[0] == ';'; i++) {
		struct gather g = { .pc = strtoull(at + 1, &at, 16) };
		g.stopped = strtoull(at, &at, 10);
		g.running = strtoull(at, &at, 10);
		if (g.stopped > *ret_n || g.running > *ret_n)
			return 0;
		g.n_of_pc = distance(g.stopped, g.running);
		name_of(p, g.pc, g.name, sizeof(g.name));
		n = add(ret, n, &g);
	}
	return n;
}

static bool matters(const struct gather *g, double n)
{
	double stopped = (double)g->stopped / n, running = (double)g->running / n;
	double variance = (stopped * (1 - stopped) + running * (1 - running)) / n;
	double differs = fabs(stopped - running);
	return differs > POINTS && differs > SIGMAS * sqrt(fmax(variance, 0));
}

static int larger_first(const void *a, const void *b)
{
	const struct gather *x = a, *y = b;
	uint64_t dx = distance(x->stopped, x->running);
	uint64_t dy = distance(y->stopped, y->running);
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return x->stopped < y->stopped ? 1 : -1;
}

void us_profile_warn_of_gathers(struct us_profile *p)
{
	const char *text = us_profile_fact(p, "stops_gather");
	struct gather g[MAX_PLACES];
	char words[3 * 256] = "";
	uint64_t all;
	size_t n = text ? read_text(p, text, g, &all) : 0, at = 0, named = 0;
	if (n)
		qsort(g, n, sizeof(*g), larger_first);
	for (size_t i = 0; i < n && named < MAX_NAMED; i++) {
		if (!matters(&g[i], (double)all))
			continue;
		int len = snprintf(
			words + at, sizeof(words) - at,
			"%s%s has %.1f %% of the stops and %.1f %% of the time "
			"(most at 0x%" PRIx64 ")",
			named++ ? "; " : "", g[i].name,
			100.0 * (double)g[i].stopped / (double)all,
			100.0 * (double)g[i].running / (double)all, g[i].pc);
		at += len > 0 ? (size_t)len : 0;
		if (at >= sizeof(words))
			break;
	}
	if (named)
		us_profile_warn(
			p,
			"stops do not fall where the time goes, by %" PRIu64
			" readings without a stop: %s. A vCPU that accesses a device "
			"waits there for the lock that a stop takes, and "
			"TCG stops at the next block",
			all, words);
}
