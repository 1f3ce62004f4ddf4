/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/place.c: see kvm/place.h. */
#include "backend/kvm/place.h"
#include "vmm/cmdline.h"

#include <errno.h>
#include <string.h>

#define MAX_MISPLACED 16 /* samples whose memory does not fit: then give up, ... */
#define MAX_STRANGE   4	 /* ... and if the VMM's memory layout is unknown */

int us_kvm_place_check(struct us_kvm_place *place, const struct us_guest *g,
		       struct us_ram *ram, const struct us_regs *regs,
		       struct us_err *why)
{
	bool tried = false;
	us_mem_new_sample(us_ram_mem(ram));
	int r = us_ram_verify(ram, regs, &tried, why);
	if (!r) {
		place->checked = tried;
		return 0;
	}
	bool known = us_vmm_is_known(g->vmm);
	if (++place->misplaced < (known ? MAX_MISPLACED : MAX_STRANGE))
		return -EAGAIN;
	/* The VMM lays out memory in a way that uniscope does not know, or the vCPU is
	 * in memory that was added later. */
	us_hint(why,
		"%suse --backend bpf, as root: it learns from KVM where the guest's "
		"memory is",
		strcmp(g->vmm, "qemu") ? "" : "give QEMU a monitor (-qmp), or ");
	return r;
}
