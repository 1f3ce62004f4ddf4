/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ram.h: find a guest's RAM in its VMM's process, and make it readable.
 *
 * Where RAM is comes from the monitor if one is at hand (`info mtree -f` and gpa2hva:
 * about 0.6 ms, and 0.4 ms for each of some five pieces, of QEMU's main loop), else
 * from the maps of the process: a writable mapping of the size of the guest's memory.
 * Where it is in guest-physical space then follows the machine (PC: a hole below
 * 4 GiB; sizes in ram_layout.h).  A layout is believed only after bytes that must be
 * there were found there: see us_ram_verify().
 *
 * A memory file (memfd, shared file, hugetlbfs) is mapped read-only if it cannot be
 * cut short under us, which would be a SIGBUS: it is sealed against shrinking, or
 * belongs to root or to us and nobody else may open it for writing; one of hugetlbfs
 * must be all there.  Anything else, and private memory, is read by process_vm_readv,
 * which only fails.  A page that the guest never touched is given to it (as zeroes) by
 * reading it: nothing that the guest can see, but memory that the host must have.
 *
 * From 0xa0000 to 0xfffff a PC's CPU sees other things than RAM: the VGA window, option
 * ROMs and the BIOS or their shadow.  A layout from the monitor shows what was there
 * when it was asked; one from the maps shows the RAM that lies beneath.
 */
#ifndef US_VMM_RAM_H
#define US_VMM_RAM_H

#include "guest/memory.h"
#include "vmm/guest_list.h"

struct us_qmp;
struct us_ram;

/*
 * monitor may be NULL; if it fails or is another machine's, the maps serve.  *ret owns
 * the regions that us_ram_mem() points to.  -EACCES, -EPERM: the process may not be
 * read; -ENOENT: nothing in it looks like RAM; -ESRCH: it is gone.
 */
US_MUST_CHECK int us_ram_open(const struct us_guest *g, struct us_qmp *monitor,
			      struct us_ram **ret, struct us_err *e);
void us_ram_close(struct us_ram *r); /* accepts NULL */

/*
 * May this process read the VMM's by process_vm_readv?  Nothing is read.  0; -EPERM,
 * and what would help; -ESRCH.  Where RAM is a file that may be mapped it need not.
 */
US_MUST_CHECK int us_ram_check_right(const struct us_guest *g, struct us_err *e);

struct us_mem *us_ram_mem(struct us_ram *r);
bool us_ram_is_mapped(const struct us_ram *r); /* all of it: reads cost no call */
/* "memfd mapped, 2 regions, layout from the monitor": for facts and `ps`. */
const char *us_ram_how(const struct us_ram *r);

/*
 * Check the layout against what a vCPU uses: the page tables of its address space must
 * lie in RAM and lead to bytes at pc or sp that can be read.  Where the maps leave more
 * than one layout possible, the first that holds is taken (the regions of us_ram_mem()
 * then change: call it before use).  What lies above the hole of a PC is as sure as the
 * machine's name on the command line unless the vCPU used it.
 * -EILSEQ: none holds.  *ret_tried is false if there was nothing to check (paging off).
 */
US_MUST_CHECK int us_ram_verify(struct us_ram *r, const struct us_regs *regs,
				bool *ret_tried, struct us_err *e);

#endif
