/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/place.h: is the guest's RAM where uniscope thinks it is in the VMM's memory? */
#ifndef US_BACKEND_KVM_PLACE_H
#define US_BACKEND_KVM_PLACE_H

#include "guest/regs.h"
#include "vmm/guest_list.h"
#include "vmm/ram.h"

struct us_kvm_place {
	bool checked;	    /* against the page tables of a vCPU: it is */
	unsigned misplaced; /* samples that it did not fit */
};

/*
 * Hot path, for each sample until place->checked.  The first registers with paging show
 * it.  0: they show nothing else; -EAGAIN: they do not fit, but a single sample may be
 * misleading; else it does not fit, and *why says what to do.
 */
US_MUST_CHECK int us_kvm_place_check(struct us_kvm_place *place,
				     const struct us_guest *g, struct us_ram *ram,
				     const struct us_regs *regs, struct us_err *why);

#endif
