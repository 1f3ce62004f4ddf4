/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * breakpoints.h: when a guest comes to addresses for the first time, by the GDB stub of
 * its VMM, where no plugin is: under KVM.
 *
 * The VMM waits for us before the guest's first instruction (QEMU's -S).  Breakpoints
 * are the processor's (Z1): nothing is written to the guest's memory.  Each is removed
 * when it was hit, so a boot costs one stop each.  For how long the guest stood is
 * told, and is not the guest's time. Source: "GDB Remote Serial Protocol", appendix E
 * of the GDB manual.
 */
#ifndef US_BOOT_BREAKPOINTS_H
#define US_BOOT_BREAKPOINTS_H

#include "boot/plan.h"

#define US_MAX_BREAKPOINT 4 /* of x86's debug registers */

struct us_boot_breakpoints;

/*
 * Connect to the stub at this path.  -EAGAIN: there is no socket yet.  The VMM must not
 * be waited for by anybody else.
 */
US_MUST_CHECK int us_boot_breakpoints_open(const char *path,
					   struct us_boot_breakpoints **ret,
					   struct us_err *e);
/*
 * Set them for the plan's functions and the kernel's entry, as many as there may be.
 * -ENOTSUP: there are none, or they do not stop the guest, which is tried at its first
 * instruction; it may have run on then.
 */
US_MUST_CHECK int us_boot_breakpoints_set(struct us_boot_breakpoints *b,
					  const struct us_boot_plan *p,
					  struct us_err *e);
/* Let the guest run. */
US_MUST_CHECK int us_boot_breakpoints_go(struct us_boot_breakpoints *b,
					 struct us_err *e);
/* To poll for reading. */
int us_boot_breakpoints_fd(const struct us_boot_breakpoints *b);
/* When the stub answered, and when the guest was let run: CLOCK_MONOTONIC, ns. */
uint64_t us_boot_breakpoints_ready_ns(const struct us_boot_breakpoints *b);
uint64_t us_boot_breakpoints_start_ns(const struct us_boot_breakpoints *b);

struct us_boot_hit {
	size_t point; /* of the plan; SIZE_MAX: the guest stopped for something else */
	uint64_t at_ns; /* when it was heard of */
	uint64_t go_ns; /* when the guest went on */
};
/* There is something to be read.  1: a breakpoint was hit, and the guest goes on; 0:
 * nothing yet; -errno: the stub is gone. */
US_MUST_CHECK int us_boot_breakpoints_hear(struct us_boot_breakpoints *b,
					   struct us_boot_hit *ret, struct us_err *e);
void us_boot_breakpoints_close(struct us_boot_breakpoints *b); /* accepts NULL */

#endif
