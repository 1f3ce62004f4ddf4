/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/vcpus.c: the weight of each vCPU, or lane, in a key of the running samples.
 *
 * A table with a row for each key.  Every sample of a recording is added, and a hash
 * table of keys and vCPUs takes three times as long.
 */
#include "profile/profile_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for the number of each key. */
static bool has_key(struct us_profile *p, uint32_t key)
{
	size_t n = p->by_vcpu.n_row_of ? p->by_vcpu.n_row_of : 1024;
	while (n <= key)
		n *= 2;
	if (n == p->by_vcpu.n_row_of)
		return true;
	uint32_t *v = realloc(p->by_vcpu.row_of, n * sizeof(*v));
	if (!v)
		return false;
	memset(v + p->by_vcpu.n_row_of, 0, (n - p->by_vcpu.n_row_of) * sizeof(*v));
	p->by_vcpu.row_of = v;
	p->by_vcpu.n_row_of = n;
	return true;
}

/* Resize rows to n_vcpu, and the table to cap_row rows. */
static bool resize(struct us_profile *p, unsigned n_vcpu, size_t cap_row)
{
	uint32_t *v = calloc(cap_row * n_vcpu, sizeof(*v));
	if (!v)
		return false;
	for (size_t i = 0; i < p->by_vcpu.n_row; i++)
		memcpy(v + i * n_vcpu, p->by_vcpu.weight + i * p->by_vcpu.n_vcpu,
		       p->by_vcpu.n_vcpu * sizeof(*v));
	free(p->by_vcpu.weight);
	p->by_vcpu.weight = v;
	p->by_vcpu.n_vcpu = n_vcpu;
	p->by_vcpu.cap_row = cap_row;
	return true;
}

static bool has_room(struct us_profile *p, unsigned vcpu)
{
	unsigned n_vcpu = p->by_vcpu.n_vcpu ? p->by_vcpu.n_vcpu : 1;
	size_t cap_row = p->by_vcpu.cap_row ? p->by_vcpu.cap_row : 256;
	while (n_vcpu <= vcpu)
		n_vcpu *= 2;
	if (p->by_vcpu.n_row == cap_row)
		cap_row *= 2;
	return (n_vcpu == p->by_vcpu.n_vcpu && cap_row == p->by_vcpu.cap_row) ||
	       resize(p, n_vcpu, cap_row);
}

static uint32_t *cell_of(const struct us_profile *p, const struct us_vcpu_weight *x)
{
	size_t row = p->by_vcpu.row_of[x->key] - 1;
	return &p->by_vcpu.weight[row * p->by_vcpu.n_vcpu + x->lane];
}

int us_profile_end_vcpus(struct us_profile *p)
{
	size_t n = p->by_vcpu.n_queue;
	p->by_vcpu.n_queue = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t *row = &p->by_vcpu.row_of[p->by_vcpu.queue[i].key];
		if (!has_room(p, p->by_vcpu.queue[i].lane))
			return -ENOMEM;
		if (!*row)
			*row = (uint32_t)++p->by_vcpu.n_row;
	}
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(cell_of(p, &p->by_vcpu.queue[i]), 1);
	for (size_t i = 0; i < n; i++)
		*cell_of(p, &p->by_vcpu.queue[i]) += p->by_vcpu.queue[i].weight;
	return 0;
}

/* Queue it: several are added at a time, so that their cache misses overlap. */
int us_profile_add_vcpu(struct us_profile *p, uint32_t key, uint32_t lane,
			uint32_t weight)
{
	if (lane == US_PROFILE_NONE || !has_key(p, key))
		return -ENOMEM;
	__builtin_prefetch(&p->by_vcpu.row_of[key], 1);
	p->by_vcpu.queue[p->by_vcpu.n_queue++] = (struct us_vcpu_weight){ key, lane,
									  weight };
	return p->by_vcpu.n_queue == US_SLICES_QUEUE ? us_profile_end_vcpus(p) : 0;
}

uint32_t us_profile_of_vcpu(const struct us_profile *p, uint32_t key, uint32_t lane)
{
	if (key >= p->by_vcpu.n_row_of || !p->by_vcpu.row_of[key] ||
	    lane >= p->by_vcpu.n_vcpu)
		return 0;
	size_t row = p->by_vcpu.row_of[key] - 1;
	return p->by_vcpu.weight[row * p->by_vcpu.n_vcpu + lane];
}

void us_profile_add_idle(struct us_profile *p)
{
	size_t end = p->by_vcpu.n_row_of < p->n_key ? p->by_vcpu.n_row_of : p->n_key;
	if (!p->sum.idle_told)
		return;
	for (size_t key = 0; key < end; key++) {
		bool is_busy = key < p->running.n_open && p->keys.weight[key];
		if (is_busy || !p->by_vcpu.row_of[key])
			continue;
		for (uint32_t lane = 0; lane < p->lanes.n; lane++)
			p->lanes.v[lane].idle += us_profile_of_vcpu(p, (uint32_t)key,
								    lane);
	}
}

void us_profile_free_vcpus(struct us_profile *p)
{
	free(p->by_vcpu.row_of);
	free(p->by_vcpu.weight);
}
