/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lazy_ram.h: memory whose pages another program gives when they are asked for.
 *
 * So Firecracker restores a snapshot, crosvm swaps and QEMU ends a migration:
 * userfaultfd(2).  To read a page that is not there would wait for that program, for
 * ever if it does not answer, with a vCPU held meanwhile; and in a memory file the
 * kernel would give us a page of zeroes, which the guest then has in place of its own.
 * So a file is not mapped there, and of the process only pages that are present are
 * read (struct us_region.lazy).
 *
 * Who has a userfaultfd open is asked first, for which memory it serves is told by
 * /proc/PID/smaps alone, for which the kernel goes through all pages of the process.
 * Asked once: memory that such a program takes over later, and a VMM that keeps no
 * descriptor of the userfaultfd that serves it (Firecracker and QEMU do), are missed.
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
	bool all;    /* which ones could not be told: take it that all are */
	int pagemap; /* /proc/PID/pagemap if there are any; else -1 */
};

void us_lazy_ram_open(pid_t pid, struct us_lazy_ram *ret);
void us_lazy_ram_close(struct us_lazy_ram *l); /* accepts zeroed memory */

/* Is any byte of [start, end) such memory? */
bool us_lazy_ram_has(const struct us_lazy_ram *l, us_hva start, us_hva end);

#endif
