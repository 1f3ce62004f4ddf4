/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.c: see summary.h. */
#include "boot/summary.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

#define NONE SIZE_MAX

enum what { AT, CPU, INSNS };

static double value_of(const struct us_boot_moment *m, enum what what)
{
	return (double)(what == AT ? m->wall_ns : what == CPU ? m->cpu_ns : m->insns);
}

/* v has room for all runs; since: an earlier point, or NONE.  Returns the number of
 * values. */
static size_t collect(const struct us_boot_run *run, size_t n, size_t point,
		      size_t since, enum what what, double *v)
{
	size_t got = 0;
	for (size_t i = 0; i < n; i++) {
		const struct us_boot_moment *m = &run[i].at[point];
		double x = value_of(m, what);
		if (!m->seen || (what != AT && x == 0))
			continue;
		if (since != NONE) {
			if (!run[i].at[since].seen)
				continue;
			x -= value_of(&run[i].at[since], what);
		}
		v[got++] = x;
	}
	return got;
}

static struct us_estimate typical(const struct us_boot_run *run, size_t n, size_t point,
				  size_t since, enum what what, double *v)
{
	return us_rank_median(v, collect(run, n, point, since, what, v));
}

static int compare(const void *a, const void *b)
{
	const struct us_boot_row *x = a, *y = b;
	if (x->at.value != y->at.value)
		return x->at.value < y->at.value ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

int us_boot_summarize(const struct us_boot_plan *p, const struct us_boot_run *run,
		      size_t n, struct us_boot_summary *ret)
{
	_cleanup_free_ double *v = calloc(n ? n : 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	ret->n = 0;
	for (size_t i = 0; i < p->n; i++) {
		size_t seen = collect(run, n, i, NONE, AT, v);
		if (seen)
			ret->row[ret->n++] = (struct us_boot_row){
				.point = i,
				.n_seen = seen,
				.at = typical(run, n, i, NONE, AT, v),
				.cpu = typical(run, n, i, NONE, CPU, v),
				.insns = typical(run, n, i, NONE, INSNS, v),
			};
	}
	qsort(ret->row, ret->n, sizeof(ret->row[0]), compare);
	for (size_t i = 1; i < ret->n; i++)
		ret->row[i].phase = typical(run, n, ret->row[i].point,
					    ret->row[i - 1].point, AT, v);
	return 0;
}

int us_boot_span(const struct us_boot_run *run, size_t n, size_t from, size_t to,
		 struct us_estimate *ret, size_t *ret_n)
{
	_cleanup_free_ double *v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	*ret_n = collect(run, n, to, from, AT, v);
	*ret = us_rank_median(v, *ret_n);
	return 0;
}

int us_boot_difference(const struct us_boot_run *a, size_t n_a, size_t point_a,
		       const struct us_boot_run *b, size_t n_b, size_t point_b,
		       struct us_estimate *ret)
{
	_cleanup_free_ double *x = calloc(n_a + 1, sizeof(*x));
	_cleanup_free_ double *y = calloc(n_b + 1, sizeof(*y));
	if (!x || !y)
		return -ENOMEM;
	return us_rank_shift(x, collect(a, n_a, point_a, NONE, AT, x), y,
			     collect(b, n_b, point_b, NONE, AT, y), US_RANK_LEVEL, ret);
}
