/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exit_reason.h: why a vCPU left its guest, independent of the processor's own codes,
 * and where the host handled it.
 */
#ifndef US_BACKEND_EXIT_REASON_H
#define US_BACKEND_EXIT_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored in files: append only. */
enum us_exit_reason {
	US_EXIT_UNKNOWN,
	US_EXIT_INTERRUPT, /* for the host: its timer, its devices */
	US_EXIT_PORT_IO,
	US_EXIT_MEMORY, /* a memory-mapped device, or a page that the host has to
			   provide */
	US_EXIT_MSR,
	US_EXIT_CPUID,
	US_EXIT_HALT,
	US_EXIT_HYPERCALL,
	US_EXIT_CONTROL,   /* a control or debug register */
	US_EXIT_EXCEPTION, /* an exception of the guest; with shadow paging its page
			      faults */
	US_EXIT_PAUSE,	   /* the guest spins */
	US_EXIT_TLB,	   /* the guest invalidates translations */
	US_EXIT_WINDOW,	   /* the guest can now take a pending interrupt */
	US_EXIT_TIMER,	   /* the guest reads a clock */
	US_EXIT_END,	   /* reset, shutdown, an error */
	US_EXIT_OTHER,
	US_N_EXIT,
};

/* Stored in files: append only. */
enum us_exit_place {
	US_PLACE_HYPERVISOR, /* KVM */
	US_PLACE_VMM,	     /* the VMM's program */
	US_PLACE_KERNEL,     /* the host's kernel, called by the VMM */
	US_N_PLACE,
};

/* An exit as one number, for storage.  It is never 0: 0 means no exit. */
static inline uint32_t us_vm_exit_code(enum us_exit_reason reason,
				       enum us_exit_place place)
{
	return 1U << 16 | (uint32_t)reason << 8 | (uint32_t)place;
}

/* From AMD's exit code (APM volume 2, appendix C). */
enum us_exit_reason us_exit_of_svm(uint32_t code);
/* From Intel's exit reason (SDM volume 3, appendix C), with or without its flags. */
enum us_exit_reason us_exit_of_vmx(uint32_t code);
/* From Arm's exception class, in ESR_EL2 (Arm ARM D17.2.37). */
enum us_exit_reason us_exit_of_arm64(uint32_t esr);
/* From the reason that KVM gives the VMM (include/uapi/linux/kvm.h, KVM_EXIT_...). */
enum us_exit_reason us_exit_of_kvm(uint32_t code);

/* Split a us_vm_exit_code(); false: code is none. */
bool us_exit_parts(uint64_t code, unsigned *ret_reason, unsigned *ret_place);

const char *us_exit_reason_name(enum us_exit_reason reason); /* "port I/O" */

/* "port I/O, in the VMM"; false: code is no us_vm_exit_code(). */
bool us_exit_words(uint64_t code, char *dst, size_t size);

#endif
