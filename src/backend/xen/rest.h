/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/rest.h: when the sampler continues: a sample must be due, and other programs must
 * have had their share of the CPU.
 *
 * The sampler runs at real-time priority.  In a dom0 with one CPU nothing else runs
 * while it works, not even the tool that is to destroy this domain, or the thread that
 * writes the recording.  It therefore rests as long as it works, and with more CPUs,
 * for a part of that time.  If the domain shares the CPU, it runs only in these rests:
 * then there is one between any two samples.
 *
 * A wait ends late, and costs more than a sample if it takes a hypercall and a switch
 * of domains.  If the domain has a CPU of its own, waits that are shorter than their
 * mean delay are saved up: some samples follow each other closely, and the rest for all
 * of them comes at once.  The mean rate is the requested one, or less.
 */
#ifndef US_BACKEND_XEN_REST_H
#define US_BACKEND_XEN_REST_H

#include <stdbool.h>
#include <stdint.h>

/* The saved-up rest is shorter than this. */
#define US_XEN_REST_MOST_NS 1000000

struct us_xen_rest {
	unsigned part;	   /* a rest is this part of the work before it */
	bool apart;	   /* the domain has a CPU of its own: set by the caller */
	int64_t owed_ns;   /* rest still due; negative: the last rest was longer than
			      needed */
	uint64_t ahead_ns; /* how much too early samples were taken */
	uint64_t lag_ns;   /* how late a wait ends, on average */
};

void us_xen_rest_init(struct us_xen_rest *r, bool one_cpu);

/* The sampler has worked for that long. */
void us_xen_rest_worked(struct us_xen_rest *r, uint64_t ns);

/* Until when to wait for the sample that is due; not later than now_ns: no wait. */
uint64_t us_xen_rest_until(const struct us_xen_rest *r, uint64_t now_ns,
			   uint64_t due_ns);

/* May that wait be saved up? */
bool us_xen_rest_can_wait(const struct us_xen_rest *r, uint64_t now_ns,
			  uint64_t until_ns);

/* The sample is taken now, without a wait. */
void us_xen_rest_goes_on(struct us_xen_rest *r, uint64_t now_ns, uint64_t due_ns);

/* There was a wait; whole: it ended at its time and not because of a signal. */
void us_xen_rest_waited(struct us_xen_rest *r, uint64_t from_ns, uint64_t until_ns,
			uint64_t now_ns, bool whole);

#endif
