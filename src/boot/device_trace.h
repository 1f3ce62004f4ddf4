/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * device_trace.h: when a guest uses a virtio device, as QEMU tells it in its own trace
 * (-trace virtio_set_status): its driver sets the device's status (Virtual I/O Device
 * 1.2, 3.1.1), whatever the transport is, and whoever runs the guest.
 *
 * A named pipe takes it, so that it is heard at once.  QEMU waits until somebody reads
 * there: it is to be opened before QEMU starts.
 *
 * QEMU's log (-d exec -dfilter) goes there, too: a line for a block of code that is
 * executed and begins at one of the addresses that are asked for.  It is written where
 * a block is executed that others do not lead to directly yet, as the first time.  QEMU
 * asks itself there whether it is such an address; docs/boot.md has what that costs.
 */
#ifndef US_BOOT_DEVICE_TRACE_H
#define US_BOOT_DEVICE_TRACE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_BOOT_TRACE_EVENT "virtio_set_status"
#define US_BOOT_RESET_X86   0xfffffff0 /* where its first block begins */

struct us_boot_trace {
	int fd; /* to poll for reading; -1: there is none */
	char line[128];
	size_t n;
	uint64_t real_ns; /* of the last use, as QEMU says (-msg timestamp=on:
			     CLOCK_REALTIME); 0: it does not */
	/* A block was executed that begins there; NULL: that is not wanted. */
	void (*executed)(void *ctx, uint64_t pc);
	void *ctx;
};

/* Make the pipe at this path; executed is set then, if it is wanted. */
US_MUST_CHECK int us_boot_trace_open(struct us_boot_trace *t, const char *path,
				     struct us_err *e);
/* There is something to be read.  True: a device was given a status that is not 0, with
 * which it begins, and is reset.  *ret_ns: when (CLOCK_MONOTONIC), by QEMU's own time
 * if it tells that, for we may be late. */
bool us_boot_trace_hear(struct us_boot_trace *t, uint64_t *ret_ns);
/* The same of these bytes; false, too, of what is no such line. */
bool us_boot_trace_bytes(struct us_boot_trace *t, const char *bytes, size_t n);
void us_boot_trace_close(struct us_boot_trace *t);

#endif
