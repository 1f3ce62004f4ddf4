/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ram.h: find a guest's RAM in its VMM's process, and make it readable.
 *
 * If a monitor is available, it says where RAM is (`info mtree -f` and gpa2hva: about
 * 0.6 ms, and 0.4 ms for each of some five pieces, of QEMU's main loop).  Else the maps
 * of the process do: RAM is a writable mapping of the size of the guest's memory, and
 * its place in guest-physical space follows from the machine (PC: a hole below 4 GiB;
 * sizes in ram_layout.h).  A layout is used only after bytes that must be there were
 * found there: see us_ram_verify().
 *
 * A memory file (memfd, shared file, hugetlbfs) is read with pread if nobody can
 * truncate it while we use it: it is sealed against shrinking, or it belongs to root or
 * to us and nobody else may open it for writing.  A file of hugetlbfs must also have
 * all its pages.  A page that is not in the file reads as zeroes and stays out of it,
 * also if another program is to bring it (lazy_ram.h): a page fault would put zeroes
 * there. Anything else, and private memory, is read with process_vm_readv.  Reading a
 * page that the guest never touched allocates it there (as zeroes): the guest sees no
 * difference, but the host needs the memory.
 *
 * From 0xa0000 to 0xfffff a PC's CPU sees other things than RAM: the VGA window, option
 * ROMs and the BIOS or their shadow.  A layout from the monitor shows what was there
 * when it was asked; one from the maps shows the RAM beneath.
 */
#ifndef US_VMM_RAM_H
#define US_VMM_RAM_H

#include "guest/memory.h"
#include "vmm/guest_list.h"

struct us_qmp;
struct us_ram;

/*
 * monitor may be NULL; if it fails or belongs to another machine, the maps are used.
 * *ret owns the regions that us_ram_mem() points to.  -EACCES, -EPERM: the process may
 * not be read; -ENOENT: nothing in it looks like RAM; -ESRCH: it is gone.
 */
US_MUST_CHECK int us_ram_open(const struct us_guest *g, struct us_qmp *monitor,
			      struct us_ram **ret, struct us_err *e);
void us_ram_close(struct us_ram *r); /* accepts NULL */

/*
 * May this process read the VMM's with process_vm_readv?  Nothing is read.  0; -EPERM,
 * and what would help; -ESRCH.  Not needed if RAM is a file that may be read.
 */
US_MUST_CHECK int us_ram_check_right(const struct us_guest *g, struct us_err *e);

/* Between samples: has another program begun to bring pages of this memory
 * (lazy_ram.h)?  Looks once a second at most; then its pages that are not present are
 * not read any more. */
void us_ram_look_again(struct us_ram *r, uint64_t now_ns);

struct us_mem *us_ram_mem(struct us_ram *r);
/* The guest has memory in devices (pc-dimm, virtio-mem) whose place is not known. */
bool us_ram_lacks_devices(const struct us_ram *r);
/* All of it is read from files: the VMM's process is not. */
bool us_ram_is_file(const struct us_ram *r);
/* "memfd, 2 regions, layout from the monitor": for the facts of a recording and
 * `ps`. */
const char *us_ram_how(const struct us_ram *r);

/*
 * Check the layout against what a vCPU uses: the page tables of its address space must
 * be in RAM and lead to readable bytes at pc or sp.  If the maps allow more than one
 * layout, the first that passes is taken (the regions of us_ram_mem() then change: call
 * it before use).  The part above the hole of a PC is as sure as the machine's name on
 * the command line, unless the vCPU used it.  -EILSEQ: none passes.  *ret_tried is
 * false if there was nothing to check (paging off).
 */
US_MUST_CHECK int us_ram_verify(struct us_ram *r, const struct us_regs *regs,
				bool *ret_tried, struct us_err *e);

#endif
