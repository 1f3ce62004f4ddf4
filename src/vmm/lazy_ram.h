/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lazy_ram.h: memory whose pages another program provides on demand (userfaultfd(2)).
 *
 * Firecracker restores a snapshot, crosvm swaps, and QEMU ends a migration this way.
 * Reading a page that is not present would wait for that program, for ever if it does
 * not answer, while a vCPU is held.  Where a memory file is mapped, a page fault of
 * ours would put a page of zeroes into it, which the guest would then have in place of
 * its own: such files are read with pread (ram.h), which does not.  From the process
 * only pages that are present are read (struct us_region.lazy).
 *
 * uniscope first checks whether the process has a userfaultfd open.  Only
 * /proc/PID/smaps says which memory it serves, and for that the kernel goes through all
 * pages of the process.
 *
 * This is checked when uniscope attaches and about once a second (us_ram_look_again()).
 * It misses VMMs that keep no descriptor of the userfaultfd that serves them
 * (Firecracker and QEMU do keep one).  Of such memory in a file, missing pages read as
 * zeroes.
 */
#ifndef US_VMM_LAZY_RAM_H
#define US_VMM_LAZY_RAM_H

#include "guest/regs.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define US_LAZY_RANGES 256

struct us_lazy_ram {
	struct us_lazy_range {
		us_hva start, end;
	} v[US_LAZY_RANGES];
	unsigned n;
	bool asked;  /* the process has a userfaultfd, so smaps was read */
	bool all;    /* the ranges could not be determined: treat all memory as lazy */
	int pagemap; /* /proc/PID/pagemap if there are any; else -1 */
};

void us_lazy_ram_open(pid_t pid, struct us_lazy_ram *ret);
void us_lazy_ram_close(struct us_lazy_ram *l); /* accepts zeroed memory */

/* Is any byte of [start, end) such memory? */
bool us_lazy_ram_has(const struct us_lazy_ram *l, us_hva start, us_hva end);

#endif
