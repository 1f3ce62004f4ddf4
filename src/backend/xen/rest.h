/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/rest.h: when the sampler goes on: when a sample is due, and others had their
 * part.
 *
 * It runs at real-time priority.  In a dom0 of one CPU nothing else runs while it
 * works, as what is to destroy this very domain, or the thread that writes the
 * recording: so it rests as long as it works, and with more CPUs for a part of that. If
 * the domain shares the CPU it runs in these rests only: then there is one between any
 * two samples.
 *
 * A wait ends late, and costs more than a sample where that is a hypercall and a change
 * of domains.  So where the domain has a CPU of its own, waits that are shorter than
 * they end late in the mean are saved up: some samples follow each other closely, and
 * the rest for all of them comes at once.  The mean rate is the one that was asked for,
 * or less.
 */
#ifndef US_BACKEND_XEN_REST_H
#define US_BACKEND_XEN_REST_H

#include <stdbool.h>
#include <stdint.h>

/* What is saved up is shorter than this. */
#define US_XEN_REST_MOST_NS 1000000

struct us_xen_rest {
	unsigned part;	   /* a rest is this part of the work before it */
	bool apart;	   /* the domain has a CPU of its own: set by the caller */
	int64_t owed_ns;   /* of rest; negative: the last one was longer than that */
	uint64_t ahead_ns; /* by which samples were taken too early */
	uint64_t lag_ns;   /* by which a wait ends late, in the mean */
};

void us_xen_rest_init(struct us_xen_rest *r, bool one_cpu);

/* The sampler was at work. */
void us_xen_rest_worked(struct us_xen_rest *r, uint64_t ns);

/* Until when to wait for a sample that is due; not after now_ns: not at all. */
uint64_t us_xen_rest_until(const struct us_xen_rest *r, uint64_t now_ns,
			   uint64_t due_ns);

/* May that wait be saved up? */
bool us_xen_rest_can_wait(const struct us_xen_rest *r, uint64_t now_ns,
			  uint64_t until_ns);

/* The sample is taken now, without a wait. */
void us_xen_rest_goes_on(struct us_xen_rest *r, uint64_t now_ns, uint64_t due_ns);

/* There was a wait; whole: until the time and not for a signal. */
void us_xen_rest_waited(struct us_xen_rest *r, uint64_t from_ns, uint64_t until_ns,
			uint64_t now_ns, bool whole);

#endif
