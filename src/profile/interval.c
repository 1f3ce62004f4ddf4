/* SPDX-License-Identifier: GPL-2.0-or-later */
/* interval.c: see interval.h. */
#include "profile/interval.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>

#define Z_95 1.959963984540054

static double clamp01(double x)
{
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

struct us_interval us_interval_wilson(double share, double n)
{
	if (n <= 0)
		return (struct us_interval){ 0, 1 };
	double zz = Z_95 * Z_95, scale = 1 + zz / n;
	double mid = share + zz / (2 * n);
	double half = Z_95 * sqrt(share * (1 - share) / n + zz / (4 * n * n));
	struct us_interval i = { clamp01((mid - half) / scale),
				 clamp01((mid + half) / scale) };
	/* Rounding must not exclude what was seen. */
	return us_interval_wider(i, (struct us_interval){ share, share });
}

struct us_interval us_interval_wider(struct us_interval a, struct us_interval b)
{
	return (struct us_interval){ fmin(a.low, b.low), fmax(a.high, b.high) };
}

/* Student's t, 97.5 %, from the normal quantile by Fisher's expansion (Abramowitz and
 * Stegun 26.7.5); within 1 % of the tables from 3 degrees of freedom on. */
static double student_t(double freedom)
{
	double z = Z_95, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
	double f = freedom;
	return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * f * f * f);
}

struct us_interval us_interval_slices(double share, const struct us_slice_moments *m)
{
	if (m->n_slice < 2 || m->sum_n <= 0)
		return (struct us_interval){ share, share };
	double k = m->n_slice;
	double spread = m->sum_xx - 2 * share * m->sum_xn + share * share * m->sum_nn;
	double half = student_t(k - 1) * sqrt(fmax(0, spread) * k / (k - 1)) / m->sum_n;
	return (struct us_interval){ clamp01(share - half), clamp01(share + half) };
}

struct us_bootstrap {
	unsigned n_slice, n_draw;
	double low, high; /* percentiles, 0 to 1 */
	double sum;	  /* weight of all slices */
	float *times;	  /* [slice][draw]: how often the draw holds the slice */
	float *total;	  /* [draw]: weight of the draw */
	float *share;	  /* [draw]: scratch */
};

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void draw(struct us_bootstrap *b, const double *weight, uint64_t seed)
{
	for (unsigned d = 0; d < b->n_draw; d++) {
		for (unsigned i = 0; i < b->n_slice; i++) {
			uint64_t r = splitmix(&seed) >> 32;
			unsigned slice = (unsigned)(r * b->n_slice >> 32);
			b->times[(size_t)slice * b->n_draw + d] += 1;
			b->total[d] += (float)weight[slice];
		}
	}
}

int us_bootstrap_new(const double *weight, unsigned n_slice, unsigned n_draw,
		     uint64_t seed, struct us_bootstrap **ret)
{
	struct us_bootstrap *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->n_slice = n_slice;
	b->n_draw = n_draw;
	b->times = calloc((size_t)n_slice * n_draw + 1, sizeof(*b->times));
	b->total = calloc(n_draw + 1, sizeof(*b->total));
	b->share = calloc(n_draw + 1, sizeof(*b->share));
	if (!b->times || !b->total || !b->share) {
		us_bootstrap_free(b);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n_slice; i++)
		b->sum += weight[i];
	if (n_slice > 1) {
		double k = n_slice, widened = sqrt(k / (k - 1)) * student_t(k - 1);
		b->low = erfc(widened / sqrt(2)) / 2;
		b->high = 1 - b->low;
	}
	draw(b, weight, seed);
	*ret = b;
	return 0;
}

void us_bootstrap_free(struct us_bootstrap *b)
{
	if (!b)
		return;
	free(b->times);
	free(b->total);
	free(b->share);
	free(b);
}

/* Put the k-th smallest of v[n] at v[k] (Hoare's FIND). */
static float select_kth(float *v, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;
	while (low < high) {
		float pivot = v[low + (high - low) / 2];
		size_t i = low, j = high;
		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			float t = v[i];
			v[i++] = v[j];
			v[j--] = t;
		}
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[k];
}

struct us_interval us_bootstrap_interval(struct us_bootstrap *b,
					 const struct us_slice_part *v, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += v[i].weight;
	float share = b->sum > 0 ? (float)(sum / b->sum) : 0;
	if (b->n_slice < 2 || !b->n_draw || b->sum <= 0)
		return (struct us_interval){ share, share };
	for (unsigned d = 0; d < b->n_draw; d++)
		b->share[d] = 0;
	for (size_t i = 0; i < n; i++) {
		const float *times = b->times + (size_t)v[i].slice * b->n_draw;
		float weight = (float)v[i].weight;
		for (unsigned d = 0; d < b->n_draw; d++)
			b->share[d] += weight * times[d];
	}
	for (unsigned d = 0; d < b->n_draw; d++)
		b->share[d] = b->total[d] > 0 ? b->share[d] / b->total[d] : share;
	size_t last = b->n_draw - 1;
	double low = select_kth(b->share, b->n_draw, (size_t)floor(b->low * last));
	double high = select_kth(b->share, b->n_draw, (size_t)ceil(b->high * last));
	return (struct us_interval){ clamp01(low), clamp01(high) };
}
