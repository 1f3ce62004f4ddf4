/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/rest.c: see xen/rest.h. */
#include "backend/xen/rest.h"

#define PART_OF_MANY 8	/* with more than one CPU in dom0 */
#define LAG_MEAN     16 /* waits */

void us_xen_rest_init(struct us_xen_rest *r, bool one_cpu)
{
	*r = (struct us_xen_rest){ .part = one_cpu ? 1 : PART_OF_MANY };
}

void us_xen_rest_worked(struct us_xen_rest *r, uint64_t ns)
{
	if (!r->apart && r->owed_ns < 0)
		r->owed_ns = 0;
	r->owed_ns += (int64_t)(ns / r->part);
}

uint64_t us_xen_rest_until(const struct us_xen_rest *r, uint64_t now_ns,
			   uint64_t due_ns)
{
	uint64_t due = due_ns + r->ahead_ns;
	uint64_t rested = r->owed_ns > 0 ? now_ns + (uint64_t)r->owed_ns : now_ns;
	return due > rested ? due : rested;
}

bool us_xen_rest_can_wait(const struct us_xen_rest *r, uint64_t now_ns,
			  uint64_t until_ns)
{
	return r->apart && until_ns < now_ns + r->lag_ns;
}

void us_xen_rest_goes_on(struct us_xen_rest *r, uint64_t now_ns, uint64_t due_ns)
{
	uint64_t due = due_ns + r->ahead_ns;
	r->ahead_ns = due > now_ns ? due - now_ns : 0;
}

static void learn_lag(struct us_xen_rest *r, uint64_t late_ns)
{
	if (late_ns > US_XEN_REST_MOST_NS)
		late_ns = US_XEN_REST_MOST_NS;
	r->lag_ns += late_ns / LAG_MEAN;
	r->lag_ns -= r->lag_ns / LAG_MEAN;
}

void us_xen_rest_waited(struct us_xen_rest *r, uint64_t from_ns, uint64_t until_ns,
			uint64_t now_ns, bool whole)
{
	uint64_t waited = now_ns - from_ns;
	if (whole)
		learn_lag(r, now_ns > until_ns ? now_ns - until_ns : 0);
	r->ahead_ns = whole || r->ahead_ns < waited ? 0 : r->ahead_ns - waited;
	/* A wait longer than the rest owed is mostly due to the schedule: credit no
	 * more of it than the mean delay. */
	r->owed_ns -= (int64_t)waited;
	if (r->owed_ns < -(int64_t)r->lag_ns)
		r->owed_ns = -(int64_t)r->lag_ns;
}
