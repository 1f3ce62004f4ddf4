/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/boot/before.h: how much earlier than in the sample that shows it a function may
 * have been called.
 *
 * The sample before says little: a short function may have been called and have
 * returned between any two samples.  Certain is only that the kernel's functions had
 * not run in the samples before the first with the kernel on a stack.
 */
#ifndef US_CMD_BOOT_BEFORE_H
#define US_CMD_BOOT_BEFORE_H

#include "backend/bpf/boot_shared.h"
#include "vmm/guest_list.h"

struct us_boot_before {
	struct us_boot_code kernel;
	uint64_t last_ns[US_MAX_VCPUS]; /* each vCPU's sample before; 0: none */
	uint64_t firmware_ns;		/* the last sample before the kernel's first; 0:
					   none */
	bool entered;			/* the kernel was seen */
};

struct us_boot_error {
	uint64_t ns;	   /* it may have been called so much earlier */
	uint64_t first_ns; /* if the call that is seen is its first; 0: not known */
};

/* Is this address in the kernel's code? */
bool us_boot_before_is_kernel(const struct us_boot_before *b, uint64_t pc);
/* Call it for each sample, first: has_kernel: the kernel is on its stack. */
void us_boot_before_begin(struct us_boot_before *b, unsigned vcpu, bool has_kernel);
/* The error of code at this address (0: the kernel's entry), which this sample shows
 * for the first time.  UINT64_MAX: it may have run as soon as the guest. */
struct us_boot_error us_boot_before_error(const struct us_boot_before *b, unsigned vcpu,
					  uint64_t now_ns, uint64_t address);
/* Call it for each sample, last. */
void us_boot_before_end(struct us_boot_before *b, unsigned vcpu, uint64_t now_ns);

#endif
