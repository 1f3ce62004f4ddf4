/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/moved.h: which vCPUs have run since the sample before, and whose registers tell
 * so that Xen need not be asked.
 *
 * A sample brings the registers of the vCPUs that were busy.  If they are others than
 * at the sample before, the vCPU has run since.  And a PV vCPU waits for an event in a
 * hypercall only.  It makes one by SYSCALL, which leaves in RCX the address that
 * follows (Intel SDM volume 2, SYSCALL), and Xen keeps both as they were (entry.S,
 * syscall_enter).  So one of the kernel with another value in RCX does not wait.
 *
 * Where that tells nothing Xen is asked, at once and with the next sample; not with
 * that one if there was no time to move, and there is by then.  All are asked together
 * with the domain, from time to time: if Xen then says of one that it waits, against
 * its registers, they are not trusted any more.
 */
#ifndef US_BACKEND_XEN_MOVED_H
#define US_BACKEND_XEN_MOVED_H

#include "vmm/xen/calls.h"

/* Samples that are closer tell little of one that has not moved: one that was let go on
 * has to be taken up by its CPU first. */
#define US_XEN_MOVED_NS 50000

struct us_xen_moved {
	uint64_t ran;	  /* bit n: vCPU n has run between the last two samples */
	uint64_t trusted; /* bit n: its registers are enough ... */
	uint64_t
		short_of_time; /* ... and will be, if the next sample is not so close */
	uint64_t known;	       /* bit n: those of the last sample are in seen[n] */
	bool off;	       /* registers were wrong */
	uint64_t last_ns;      /* the last sample */
	struct us_xen_seen {
		us_gva pc;
		uint64_t gpr[16];
		uint64_t ran_ns, asked_ns; /* what Xen has said, and when */
	} seen[US_MAX_VCPUS];
};

/* Those in mask of which Xen has to be asked for a sample at now_ns. */
uint64_t us_xen_moved_ask(const struct us_xen_moved *m, uint64_t mask, uint64_t now_ns);

/* That sample was taken at now_ns, and what l->vcpus is short of is filled in, also in
 * l->vcpus_known.  A call for each of whom that needs one. */
void us_xen_moved_tell(struct us_xen_moved *m, const struct us_xen_calls *calls,
		       void *handle, const struct us_xen_domain *d,
		       struct us_xen_sample *l, uint64_t mask, uint64_t now_ns);

#endif
