/* SPDX-License-Identifier: GPL-2.0-or-later */
/* away.c: see away.h. */
#include "report/away.h"

#include "backend/exit_reason.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define N_LENGTH 65 /* a length's bits */

static unsigned bits_of(uint64_t x)
{
	return x ? 64U - (unsigned)__builtin_clzll(x) : 0;
}

bool us_away_same(const struct us_away_kind *a, const struct us_away_kind *b)
{
	return a->state == b->state && a->exit == b->exit;
}

const char *us_away_words(const struct us_away_kind *k, char *dst, size_t size)
{
	char exit[64];
	switch (k->state) {
	case US_VCPU_HALTED:
		return "idle";
	case US_VCPU_OFF:
		return "off";
	case US_VCPU_READY:
		return "waiting for host CPU";
	case US_VCPU_EXIT:
		if (!k->exit || !us_exit_words(k->exit, exit, sizeof(exit)))
			return "exit";
		snprintf(dst, size, "exit: %s", exit);
		return dst;
	default:
		return "guest";
	}
}

/* The kind's number; the last one stands for those that are too many. */
static uint32_t kind_of(struct us_away_runs *r, const struct us_timeline_sample *m)
{
	struct us_away_kind k = { m->state, m->exit };
	for (uint32_t i = 0; i < r->n_kind; i++)
		if (us_away_same(&r->kind[i], &k))
			return i;
	if (r->n_kind < US_AWAY_KINDS)
		r->kind[r->n_kind++] = k;
	return (uint32_t)r->n_kind - 1;
}

struct finder {
	struct us_timeline_cursor c;
	struct us_away_runs *runs;
	struct us_timeline_sample m;
	bool have;
};

/* Samples that a filter left out end a run. */
static bool is_away(const struct us_timeline_sample *m)
{
	return m->state != US_VCPU_GUEST &&
	       (m->node || m->state == US_VCPU_HALTED || m->state == US_VCPU_OFF);
}

static bool next_run(struct finder *f, struct us_away_run *ret)
{
	while (f->have && !is_away(&f->m))
		f->have = us_timeline_next(&f->c, &f->m);
	if (!f->have)
		return false;
	*ret = (struct us_away_run){ .from_ns = f->m.t_ns,
				     .kind = kind_of(f->runs, &f->m) };
	do {
		ret->samples += f->m.weight;
		f->have = us_timeline_next(&f->c, &f->m);
	} while (f->have && is_away(&f->m) && kind_of(f->runs, &f->m) == ret->kind);
	ret->to_ns = f->m.t_ns;
	return true;
}

static struct finder finder_of(const struct us_profile *p, size_t lane,
			       struct us_away_runs *runs)
{
	struct finder f = { .c = us_timeline_of(p, lane), .runs = runs };
	f.have = us_timeline_next(&f.c, &f.m);
	return f;
}

/* The shortest length, in bits, of which and of longer ones there are not too many. */
static unsigned least_bits(const size_t n[N_LENGTH], size_t most)
{
	size_t sum = 0;
	for (unsigned bits = N_LENGTH; bits-- > 0;) {
		sum += n[bits];
		if (sum > most)
			return bits + 1;
	}
	return 0;
}

int us_away_runs(const struct us_profile *p, size_t lane, size_t most,
		 struct us_away_runs *ret)
{
	size_t n[N_LENGTH] = { 0 }, kept = 0;
	struct us_away_run run;
	struct {
		struct us_away_run *v;
		size_t n, cap;
	} all = { 0 };
	*ret = (struct us_away_runs){ 0 };
	for (struct finder f = finder_of(p, lane, ret); next_run(&f, &run);) {
		struct us_away_run *slot = us_vec_push(&all);
		if (!slot) {
			free(all.v);
			return -ENOMEM;
		}
		*slot = run;
		n[bits_of(run.to_ns - run.from_ns)]++;
	}
	unsigned least = least_bits(n, most);
	for (size_t i = 0; i < all.n; i++)
		if (bits_of(all.v[i].to_ns - all.v[i].from_ns) >= least)
			all.v[kept++] = all.v[i];
	ret->v = all.v;
	ret->n = kept;
	ret->left_out = all.n - kept;
	return 0;
}

void us_away_runs_fini(struct us_away_runs *r)
{
	free(r->v);
	r->v = NULL;
}
