/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ram.h: find a guest's RAM in its VMM's process, and make it readable.
 *
 * Where RAM is comes from the monitor if one is at hand (gpa2hva), else from the
 * maps of the process: a writable mapping of the size of the guest's memory.  Where
 * it is in guest-physical space follows the machine (PC: a hole below 4 GiB).  A
 * layout is believed only after bytes that must be there were found there.
 * The memory file (memfd, hugetlbfs) is mapped read-only; anonymous memory is read
 * by process_vm_readv.
 */
#ifndef US_VMM_RAM_H
#define US_VMM_RAM_H

#include "guest/memory.h"
#include "vmm/guest_list.h"

struct us_qmp;
struct us_ram;

/* monitor may be NULL.  *ret owns the regions that us_ram_mem() points to. */
US_MUST_CHECK int us_ram_open(const struct us_guest *g, struct us_qmp *monitor,
			      struct us_ram **ret, struct us_err *e);
void us_ram_close(struct us_ram *r); /* accepts NULL */

struct us_mem *us_ram_mem(struct us_ram *r);
bool us_ram_is_mapped(const struct us_ram *r); /* all of it: reads cost no call */
/* "memfd mapped, 2 regions, layout from the monitor": for facts and `ps`. */
const char *us_ram_how(const struct us_ram *r);

/*
 * Check the layout against what a vCPU uses: the page tables of this space must
 * lie in RAM and translate pc to bytes that can be read.  -EILSEQ: it does not
 * hold.  *ret_tried is false if there is nothing to check (paging off).
 */
US_MUST_CHECK int us_ram_verify(struct us_ram *r, const struct us_regs *regs,
				bool *ret_tried, struct us_err *e);

#endif
