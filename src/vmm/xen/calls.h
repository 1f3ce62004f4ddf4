/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/calls.h: what uniscope asks of Xen, as one table of functions.
 *
 * The table uses libxencall and libxenforeignmemory, which are loaded when they are
 * needed: the program also runs where there is no Xen.  If it was built against a
 * libxen without them (before 4.7), the table uses libxenctrl.  Tests provide their
 * own.
 *
 * Xen numbers the versions of its domctl interface, and refuses any other version.  The
 * parts used here have the same layout in all versions from 0x12 (Xen 4.13) to 0x17
 * (Xen 4.20), so uniscope finds the right one by trying (xen/include/public/domctl.h).
 *
 * Unless it says otherwise, a function returns 0 or -errno: -ESRCH: there is no such
 * domain (any more), -EPERM, -EACCES: not permitted.
 */
#ifndef US_VMM_XEN_CALLS_H
#define US_VMM_XEN_CALLS_H

#include "base/err.h"
#include "guest/regs.h"
#include "vmm/guest_list.h"

#include <stdbool.h>
#include <stdint.h>

#define US_XEN_PAGE 4096
#define US_XEN_RUN  16
/* One sample() reads the registers of at most this many vCPUs. */
#define US_XEN_LOOK_REGS 8

enum us_xen_kind {
	US_XEN_PV,  /* paravirtual: page tables hold machine frames */
	US_XEN_PVH, /* hardware-assisted, no emulated devices; all of arm64 */
	US_XEN_HVM,
};

struct us_xen_domain {
	uint32_t id;
	uint8_t kind; /* enum us_xen_kind */
	bool dying;
	bool shut_down; /* the guest has ended, crashed, or suspended itself */
	bool paused;	/* by a toolstack, or by us */
	/* Of the shutdown: SHUTDOWN_* of Xen's sched.h.  A suspended domain may go on:
	 * after a checkpoint (xl save -c, Remus) under the same number. */
	uint8_t reason;
#define US_XEN_SUSPENDED 2
	unsigned n_vcpu;
	uint64_t memory; /* bytes */
};

static inline bool us_xen_has_ended(const struct us_xen_domain *d)
{
	return d->dying || (d->shut_down && d->reason != US_XEN_SUSPENDED);
}

struct us_xen_vcpu {
	bool online;
	bool blocked; /* waits for an event */
	bool running; /* on a CPU at this moment */
	uint64_t ran_ns;
};

/* The requests of a sample, in this order, and Xen's answers: each has a result of its
 * own.  Bit n of a mask is vCPU n. */
struct us_xen_sample {
	bool state;	/* asked for: the domain's state; else it stays as it was */
	uint64_t vcpus; /* asked for: what these do */
	bool pause;	/* asked for: pause the domain ... */
	uint64_t regs;	/* ... and then the registers of the lowest of these */

	int domain_code, pause_code;
	struct us_xen_domain domain;
	uint64_t vcpus_known;
	struct us_xen_vcpu vcpu[US_MAX_VCPUS];
	uint64_t regs_read; /* if it was paused: the vCPUs that were tried */
	int regs_code[US_MAX_VCPUS];
	struct us_regs reg[US_MAX_VCPUS];
};

struct us_xen_calls {
	enum us_arch arch; /* of this host and all of its domains */

	/* A handle is for one thread, and not for a child of fork(). */
	int (*open)(void **ret, struct us_err *e);
	void (*close)(void *h); /* accepts NULL; unmaps nothing */

	/* Pauses nest: Xen counts them.  When pause() returns, no vCPU runs. */
	int (*pause)(void *h, uint32_t domain);
	int (*unpause)(void *h, uint32_t domain); /* -EINVAL: it is not paused */

	int (*domain)(void *h, uint32_t domain, struct us_xen_domain *ret);
	/* 32 or 64: the width of a PV domain's kernel, which determines its registers
	 * and page tables. */
	int (*width)(void *h, uint32_t domain);
	int (*vcpu)(void *h, uint32_t domain, unsigned vcpu, struct us_xen_vcpu *ret);
	/* -ENODATA: the vCPU was not started.  Space and addresses depend on the
	 * domain's kind: us_space.root is a machine address in a PV domain. */
	int (*regs)(void *h, const struct us_xen_domain *d, unsigned vcpu,
		    struct us_regs *ret);

	/* domain(), vcpu(), pause() and regs(), all in one call.  An error is one of
	 * the call itself: then nothing was done.  NULL: there is no such call. */
	int (*sample)(void *h, const struct us_xen_domain *d, struct us_xen_sample *l);

	/* Map n pages of the domain, at most US_XEN_RUN, read-only and contiguous.  A
	 * frame is a machine frame number in a PV domain, else a guest's.  NULL: one of
	 * them is not there.  Mapped pages stay readable and keep the domain's memory
	 * from being freed until all n are unmapped. */
	const void *(*map)(void *h, uint32_t domain, const uint64_t *frame, unsigned n);
	void (*unmap)(void *h, const void *pages, unsigned n);

	/* "libxencall, domctl 0x15" */
	const char *(*how)(void *h);
};

/* The real ones; open() fails with -ENOTSUP if uniscope was built without Xen. */
const struct us_xen_calls *us_xen_calls(void);

const char *us_xen_kind_name(uint8_t kind);

#endif
