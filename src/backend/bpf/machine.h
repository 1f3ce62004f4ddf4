/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine.h: a guest as the host's kernel knows it: its vCPUs and its memory slots. */
#ifndef US_BACKEND_BPF_MACHINE_H
#define US_BACKEND_BPF_MACHINE_H

#include "backend/bpf/hub.h"
#include "guest/memory.h"
#include "vmm/guest_list.h"
#include "vmm/lazy_ram.h"

#define US_BPF_MEMORIES 8 /* that are kept, as another thread may still read by one */

struct us_bpf_machine {
	struct us_bpf_client *client;
	struct us_bpf_programs *programs; /* the client's */
	struct us_guest guest; /* those that came later are last, whatever their index;
				  tid is 0 of those in not_run */
	uint32_t index;	       /* among the guests of the programs */
	uint32_t row[US_MAX_VCPUS];  /* of each vCPU */
	uint64_t vcpu[US_MAX_VCPUS]; /* in the kernel */
	bool started[US_MAX_VCPUS];  /* was, when it was opened */
	unsigned n_row;		     /* of them, as many have one */
	unsigned long n_thread; /* of the VMM, when its vCPUs were looked for last */
	uint64_t gone;		/* ... and those whose thread had ended then */
	uint64_t not_run;	/* bit n: no thread has run vCPU n yet */
	uint64_t foreign[US_MAX_VCPUS];	  /* of each row, as it was then */
	unsigned searches, searches_left; /* for vCPUs; left: whatever is as before */
	unsigned n_slot;		  /* of memory */
	unsigned n_slot_left_out;	  /* that did not fit */
	struct us_mem mem;		  /* of the VMM's process; by its regions */
	struct us_lazy_ram lazy;	  /* of it, as it was when it was opened */
	unsigned memory;		  /* the one in use */
	struct us_region region[US_BPF_MEMORIES][US_BPF_MAX_REGIONS];
};

/*
 * Not all vCPUs need to run yet: a VMM may let its threads run whichever is free.
 * -EOPNOTSUPP: its registers are encrypted; -ESRCH: no thread has run any of them.
 */
US_MUST_CHECK int us_bpf_machine_open(struct us_bpf_machine *m,
				      const struct us_guest *g, struct us_err *e);
/* The programs forget it. Accepts zeroed memory. */
void us_bpf_machine_close(struct us_bpf_machine *m);

/* What the programs are told about a vCPU. */
struct us_bpf_row *us_bpf_machine_row(const struct us_bpf_machine *m, unsigned vcpu);

/*
 * Have vCPUs come?  gone: bit n for vCPU n: its thread has ended; away: it sleeps, and
 * not in KVM_RUN: another one may run the vCPU by now.  Returns bits of
 * those that are new, or run in another thread: they are to be observed from now on.
 * Quick if the VMM has as many threads as before, all vCPUs have run, and each in its
 * own thread since; else it takes about a millisecond.
 */
uint64_t us_bpf_machine_find_new(struct us_bpf_machine *m, uint64_t gone,
				 uint64_t away);

/* Read the memory slots again: they have changed. */
US_MUST_CHECK int us_bpf_machine_place(struct us_bpf_machine *m, struct us_err *e);

/* What samples may take of each vCPU's time from now on; 0: no bound. */
void us_bpf_machine_set_budget(struct us_bpf_machine *m, uint32_t ppm);

/* Hot path: as a backend's point(). */
void us_bpf_machine_point(struct us_bpf_machine *m, unsigned vcpu, us_gva at,
			  const struct us_pointed_plan *plan);

/* Ticks that brought no sample, since it was opened. */
struct us_bpf_counts {
	uint64_t skipped; /* the budget forbade it */
	uint64_t foreign; /* there was nothing to be read */
	uint64_t lost;	  /* it did not fit */
};
void us_bpf_machine_count(const struct us_bpf_machine *m, struct us_bpf_counts *ret);

/* The registers that a vCPU had when it left the guest last; false: none to be had. */
bool us_bpf_machine_fetch(struct us_bpf_machine *m, unsigned vcpu,
			  struct us_bpf_sample *ret);

#endif
