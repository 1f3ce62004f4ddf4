/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exit_reason.h: what a vCPU left its guest for, whatever the processor calls it, and
 * where it was handled.
 */
#ifndef US_BACKEND_EXIT_REASON_H
#define US_BACKEND_EXIT_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored in files: append only. */
enum us_exit_reason {
	US_EXIT_UNKNOWN,
	US_EXIT_INTERRUPT, /* the host's own: its timer, its devices */
	US_EXIT_PORT_IO,
	US_EXIT_MEMORY, /* a device in memory, or a page that the host has to bring */
	US_EXIT_MSR,
	US_EXIT_CPUID,
	US_EXIT_HALT,
	US_EXIT_HYPERCALL,
	US_EXIT_CONTROL,   /* a control or debug register */
	US_EXIT_EXCEPTION, /* of the guest; under shadow paging its page faults */
	US_EXIT_PAUSE,	   /* it spins */
	US_EXIT_TLB,	   /* it drops translations */
	US_EXIT_WINDOW,	   /* it can take an interrupt that was due */
	US_EXIT_TIMER,	   /* it reads a clock */
	US_EXIT_END,	   /* reset, shutdown, an error */
	US_EXIT_OTHER,
	US_N_EXIT,
};

/* Stored in files: append only. */
enum us_exit_place {
	US_PLACE_HYPERVISOR, /* KVM */
	US_PLACE_VMM,	     /* its program */
	US_PLACE_KERNEL,     /* the host's kernel, for the VMM */
	US_N_PLACE,
};

/* Of an exit, as a number that is stored; 0: it is none. */
static inline uint32_t us_vm_exit_code(enum us_exit_reason reason,
				       enum us_exit_place place)
{
	return 1U << 16 | (uint32_t)reason << 8 | (uint32_t)place;
}

/* By AMD's numbers (APM volume 2, appendix C). */
enum us_exit_reason us_exit_of_svm(uint32_t code);
/* By Intel's (SDM volume 3, appendix C), with or without its flags. */
enum us_exit_reason us_exit_of_vmx(uint32_t code);
/* By Arm's, as in ESR_EL2 (Arm ARM D17.2.37). */
enum us_exit_reason us_exit_of_arm64(uint32_t esr);
/* By KVM's, for the VMM (include/uapi/linux/kvm.h, KVM_EXIT_...). */
enum us_exit_reason us_exit_of_kvm(uint32_t code);

/* The two of such a number; false: it is none. */
bool us_exit_parts(uint64_t code, unsigned *ret_reason, unsigned *ret_place);

const char *us_exit_reason_name(enum us_exit_reason reason); /* "port I/O" */

/* "port I/O, in the VMM"; false: it is no such number. */
bool us_exit_words(uint64_t code, char *dst, size_t size);

#endif
