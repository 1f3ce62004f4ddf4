/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank.c: see rank.h. */
#include "base/rank.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAIL 0.025 /* on each side of a median's interval */
#define Z    1.959963984540054
/* Up to so many values in each set, the distribution is exact, not approximated. */
#define MOST_EXACT 60

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static void sort(double *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), compare);
}

static double middle(const double *v, size_t n)
{
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* v is sorted; the interval is from the rank-th smallest to the rank-th largest. */
static struct us_estimate between(const double *v, size_t n, size_t rank)
{
	struct us_estimate e = {
		.value = middle(v, n), .low = v[0], .high = v[n - 1], .sure = rank > 0
	};
	if (rank > 0) {
		e.low = v[rank - 1];
		e.high = v[n - rank];
	}
	return e;
}

/* The highest rank that the median is below with a probability of at most TAIL. */
static size_t median_rank(size_t n)
{
	double one = pow(0.5, (double)n), sum = 0;
	if (one == 0) /* more than a thousand */
		return (size_t)floor(((double)n - Z * sqrt((double)n)) / 2);
	for (size_t k = 0; k < n; k++) {
		sum += one;
		if (sum > TAIL)
			return k;
		one *= (double)(n - k) / (double)(k + 1);
	}
	return 0;
}

struct us_estimate us_rank_median(double *v, size_t n)
{
	if (!n)
		return (struct us_estimate){ 0 };
	sort(v, n);
	return between(v, n, median_rank(n));
}

/*
 * way[i * (most + 1) + u]: the share of all orders of i values of one set and the j of
 * the other so far in which u pairs have the one before the other (Mann and Whitney
 * 1947).  Shares, unlike counts, do not overflow.  ret[u], with u up to n_a * n_b, is
 * freed by the caller.
 */
static int count_out(size_t n_a, size_t n_b, double **ret)
{
	size_t most = n_a * n_b, row = most + 1;
	double *way = calloc((n_a + 1) * row, sizeof(*way));
	if (!way)
		return -ENOMEM;
	way[0] = 1;
	for (size_t i = 1; i <= n_a; i++)
		way[i * row] = 1; /* the other set is empty */
	for (size_t j = 1; j <= n_b; j++)
		for (size_t i = 1; i <= n_a; i++) {
			/* The highest of all values is in this set, or in the other. */
			double own = (double)i / (double)(i + j);
			double *here = way + i * row;
			const double *fewer = way + (i - 1) * row;
			for (size_t u = i * j + 1; u-- > 0;)
				here[u] = here[u] * (1 - own) +
					  (u >= j ? fewer[u - j] * own : 0);
		}
	memmove(way, way + n_a * row, row * sizeof(*way));
	*ret = way;
	return 0;
}

static bool is_counted_out(size_t n_a, size_t n_b)
{
	return n_a <= MOST_EXACT && n_b <= MOST_EXACT;
}

/* How many standard deviations is this number of pairs below its expectation? */
static double below(size_t n_a, size_t n_b, double pairs)
{
	double all = (double)n_a * (double)n_b;
	return (all / 2 - pairs) / sqrt(all * (double)(n_a + n_b + 1) / 12);
}

/* The probability of a normal distribution on each side beyond z. */
static double beyond(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

/* The highest rank that the shift is below with a probability of at most tail. */
static int shift_rank(size_t n_a, size_t n_b, double tail, size_t *ret)
{
	size_t most = n_a * n_b;
	_cleanup_free_ double *way = NULL;
	double sum = 0;
	*ret = 0;
	if (!is_counted_out(n_a, n_b)) {
		while (*ret < most / 2 &&
		       beyond(below(n_a, n_b, (double)*ret + 1)) <= tail)
			++*ret;
		return 0;
	}
	if (count_out(n_a, n_b, &way) < 0)
		return -ENOMEM;
	for (; *ret < most; ++*ret) {
		sum += way[*ret];
		if (sum > tail)
			break;
	}
	return 0;
}

int us_rank_shift(const double *a, size_t n_a, const double *b, size_t n_b,
		  double level, struct us_estimate *ret)
{
	size_t n = n_a * n_b, rank = 0;
	*ret = (struct us_estimate){ 0 };
	if (!n)
		return 0;
	_cleanup_free_ double *difference = malloc(n * sizeof(*difference));
	if (!difference || shift_rank(n_a, n_b, level / 2, &rank) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		difference[i] = b[i / n_a] - a[i % n_a];
	sort(difference, n);
	*ret = between(difference, n, rank);
	return 0;
}

int us_rank_chance(const double *a, size_t n_a, const double *b, size_t n_b,
		   double *ret)
{
	size_t n = n_a * n_b, not_more = 0, not_less = 0;
	_cleanup_free_ double *way = NULL;
	*ret = 1;
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		not_more += b[i / n_a] <= a[i % n_a];
		not_less += b[i / n_a] >= a[i % n_a];
	}
	size_t few = not_more < not_less ? not_more : not_less;
	double sum = 0;
	if (!is_counted_out(n_a, n_b)) {
		sum = beyond(below(n_a, n_b, (double)few + 1));
	} else {
		if (count_out(n_a, n_b, &way) < 0)
			return -ENOMEM;
		for (size_t u = 0; u <= few; u++)
			sum += way[u];
	}
	*ret = sum < 0.5 ? 2 * sum : 1;
	return 0;
}

/* The smallest chance among those that have no level yet. */
static size_t next_least(const double *chance, const double *level, size_t n)
{
	size_t least = n;
	for (size_t i = 0; i < n; i++)
		if (level[i] == 0 && (least == n || chance[i] < chance[least]))
			least = i;
	return least;
}

void us_rank_share_out(const double *chance, size_t n, double level, double *ret)
{
	size_t left = n;
	for (size_t i = 0; i < n; i++)
		ret[i] = 0;
	for (; left; left--) {
		size_t least = next_least(chance, ret, n);
		if (chance[least] > level / (double)left)
			break;
		ret[least] = level / (double)left;
	}
	for (size_t i = 0; i < n; i++)
		if (ret[i] == 0)
			ret[i] = level / (double)left;
}
