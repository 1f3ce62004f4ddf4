/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * device_trace.h: when a guest uses a virtio device, from QEMU's own trace (-trace
 * virtio_set_status).  A driver sets the device's status (Virtual I/O Device 1.2,
 * 3.1.1), with any transport and any accelerator.
 *
 * The trace goes to a named pipe, so that it arrives at once.  QEMU waits until
 * somebody reads the pipe: open it before QEMU starts.
 *
 * QEMU's log (-d exec,in_asm -dfilter) goes there too: a line for each executed block
 * of code that begins at one of the requested addresses, and before it, when the block
 * was translated, its instructions.  QEMU writes the line when it executes a block that
 * others do not jump to directly yet, which includes the first time.  QEMU has to check
 * the addresses of blocks for this; docs/boot.md has the cost.
 */
#ifndef US_BOOT_DEVICE_TRACE_H
#define US_BOOT_DEVICE_TRACE_H

#include "base/err.h"
#include "vmm/plugin_boot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_BOOT_TRACE_EVENT "virtio_set_status"
#define US_BOOT_RESET_X86   0xfffffff0 /* where x86's first block begins */

/* The first bytes of a block of code. */
struct us_boot_block {
	uint64_t pc;
	uint8_t code[US_WATCH_CODE];
	size_t n; /* 0: not known */
};
#define US_BOOT_BLOCKS 64 /* that are remembered; there are as many addresses */

struct us_boot_trace {
	int fd; /* to poll for reading; -1: none */
	char line[128];
	size_t n;
	/* Time of the last use from QEMU (-msg timestamp=on: CLOCK_REALTIME); 0: not
	 * given. */
	uint64_t real_ns;
	/* A block was executed; NULL: not wanted. */
	void (*executed)(void *ctx, const struct us_boot_block *b);
	void *ctx;
	/* Those that were translated last; begins: the next line of code is the first
	 * of a block. */
	struct us_boot_block block[US_BOOT_BLOCKS];
	size_t n_block, current;
	bool begins;
};

/* Create the pipe at this path.  If `executed` is wanted, set it afterwards. */
US_MUST_CHECK int us_boot_trace_open(struct us_boot_trace *t, const char *path,
				     struct us_err *e);
/* Read from the pipe.  True: a device was given a status other than 0 (its status is 0
 * initially and after a reset).  *ret_ns: when (CLOCK_MONOTONIC), from QEMU's own time
 * if given, because we may read late. */
bool us_boot_trace_hear(struct us_boot_trace *t, uint64_t *ret_ns);
/* The same for these bytes; also false for lines of another kind. */
bool us_boot_trace_bytes(struct us_boot_trace *t, const char *bytes, size_t n);
void us_boot_trace_close(struct us_boot_trace *t);

#endif
