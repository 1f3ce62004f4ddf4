/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/kvm_priv.h: what the files of the kvm backend share. */
#ifndef US_BACKEND_KVM_KVM_PRIV_H
#define US_BACKEND_KVM_KVM_PRIV_H

#include "backend/backend.h"
#include "backend/kvm/match.h"
#include "backend/kvm/place.h"
#include "backend/kvm/vcpu.h"
#include "backend/pacer.h"
#include "guest/paging.h"

struct us_kvm {
	struct us_backend base;
	struct us_guest guest;
	int pidfd;
	struct us_kvm_match match;
	struct us_ram *ram;
	struct us_paging paging; /* to look at the code of a vCPU */
	struct us_pacer pacer;
	struct us_kvm_vcpu vcpu[US_MAX_VCPUS]; /* tid 0: no thread runs it */
	uint64_t ended_ns[US_MAX_VCPUS];       /* when its last thread had ended, if
						  another one is searched for */
	unsigned n_open;		       /* of vcpu[] */
	uint64_t matched_ns; /* when the threads of vCPUs without one were searched */
	unsigned n_moved;    /* changes of thread since moved_ns */
	uint64_t moved_ns;
	unsigned n_gone;   /* vCPUs whose thread has ended and was not replaced */
	unsigned slot;	   /* of the capture that the caller has */
	uint64_t awake_ns; /* when the sampler last had to wait, for a stop too */
	int arrived;	   /* the slot of a late stop to be sampled now, or -1 */
	bool is_counted;   /* the pacer is done with the capture that the caller has */
	struct {
		uint32_t n; /* samples that are to be told of next, or 0 */
		uint64_t t_ns;
	} wait;	      /* of slot, for a host CPU, from when it was asked to stop */
	bool precise; /* the sampler's timer slack is set */
	struct us_kvm_place place;
	unsigned blind;	   /* stops in a row without registers */
	struct us_err why; /* of the error that next() returned */
};

/* Hot path, all of it, in kvm/follow.c: which thread runs a vCPU may change.  Results
 * are those of a sample: 1, *c is filled; -EAGAIN, no capture this time; else an error,
 * in k->why. */

unsigned us_kvm_count_threadless(const struct us_guest *g);
/* A vCPU without a known thread; also 0: there is one now. */
int us_kvm_sample_threadless(struct us_kvm *k, unsigned slot, struct us_capture *c);
/* A vCPU's thread has ended: with its VMM, because the vCPU was unplugged, or another
 * thread goes on with the vCPU: then it is found like that of any other. */
int us_kvm_thread_gone(struct us_kvm *k, unsigned slot);
/* Is the thread that sleeps a guess, and another one in KVM_RUN for this vCPU, or may
 * be?  Searches once a second. */
bool us_kvm_guess_is_wrong(struct us_kvm *k, unsigned slot);
/* The VMM has closed this vCPU: with its machine, or as it was unplugged. */
int us_kvm_vcpu_closed(struct us_kvm *k, unsigned slot);
/* Another thread runs this vCPU now. */
int us_kvm_vcpu_moved(struct us_kvm *k, unsigned slot);

#endif
