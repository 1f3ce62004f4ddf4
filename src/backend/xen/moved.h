/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/moved.h: which vCPUs have run since the previous sample, and for which of them
 * the registers answer this, so that Xen need not be asked.
 *
 * A sample reads the registers of the vCPUs that were busy.  If they differ from those
 * of the previous sample, the vCPU has run since then.  Also, a PV vCPU waits for an
 * event only in a hypercall.  It makes one with SYSCALL, which leaves the following
 * address in RCX (Intel SDM volume 2, SYSCALL), and Xen keeps both as they were
 * (entry.S, syscall_enter).  A vCPU in kernel mode with another value in RCX therefore
 * does not wait.
 *
 * If the registers do not answer it, Xen is asked at once, and again with the next
 * sample.  It is not asked with the next sample if the vCPU only had no time to move,
 * and will have had time by then.  From time to time all vCPUs are asked about,
 * together with the domain.  If Xen then says that one of them waits, against its
 * registers, the registers are not trusted any more.
 */
#ifndef US_BACKEND_XEN_MOVED_H
#define US_BACKEND_XEN_MOVED_H

#include "vmm/xen/calls.h"

/* Samples closer than this tell little about a vCPU that has not moved: after a resume,
 * its CPU first has to start running it. */
#define US_XEN_MOVED_NS 50000

struct us_xen_moved {
	uint64_t ran;		/* bit n: vCPU n has run between the last two samples */
	uint64_t trusted;	/* bit n: its registers are enough ... */
	uint64_t short_of_time; /* ... and will be, if the next sample is not that close
				 */
	uint64_t known;	  /* bit n: seen[n] has the registers of the last sample */
	bool off;	  /* registers were wrong */
	uint64_t last_ns; /* time of the last sample */
	struct us_xen_seen {
		us_gva pc;
		uint64_t gpr[16];
		uint64_t ran_ns, asked_ns; /* what Xen has said, and when */
	} seen[US_MAX_VCPUS];
};

/* The vCPUs in mask about which Xen has to be asked for a sample at now_ns. */
uint64_t us_xen_moved_ask(const struct us_xen_moved *m, uint64_t mask, uint64_t now_ns);

/* That sample was taken at now_ns.  Fills in what was not asked for in l->vcpus, also
 * in l->vcpus_known, with one call for each vCPU that needs one. */
void us_xen_moved_tell(struct us_xen_moved *m, const struct us_xen_calls *calls,
		       void *handle, const struct us_xen_domain *d,
		       struct us_xen_sample *l, uint64_t mask, uint64_t now_ns);

#endif
