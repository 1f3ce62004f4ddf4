/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine.h: a guest as the host's kernel knows it: its vCPUs and its memory slots. */
#ifndef US_BACKEND_BPF_MACHINE_H
#define US_BACKEND_BPF_MACHINE_H

#include "backend/bpf/hub.h"
#include "guest/memory.h"
#include "vmm/guest_list.h"
#include "vmm/lazy_ram.h"

#define US_BPF_MEMORIES 8 /* kept, as another thread may still read through one */

struct us_bpf_machine {
	struct us_bpf_client *client;
	struct us_bpf_programs *programs; /* the client's */
	struct us_guest guest; /* vCPUs that came later are last, whatever their index;
				  tid is 0 for those in not_run */
	uint32_t index;	       /* among the guests of the programs */
	uint32_t row[US_MAX_VCPUS];  /* of each vCPU */
	uint64_t vcpu[US_MAX_VCPUS]; /* its address in the kernel */
	uint64_t kvm;		     /* that of the machine which they are all of */
	bool started[US_MAX_VCPUS];  /* had been started when the machine was opened */
	unsigned n_row;		     /* number of vCPUs that have a row */
	unsigned long n_thread; /* threads of the VMM, when its vCPUs were last searched
				   for */
	uint64_t gone;		/* ... and the vCPUs whose thread had ended then */
	uint64_t not_run;	/* bit n: no thread has run vCPU n yet */
	uint64_t foreign[US_MAX_VCPUS];	  /* of each row, at that time */
	unsigned searches, searches_left; /* for vCPUs; left: still to do */
	unsigned n_slot;		  /* slots of memory, those joined as one */
	unsigned n_slot_left_out;	  /* slots that did not fit */
	struct us_mem mem;	 /* reads the VMM's process, through its regions */
	struct us_lazy_ram lazy; /* its lazy memory when it was opened */
	unsigned memory;	 /* the copy in use */
	struct us_region region[US_BPF_MEMORIES][US_BPF_MAX_REGIONS];
};

/*
 * Not all vCPUs need to run yet: a VMM may let its threads run whichever is free.
 * -EOPNOTSUPP: the guest's registers are encrypted; -ENOTUNIQ: the vCPUs are of more
 * than one machine; -ESRCH: no thread has run any vCPU; -EXDEV: the thread of one has
 * no number in uniscope's PID namespace.
 */
US_MUST_CHECK int us_bpf_machine_open(struct us_bpf_machine *m,
				      const struct us_guest *g, struct us_err *e);
/* The programs forget the guest.  Accepts zeroed memory. */
void us_bpf_machine_close(struct us_bpf_machine *m);

/* What the programs are told about a vCPU. */
struct us_bpf_row *us_bpf_machine_row(const struct us_bpf_machine *m, unsigned vcpu);

/*
 * Search for new vCPUs of the same machine.  gone: bit n: the thread of vCPU n has
 * ended; away: it sleeps outside KVM_RUN, and another thread may run the vCPU by now;
 * must: search in any case.  Returns bits of the vCPUs that are new or run in another
 * thread: they are to be observed from now on. Quick if the VMM has as many threads as
 * before and all vCPUs have run, each still in its own thread; else it takes about a
 * millisecond.
 */
uint64_t us_bpf_machine_find_new(struct us_bpf_machine *m, uint64_t gone, uint64_t away,
				 bool must);

/* Read the memory slots again: they have changed. */
US_MUST_CHECK int us_bpf_machine_place(struct us_bpf_machine *m, struct us_err *e);

/* The share of each vCPU's time that samples may take from now on; 0: no limit. */
void us_bpf_machine_set_budget(struct us_bpf_machine *m, uint32_t ppm);

/* Hot path: like a backend's point(). */
void us_bpf_machine_point(struct us_bpf_machine *m, unsigned vcpu, us_gva at,
			  const struct us_pointed_plan *plan);

/* Ticks without a sample, since it was opened, as parts of mean periods: US_BPF_WHOLE
 * is one. */
struct us_bpf_counts {
	uint64_t skipped; /* the budget forbade it */
	uint64_t foreign; /* there was nothing to read */
	uint64_t lost;	  /* it did not fit into the ring */
};
void us_bpf_machine_count(const struct us_bpf_machine *m, struct us_bpf_counts *ret);

/* The registers that a vCPU had when it last left the guest; false: not available. */
bool us_bpf_machine_fetch(struct us_bpf_machine *m, unsigned vcpu,
			  struct us_bpf_sample *ret);

#endif
