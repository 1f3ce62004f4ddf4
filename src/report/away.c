/* SPDX-License-Identifier: GPL-2.0-or-later */
/* away.c: see away.h. */
#include "report/away.h"

#include "backend/exit_reason.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define N_LENGTH 65 /* bits of a length */
#define NO_KIND	 UINT32_MAX

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

/* The number of a kind; if there are too many, the last one stands for the rest. */
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

/* Samples that a filter excluded end a run. */
static bool is_away(const struct us_timeline_sample *m)
{
	return m->state != US_VCPU_GUEST &&
	       (m->node || m->state == US_VCPU_HALTED || m->state == US_VCPU_OFF);
}

int us_away_change(struct us_away_runs *r, const struct us_timeline_sample *m)
{
	uint32_t kind = is_away(m) ? kind_of(r, m) : NO_KIND;
	r->last_ns = m->t_ns;
	if (r->open && r->v[r->n - 1].kind == kind) {
		r->v[r->n - 1].samples += m->weight;
		return 0;
	}
	if (r->open)
		r->v[r->n - 1].to_ns = m->t_ns;
	r->open = kind != NO_KIND;
	if (!r->open)
		return 0;
	struct us_away_run *run = us_vec_push(r);
	if (!run) {
		r->open = false;
		return -ENOMEM;
	}
	*run = (struct us_away_run){ .from_ns = m->t_ns,
				     .samples = m->weight,
				     .kind = kind };
	return 0;
}

/* The smallest length, in bits, such that there are at most `most` runs of it or
 * longer. */
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

void us_away_end(struct us_away_runs *r, size_t most)
{
	size_t n[N_LENGTH] = { 0 }, kept = 0;
	if (r->open)
		r->v[r->n - 1].to_ns = r->last_ns;
	r->open = false;
	for (size_t i = 0; i < r->n; i++)
		n[bits_of(r->v[i].to_ns - r->v[i].from_ns)]++;
	unsigned least = least_bits(n, most);
	for (size_t i = 0; i < r->n; i++)
		if (bits_of(r->v[i].to_ns - r->v[i].from_ns) >= least)
			r->v[kept++] = r->v[i];
	r->left_out = r->n - kept;
	r->n = kept;
}

void us_away_runs_fini(struct us_away_runs *r)
{
	free(r->v);
	r->v = NULL;
}
