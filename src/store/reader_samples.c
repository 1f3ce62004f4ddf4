/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader_samples.c: the chunks of samples, and of the host stacks of samples. */
#include "store/format.h"
#include "store/reader_priv.h"
#include "store/varint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Finds the next sample that has a host stack; false: it is invalid. */
static bool next_host(struct reader *r, bool first)
{
	const uint8_t *p = r->hosts.v + r->hosts.at, *end = r->hosts.v + r->hosts.n;
	uint64_t delta;
	r->hosts.due = false;
	if (p == end)
		return true;
	p = us_varint_get(p, end, &delta);
	if (!p || (!delta && !first) || delta > UINT32_MAX)
		return false;
	r->hosts.next = first ? delta : r->hosts.next + delta;
	r->hosts.at = (size_t)(p - r->hosts.v);
	r->hosts.due = true;
	return true;
}

int us_reader_host_samples(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	size_t size = (size_t)(end - p);
	uint8_t *copy = malloc(size + 1);
	if (!copy)
		return us_fail(r->e, -ENOMEM, "read a recording: out of memory");
	if (r->hosts.due) {
		free(copy);
		return us_reader_bad(r, "does not belong to the samples that follow");
	}
	memcpy(copy, p, size);
	free(r->hosts.v);
	r->hosts.v = copy;
	r->hosts.n = size;
	r->hosts.at = 0;
	return next_host(r, true) ? 0
				  : us_reader_bad(r, "a host stack without a sample");
}

/* The host stack of the i-th sample; false: it is invalid. */
static bool take_host(struct reader *r, uint64_t i, us_stack_id *ret)
{
	uint64_t id;
	*ret = 0;
	if (!r->hosts.due || r->hosts.next != i)
		return true;
	const uint8_t *p = us_varint_get(r->hosts.v + r->hosts.at,
					 r->hosts.v + r->hosts.n, &id);
	if (!p || !id || id >= r->host.n)
		return false;
	*ret = (us_stack_id)id;
	r->hosts.at = (size_t)(p - r->hosts.v);
	return next_host(r, false);
}

/* Deliver the samples that were read so far; an invalid one may follow. */
static int deliver_samples(struct reader *r)
{
	size_t n = r->n_sample;
	int rc = 0;
	r->n_sample = 0;
	if (r->ops->samples)
		return n ? r->ops->samples(r->ctx, r->sample, n) : 0;
	for (size_t i = 0; r->ops->sample && i < n && !rc; i++)
		rc = r->ops->sample(r->ctx, &r->sample[i]);
	return rc;
}

static int bad_sample(struct reader *r, const char *what)
{
	int rc = deliver_samples(r);
	return rc ? rc : us_reader_bad(r, what);
}

/* One sample; *t is the time of the one before.  NULL: it is invalid. */
static const uint8_t *one_sample(const uint8_t *p, const uint8_t *end, uint64_t *t,
				 uint64_t *tag, uint64_t *stack, uint64_t *weight)
{
	uint64_t delta;
	*weight = 1;
	p = us_varint_get(p, end, &delta);
	p = us_varint_get(p, end, tag);
	p = us_varint_get(p, end, stack);
	if (p && *stack & 1)
		p = us_varint_get(p, end, weight);
	*t += (uint64_t)us_unzigzag(delta);
	return *t > UINT64_MAX / US_TIME_UNIT_NS || *weight > UINT32_MAX ? NULL : p;
}

int us_reader_samples(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	uint64_t t = 0, tag, stack, weight;
	for (uint64_t i = 0; p < end; i++) {
		p = one_sample(p, end, &t, &tag, &stack, &weight);
		if (!p)
			return bad_sample(r,
					  "a sample with an impossible time or weight");
		struct us_sample s = {
			.t_ns = t * US_TIME_UNIT_NS,
			.stack = (us_stack_id)(stack >> 1),
			.vcpu = (uint16_t)(tag >> US_TAG_VCPU_SHIFT),
			.end = tag & ((1U << US_TAG_END_BITS) - 1),
			.state = tag >> US_TAG_END_BITS &
				 ((1U << US_TAG_STATE_BITS) - 1),
			.weight = (uint32_t)weight,
		};
		if (stack >> 1 >= r->guest.n)
			return bad_sample(
				r, "a sample of a stack that does not come before it");
		if (tag >> US_TAG_VCPU_SHIFT >= US_MAX_VCPUS || s.end >= US_N_END ||
		    s.state >= US_N_VCPU_STATE)
			return bad_sample(
				r, "a sample with an unknown vCPU, end or state");
		if (!take_host(r, i, &s.host))
			return bad_sample(r, "a sample with an impossible host stack");
		r->sample[r->n_sample++] = s;
		int rc = r->n_sample == US_READER_SAMPLES ? deliver_samples(r) : 0;
		if (rc)
			return rc;
	}
	int rc = deliver_samples(r);
	if (rc)
		return rc;
	return r->hosts.due
		       ? us_reader_bad(r, "host stacks of samples that do not follow")
		       : 0;
}

int us_reader_busy_at(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	uint64_t t = 0, tag, stack, weight;
	while (p && p < end) {
		p = one_sample(p, end, &t, &tag, &stack, &weight);
		unsigned state = tag >> US_TAG_END_BITS &
				 ((1U << US_TAG_STATE_BITS) - 1);
		if (p && (state == US_VCPU_GUEST || state == US_VCPU_EXIT ||
			  state == US_VCPU_READY))
			return r->ops->busy_at(r->ctx, t * US_TIME_UNIT_NS);
	}
	return 0;
}
