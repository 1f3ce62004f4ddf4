/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/compare.c: see compare.h. */
#include "profile/compare_priv.h"

#include "base/cleanup.h"
#include "base/student.h"
#include "base/vec.h"
#include "profile/interval.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL	0.05
#define SCORE_2 3.84 /* no hit in n samples: up to 3.84 / (n + 3.84) */

/* What all recordings of a side say about a function. */
struct estimate {
	double v, down, up; /* standard errors of the mean, by each recording's own */
	double squares;	    /* of the recordings' differences from the mean */
	size_t n;
};

static double running(const struct us_profile *p)
{
	return (double)us_profile_summary(p)->running;
}

/* --- one recording --- */

struct us_value us_value_of(double v, double low, double high)
{
	double t = us_student_limit(LEVEL, US_COSINES);
	return (struct us_value){ v, fmax(0, v - low) / t, fmax(0, high - v) / t };
}

/* The host's other work is not part of the guest: time that waited for a host CPU
 * counts only in shares of the time. */
static bool counts_waits(const struct us_comparer *c, const struct us_profile *p)
{
	return c->exact || c->o->by == US_COMPARE_TIME ||
	       us_profile_summary(p)->ready >= us_profile_summary(p)->running;
}

/* By number: the weight of the stacks with any function of that number, of which a
 * stack may have several.  NULL: out of memory. */
static uint64_t *totals_of(const struct us_comparer *c, unsigned side, unsigned run)
{
	const struct us_profile *p = c->side[side]->v[run];
	const uint32_t *number = c->number[side][run];
	size_t n, n_func;
	const struct us_profile_node *v = us_profile_nodes(p, &n);
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	uint64_t *total = calloc(c->names.n + 1, sizeof(*total));
	_cleanup_free_ uint32_t *last = calloc(c->names.n + 1, sizeof(*last));
	bool waits = counts_waits(c, p);
	if (!total || !last) {
		free(total);
		return NULL;
	}
	for (uint32_t i = 1; i < n; i++) {
		if (!v[i].self ||
		    (!waits && !strcmp(f[v[i].func].name, US_FRAME_READY)))
			continue;
		for (uint32_t up = i; up; up = v[up].parent) {
			uint32_t k = number[v[up].func];
			if (last[k] != i)
				total[k] += v[i].self;
			last[k] = i;
		}
	}
	return total;
}

/* weight: what it stands for, which need not be what its interval is of. */
static struct us_value share_of(const struct us_comparer *c, const struct us_profile *p,
				const struct us_profile_func *f, bool total,
				uint64_t weight)
{
	double n = running(p), ready = (double)us_profile_summary(p)->ready;
	double own = (double)(total ? f->total : f->self) / n;
	if (c->exact)
		return (struct us_value){ .v = (double)weight };
	struct us_value x =
		total ? us_value_of(own, f->total_long_low, f->total_long_high)
		      : us_value_of(own, f->self_long_low, f->self_long_high);
	double scale = counts_waits(c, p) ? 1 : n / (n - ready);
	return (struct us_value){ scale * (double)weight / n, scale * x.down,
				  scale * x.up };
}

/* Of the functions of a number, the first one gets its total. */
static uint64_t take_total(uint64_t *total)
{
	uint64_t weight = *total;
	*total = 0;
	return weight;
}

/* The factors are independent. */
static struct us_value product(struct us_value a, struct us_value b)
{
	return (struct us_value){ a.v * b.v, hypot(a.v * b.down, b.v * a.down),
				  hypot(a.v * b.up, b.v * a.up) };
}

static struct us_value inverse(struct us_value a)
{
	double square = a.v * a.v;
	return (struct us_value){ 1 / a.v, a.up / square, a.down / square };
}

/* The part of the time in which the guest ran at all. */
static struct us_value busy_of(const struct us_profile *p)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	double all = (double)(s->running + s->idle + s->unfocused + s->other_part);
	double idle = all > 0 ? (double)s->idle / all : 0;
	return us_value_of(
		(double)s->running / fmax(all, 1),
		(double)s->running / fmax(all, 1) - (s->idle_long_high - idle),
		(double)s->running / fmax(all, 1) + (idle - s->idle_long_low));
}

struct us_value us_compare_in_unit(const struct us_comparer *c,
				   const struct us_profile *p, unsigned side,
				   unsigned run, struct us_value share)
{
	if (c->o->by == US_COMPARE_TIME && !c->exact)
		return product(share, busy_of(p));
	if (c->o->by == US_COMPARE_PER)
		return product(share, inverse(c->per[side][run]));
	return share;
}

static int add_profile(struct us_comparer *c, unsigned side, unsigned run)
{
	const struct us_profile *p = c->side[side]->v[run];
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	_cleanup_free_ uint64_t *total = c->o->total ? totals_of(c, side, run) : NULL;
	if (c->o->total && !total)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t number = c->number[side][run][i];
		if (!(total ? f[i].total : f[i].self) ||
		    (c->o->by != US_COMPARE_TIME && !strcmp(f[i].name, US_FRAME_READY)))
			continue;
		struct us_compare_item *x = us_vec_push(&c->items);
		if (!x)
			return -ENOMEM;
		uint64_t weight = total ? take_total(&total[number]) : f[i].self;
		struct us_value share = share_of(c, p, &f[i], total, weight);
		*x = (struct us_compare_item){ number, &f[i], side, run,
					       us_compare_in_unit(c, p, side, run,
								  share) };
	}
	return 0;
}

/* A recording may have several functions of a number: inlined elsewhere, or unnamed. */
static void add_value(struct us_value *to, struct us_value x)
{
	*to = (struct us_value){ to->v + x.v, hypot(to->down, x.down),
				 hypot(to->up, x.up) };
}

/* The value of --per's function in one recording. */
static int find_per(struct us_comparer *c, uint32_t number, unsigned side, unsigned run,
		    struct us_err *e)
{
	const struct us_profile *p = c->side[side]->v[run];
	struct us_value *per = &c->per[side][run];
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	_cleanup_free_ uint64_t *total = totals_of(c, side, run);
	if (!total)
		return us_fail(e, -ENOMEM, "compare: out of memory");
	for (size_t i = 0; i < n; i++)
		if (f[i].total && c->number[side][run][i] == number)
			add_value(per, share_of(c, p, &f[i], true,
						take_total(&total[number])));
	if (per->v > 0)
		return 0;
	us_fail(e, -EINVAL,
		"--per %s: no sample of the recording %s has such a function",
		c->o->per, side ? "after" : "before");
	us_hint(e, "choose one that did the same work in each recording");
	return -EINVAL;
}

static int find_all_per(struct us_comparer *c, struct us_err *e)
{
	uint32_t number;
	int r = us_compare_named(c, c->o->per, &number, e);
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < c->side[side]->n && r == 0; i++)
			r = find_per(c, number, side, i, e);
	return r;
}

/* --- all of a side --- */

/* In none of n samples: its true share may still be above 0. */
static double unseen(const struct us_comparer *c, unsigned side)
{
	double n = 0, scale = 1;
	const struct us_compare_side *s = c->side[side];
	for (size_t i = 0; i < s->n; i++)
		n += running(s->v[i]);
	if (c->o->by == US_COMPARE_PER)
		scale = 1 / c->per[side][0].v;
	return c->exact ? 0
			: scale * SCORE_2 / (n + SCORE_2) /
				  us_student_limit(LEVEL, US_COSINES);
}

/* v: one value for each recording, zeroed where the function was not seen. */
static struct estimate estimate(const struct us_comparer *c, unsigned side,
				const struct us_value *v)
{
	struct estimate x = { .n = c->side[side]->n };
	double n = (double)x.n, down = 0, up = 0;
	for (size_t i = 0; i < x.n; i++) {
		x.v += v[i].v / n;
		down += v[i].down * v[i].down;
		up += v[i].up * v[i].up;
	}
	for (size_t i = 0; i < x.n; i++)
		x.squares += (v[i].v - x.v) * (v[i].v - x.v);
	x.down = sqrt(down) / n;
	x.up = x.v > 0 ? sqrt(up) / n : unseen(c, side);
	return x;
}

/* The error of the difference of two means, from the spread of both sides.  Both are
 * assumed to have the same variance (Student), with n - 2 degrees of freedom. */
static double spread_of(const struct estimate *a, const struct estimate *b)
{
	double n = (double)a->n, m = (double)b->n;
	return sqrt((a->squares + b->squares) / (n + m - 2) * (1 / n + 1 / m));
}

static void conclude(struct us_compare_row *r, const struct estimate *before,
		     const struct estimate *after)
{
	double down = hypot(after->down, before->up);
	double up = hypot(after->up, before->down);
	unsigned df = US_COSINES;
	/* Several recordings show what one cannot: how much runs differ. */
	if (before->n + after->n > 2) {
		double spread = spread_of(before, after);
		down = fmax(down, spread);
		up = fmax(up, spread);
		df = (unsigned)(before->n + after->n - 2);
	}
	double t = us_student_limit(LEVEL, df);
	r->before = before->v;
	r->after = after->v;
	r->diff = after->v - before->v;
	r->low = r->diff - t * down;
	r->high = r->diff + t * up;
	double error = r->diff > 0 ? down : up, size = fabs(r->diff);
	if (error > 0)
		r->chance = us_student_tail(size / error, df);
	else
		r->chance = size > 0 ? 0 : 1;
}

void us_compare_conclude(const struct us_comparer *c,
			 struct us_value v[2][US_COMPARE_MAX],
			 struct us_compare_row *ret)
{
	struct estimate before = estimate(c, 0, v[0]), after = estimate(c, 1, v[1]);
	conclude(ret, &before, &after);
	if (c->exact || c->o->by == US_COMPARE_PER)
		return;
	/* No share grows or shrinks by more than all. */
	ret->low = fmax(ret->low, -1);
	ret->high = fmin(ret->high, 1);
}

/* --- all functions --- */

static int by_number(const void *a, const void *b)
{
	const struct us_compare_item *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return (x->run > y->run) - (x->run < y->run);
}

static void make_row(const struct us_comparer *c, const struct us_compare_item *v,
		     size_t n, struct us_compare_row *r)
{
	struct us_value x[2][US_COMPARE_MAX] = { 0 };
	*r = (struct us_compare_row){ .name = c->names.v[v->number] };
	for (size_t i = 0; i < n; i++) {
		add_value(&x[v[i].side][v[i].run], v[i].x);
		if (v[i].side)
			r->is = true;
		else
			r->was = true;
		r->func = v[i].func;
	}
	us_compare_conclude(c, x, r);
}

static int by_chance(const void *a, const void *b)
{
	const struct us_compare_row *x = a, *y = b;
	return (x->chance > y->chance) - (x->chance < y->chance);
}

static int largest_first(const void *a, const void *b)
{
	const struct us_compare_row *x = a, *y = b;
	if (x->changed != y->changed)
		return x->changed ? -1 : 1;
	double p = fabs(x->diff), q = fabs(y->diff);
	return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}

/* Which rows changed, chosen as by Benjamini and Hochberg. */
void us_compare_choose(struct us_compare_row *row, size_t n, size_t *ret)
{
	*ret = 0;
	qsort(row, n, sizeof(*row), by_chance);
	for (size_t i = 0; i < n; i++)
		if (row[i].chance <= LEVEL * (double)(i + 1) / (double)n &&
		    row[i].diff != 0)
			*ret = i + 1;
	for (size_t i = 0; i < *ret; i++)
		row[i].changed = true;
	qsort(row, n, sizeof(*row), largest_first);
}

static int make_rows(struct us_comparer *c, struct us_comparison *ret)
{
	if (c->items.n)
		qsort(c->items.v, c->items.n, sizeof(*c->items.v), by_number);
	ret->row = calloc(c->items.n + 1, sizeof(*ret->row));
	if (!ret->row)
		return -ENOMEM;
	for (size_t from = 0, to; from < c->items.n; from = to) {
		for (to = from + 1; to < c->items.n; to++)
			if (c->items.v[from].number != c->items.v[to].number)
				break;
		make_row(c, &c->items.v[from], to - from, &ret->row[ret->n++]);
	}
	if (ret->n)
		us_compare_choose(ret->row, ret->n, &ret->n_changed);
	ret->exact = c->exact;
	return 0;
}

/* Without images nothing shows it.  But what is not Linux, with its modules, programs
 * and KASLR, has its code where it was built for. */
static bool is_same_build(const struct us_profile *p, const struct us_profile *q)
{
	size_t n, m;
	const struct us_profile_module *a = us_profile_modules(p, &n);
	const struct us_profile_module *b = us_profile_modules(q, &m);
	if (n != m ||
	    (!n && (us_profile_fact(p, "linux") || us_profile_fact(q, "linux"))))
		return false;
	for (size_t i = 0; i < n; i++)
		if (a[i].m.start != b[i].m.start || !a[i].m.build_id_len ||
		    a[i].m.build_id_len != b[i].m.build_id_len ||
		    memcmp(a[i].m.build_id, b[i].m.build_id, a[i].m.build_id_len) != 0)
			return false;
	return true;
}

int us_compare_begin(struct us_comparer *c, struct us_err *e)
{
	const struct us_profile *first = c->side[0]->v[0];
	c->exact = us_profile_is_counted(first);
	c->same_build = true;
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < c->side[side]->n; i++) {
			const struct us_profile *p = c->side[side]->v[i];
			if (strcmp(us_profile_unit(p), us_profile_unit(first)) != 0)
				return us_fail(
					e, -EINVAL, "compare: one has %s, another %s",
					us_profile_unit(first), us_profile_unit(p));
			if (us_profile_is_flat(p) != us_profile_is_flat(first))
				return us_fail(
					e, -EINVAL,
					"compare: one has calls by their callers, "
					"another has not (count --flat)");
			if (running(p) < 1)
				return us_fail(e, -ENODATA,
					       "compare: nothing %s the recording %s",
					       *us_profile_filters(p)
						       ? "passes the filters of"
						       : "ran in",
					       side ? "after" : "before");
			c->same_build = c->same_build && is_same_build(first, p);
		}
	if (us_compare_number(c))
		return us_fail(e, -ENOMEM, "compare: out of memory");
	int r = c->o->by == US_COMPARE_PER ? find_all_per(c, e) : 0;
	if (r < 0) {
		us_compare_names_fini(&c->names);
		us_compare_number_fini(c);
	}
	return r;
}

int us_compare(const struct us_compare_side *before,
	       const struct us_compare_side *after, const struct us_compare_opts *o,
	       struct us_comparison *ret, struct us_err *e)
{
	struct us_comparer c = { .o = o, .side = { before, after } };
	*ret = (struct us_comparison){ 0 };
	int r = us_compare_begin(&c, e);
	if (r < 0)
		return r;
	ret->names = c.names;
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < c.side[side]->n && r == 0; i++)
			r = add_profile(&c, side, i);
	if (r == 0)
		r = make_rows(&c, ret);
	us_compare_number_fini(&c);
	free(c.items.v);
	if (r == 0)
		return 0;
	us_comparison_fini(ret);
	return us_fail(e, r, "compare: out of memory");
}

void us_comparison_fini(struct us_comparison *c)
{
	free(c->row);
	us_compare_names_fini(&c->names);
	*c = (struct us_comparison){ 0 };
}
