/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * breakpoints.h: when a guest reaches addresses for the first time, through the GDB
 * stub of its VMM.  It is for KVM, where the plugin cannot be used.
 *
 * The VMM waits for us before the guest's first instruction (QEMU's -S).  The
 * breakpoints are the processor's (Z1), so nothing is written to the guest's memory.
 * Each is removed when it was hit, so that it costs one stop per boot.  Where another
 * code is at the address (a loader's, such as GRUB's at 1 MiB), it stays, for up to 64
 * stops.  The time for which the guest stood still is reported, and does not count as
 * the guest's.  Source:
 * "GDB Remote Serial Protocol", appendix E of the GDB manual.
 */
#ifndef US_BOOT_BREAKPOINTS_H
#define US_BOOT_BREAKPOINTS_H

#include "boot/plan.h"

#define US_MAX_BREAKPOINT	 4  /* number of x86's debug registers */
#define US_BREAKPOINT_MAX_LOADER 64 /* stops in a loader, at one breakpoint */
#define US_BREAKPOINT_MAX_FALSE	 16 /* stops at no breakpoint */
/* The most stops of one boot. */
#define US_BREAKPOINT_MAX_STOP                                                         \
	(US_MAX_BREAKPOINT * US_BREAKPOINT_MAX_LOADER + US_BREAKPOINT_MAX_FALSE)

struct us_boot_breakpoints;

/*
 * Connect to the stub at this path.  -EAGAIN: there is no socket yet.  Nobody else may
 * be waiting for the VMM.
 */
US_MUST_CHECK int us_boot_breakpoints_open(const char *path,
					   struct us_boot_breakpoints **ret,
					   struct us_err *e);
/*
 * Set breakpoints for the plan's functions and the kernel's entry, as many as are
 * available.  -ENOTSUP: none are available, or they do not stop the guest.  This is
 * tried at the guest's first instruction, so the guest may be running by then.
 */
US_MUST_CHECK int us_boot_breakpoints_set(struct us_boot_breakpoints *b,
					  const struct us_boot_plan *p,
					  struct us_err *e);
/* Let the guest run. */
US_MUST_CHECK int us_boot_breakpoints_go(struct us_boot_breakpoints *b,
					 struct us_err *e);
/* The file descriptor to poll for reading. */
int us_boot_breakpoints_fd(const struct us_boot_breakpoints *b);
/* When the stub answered, and when the guest was started: CLOCK_MONOTONIC, ns. */
uint64_t us_boot_breakpoints_ready_ns(const struct us_boot_breakpoints *b);
uint64_t us_boot_breakpoints_start_ns(const struct us_boot_breakpoints *b);

struct us_boot_hit {
	size_t point; /* of the plan; SIZE_MAX: the guest stopped for another reason */
	uint64_t at_ns; /* when the stop was received */
	uint64_t go_ns; /* when the guest was resumed */
};
/* Read from the stub.  1: a breakpoint was hit, and the guest was resumed; 0: nothing
 * yet; -errno: the stub is gone. */
US_MUST_CHECK int us_boot_breakpoints_hear(struct us_boot_breakpoints *b,
					   struct us_boot_hit *ret, struct us_err *e);
void us_boot_breakpoints_close(struct us_boot_breakpoints *b); /* accepts NULL */

#endif
