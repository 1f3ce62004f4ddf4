/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phases.c: see phases.h. */
#include "boot/phases.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

#define NOWHERE SIZE_MAX

static const struct {
	const char *name;
	enum us_boot_kind begin;
} phases[US_N_BOOT_PHASE] = {
	[US_BOOT_IN_VMM] = { "VMM", US_BOOT_LAUNCH },
	[US_BOOT_IN_FIRMWARE] = { "firmware", US_BOOT_START },
	[US_BOOT_IN_LOADER] = { "loader", US_BOOT_SECTOR },
	[US_BOOT_IN_KERNEL] = { "kernel", US_BOOT_ENTRY },
	[US_BOOT_UNKNOWN] = { "unknown", 0 },
};

const char *us_boot_phase_name(enum us_boot_phase phase)
{
	return phases[phase].name;
}

/* ---- One variant ---- */

/* The point with which a phase begins, if all runs passed it on their way. */
static size_t reached(const struct us_boot_side *s, int phase)
{
	size_t point = us_boot_point_of(s->plan, phases[phase].begin);
	size_t goal = us_boot_goal(s->plan);
	for (size_t i = 0; point != NOWHERE && i < s->n_run; i++) {
		const struct us_boot_moment *at = s->run[i].at;
		if (!at[point].seen ||
		    (at[goal].seen && at[goal].wall_ns < at[point].wall_ns))
			return NOWHERE;
	}
	return point;
}

/* The last phase that all runs reached. */
static int last_of(const struct us_boot_side *s)
{
	int k = US_BOOT_IN_KERNEL;
	while (k > 0 && reached(s, k) == NOWHERE)
		k--;
	return k;
}

/* The same, but NOWHERE if it is not known where the phase ends. */
static size_t begin_of(const struct us_boot_side *s, int phase)
{
	int last = last_of(s);
	if (phase == US_BOOT_UNKNOWN)
		return last == US_BOOT_IN_KERNEL ? NOWHERE : reached(s, last);
	return phase == last && last != US_BOOT_IN_KERNEL ? NOWHERE : reached(s, phase);
}

static size_t end_of(const struct us_boot_side *s, int phase)
{
	for (int k = phase + 1; k < US_BOOT_UNKNOWN; k++)
		if (reached(s, k) != NOWHERE)
			return reached(s, k);
	return us_boot_goal(s->plan);
}

/* The time between two points in each run that has both, in v.  Returns the number of
 * such runs. */
static size_t collect(const struct us_boot_side *s, size_t from, size_t to, double *v)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n_run; i++) {
		const struct us_boot_moment *a = &s->run[i].at[from];
		const struct us_boot_moment *b = &s->run[i].at[to];
		if (a->seen && b->seen)
			v[n++] = (double)b->wall_ns - (double)a->wall_ns;
	}
	return n;
}

/* The same for a phase; US_N_BOOT_PHASE: the whole boot. */
static size_t collect_phase(const struct us_boot_side *s, int phase, double *v)
{
	if (phase == US_N_BOOT_PHASE)
		return collect(s, 0, us_boot_goal(s->plan), v);
	size_t from = begin_of(s, phase);
	return from == NOWHERE ? 0 : collect(s, from, end_of(s, phase), v);
}

static int measure_one(struct us_boot_side *s)
{
	_cleanup_free_ double *v = calloc(s->n_run + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->total = us_rank_median(v, collect_phase(s, US_N_BOOT_PHASE, v));
	for (int k = 0; k < US_N_BOOT_PHASE; k++) {
		s->has_phase[k] = begin_of(s, k) != NOWHERE;
		s->phase[k] = us_rank_median(v, collect_phase(s, k, v));
	}
	return 0;
}

/* ---- Against the first ---- */

/* One comparison, of a phase or of the whole boot. */
struct pair {
	const struct us_boot_side *a, *b;
	int phase;
	struct us_estimate *ret;
};

static size_t list_pairs(struct us_boot_side *side, size_t n, struct pair *ret)
{
	size_t got = 0;
	for (size_t i = 1; i < n; i++) {
		struct us_boot_side *b = &side[i];
		ret[got++] = (struct pair){ side, b, US_N_BOOT_PHASE, &b->later };
		for (int k = 0; k < US_N_BOOT_PHASE; k++) {
			b->in_both[k] = side->has_phase[k] && b->has_phase[k] &&
					k != US_BOOT_UNKNOWN;
			if (b->in_both[k])
				ret[got++] = (struct pair){ side, b, k,
							    &b->later_in[k] };
		}
	}
	return got;
}

/* level: NULL: compute the chance; else the shift. */
static int compare(const struct pair *p, const double *level, double *ret_chance)
{
	_cleanup_free_ double *a = calloc(p->a->n_run + 1, sizeof(*a));
	_cleanup_free_ double *b = calloc(p->b->n_run + 1, sizeof(*b));
	if (!a || !b)
		return -ENOMEM;
	size_t n_a = collect_phase(p->a, p->phase, a);
	size_t n_b = collect_phase(p->b, p->phase, b);
	if (!level)
		return us_rank_chance(a, n_a, b, n_b, ret_chance);
	return us_rank_shift(a, n_a, b, n_b, *level, p->ret);
}

static int compare_all(const struct pair *pair, size_t n)
{
	_cleanup_free_ double *chance = calloc(n + 1, sizeof(*chance));
	_cleanup_free_ double *level = calloc(n + 1, sizeof(*level));
	int r = chance && level ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = compare(&pair[i], NULL, &chance[i]);
	if (r == 0)
		us_rank_share_out(chance, n, US_RANK_LEVEL, level);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = compare(&pair[i], &level[i], NULL);
	return r;
}

int us_boot_sides_measure(struct us_boot_side *side, size_t n)
{
	_cleanup_free_ struct pair *pair = calloc(n * (US_N_BOOT_PHASE + 1) + 1,
						  sizeof(*pair));
	int r = pair ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = measure_one(&side[i]);
	return r < 0 ? r : compare_all(pair, list_pairs(side, n, pair));
}
