/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot_shared.h: data shared by the programs of boot.bpf.c and uniscope: a boot as the
 * host's KVM sees it.
 *
 * Times are CLOCK_MONOTONIC in ns; 0: not seen.
 */
#ifndef US_BACKEND_BPF_BOOT_SHARED_H
#define US_BACKEND_BPF_BOOT_SHARED_H

#ifdef __bpf__
#include "backend/bpf/kernel.bpf.h"
#else
#include <stdbool.h>
#include <stdint.h>
#endif

/* What the guest executes; each phase follows those before it. */
enum us_exit_phase {
	US_EXITS_FIRMWARE, /* from the first instruction on */
	US_EXITS_LOADER,   /* from a disk's first sector on */
	US_EXITS_KERNEL,   /* from the kernel's first instruction on */
	US_N_EXITS,
};

#define US_BOOT_CODES 2048 /* a processor's exit codes: SVM's go to 0x403 */
#define US_BOOT_PORTS 65536
#define US_BOOT_HALTS 4096
#define US_BOOT_PAGES 4096 /* of device memory, in all phases */

/* Where the kernel's code is: the addresses it is linked at and loaded at.  Unused
 * ranges are empty. */
#define US_BOOT_RANGES 8
struct us_boot_code {
	struct {
		uint64_t start, end;
	} range[US_BOOT_RANGES];
};

struct us_boot_seen {
	struct us_boot_code code; /* set by uniscope before the guest starts */
	/* Set by whichever side learns of it first. */
	uint32_t phase; /* enum us_exit_phase */
	uint32_t reserved;

	/* Set by the programs. */
	uint64_t vm_ns, vcpu_ns; /* KVM has created it */
	uint64_t run_ns;	 /* KVM is told to run it for the first time */
	uint64_t entry_ns;	 /* the processor enters the guest */
	uint64_t port_ns;	 /* a byte is sent to the first serial port of a PC */
	/* First access to memory of a device that is neither an interrupt controller
	 * nor a clock. */
	uint64_t device_ns, device_gpa;
	uint64_t kernel_ns; /* the guest is seen in its kernel */
	uint64_t exits[US_N_EXITS][US_BOOT_CODES];
	uint64_t n_exit, n_halt;
	uint64_t halt_ns[US_BOOT_HALTS]; /* the first ones */
	uint8_t line_control, modem_control;
};

struct us_boot_page {
	uint64_t gpa; /* of the page */
	uint64_t phase;
};

#endif
