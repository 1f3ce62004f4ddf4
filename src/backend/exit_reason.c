/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit_reason.c: see exit_reason.h. */
#include "backend/exit_reason.h"

#include <linux/kvm.h>
#include <stdio.h>

static const char *const reasons[US_N_EXIT] = {
	[US_EXIT_UNKNOWN] = "reason unknown",
	[US_EXIT_INTERRUPT] = "host interrupt",
	[US_EXIT_PORT_IO] = "port I/O",
	[US_EXIT_MEMORY] = "memory or device",
	[US_EXIT_MSR] = "MSR",
	[US_EXIT_CPUID] = "CPUID",
	[US_EXIT_HALT] = "halt",
	[US_EXIT_HYPERCALL] = "hypercall",
	[US_EXIT_CONTROL] = "control register",
	[US_EXIT_EXCEPTION] = "exception",
	[US_EXIT_PAUSE] = "pause",
	[US_EXIT_TLB] = "TLB flush",
	[US_EXIT_WINDOW] = "interrupt window",
	[US_EXIT_TIMER] = "clock read",
	[US_EXIT_END] = "reset or error",
	[US_EXIT_OTHER] = "other",
};

static const char *const places[US_N_PLACE] = {
	[US_PLACE_HYPERVISOR] = "in KVM",
	[US_PLACE_VMM] = "in the VMM",
	[US_PLACE_KERNEL] = "in the host kernel",
};

/* Sorted; each row applies up to the next one. */
struct range {
	uint32_t first;
	uint8_t reason;
};

static const struct range svm[] = {
	{ 0x00, US_EXIT_CONTROL }, /* CR and DR, read and written */
	{ 0x40, US_EXIT_EXCEPTION },
	{ 0x60, US_EXIT_INTERRUPT }, /* INTR, NMI, SMI */
	{ 0x63, US_EXIT_END },	     /* INIT */
	{ 0x64, US_EXIT_WINDOW },
	{ 0x65, US_EXIT_CONTROL }, /* CR0, descriptor tables */
	{ 0x6e, US_EXIT_TIMER },   /* RDTSC */
	{ 0x6f, US_EXIT_OTHER },
	{ 0x72, US_EXIT_CPUID },
	{ 0x73, US_EXIT_OTHER },
	{ 0x77, US_EXIT_PAUSE },
	{ 0x78, US_EXIT_HALT },
	{ 0x79, US_EXIT_TLB }, /* INVLPG, INVLPGA */
	{ 0x7b, US_EXIT_PORT_IO },
	{ 0x7c, US_EXIT_MSR },
	{ 0x7d, US_EXIT_OTHER },
	{ 0x7f, US_EXIT_END }, /* SHUTDOWN */
	{ 0x80, US_EXIT_OTHER },
	{ 0x81, US_EXIT_HYPERCALL },
	{ 0x82, US_EXIT_OTHER },
	{ 0x87, US_EXIT_TIMER }, /* RDTSCP */
	{ 0x88, US_EXIT_OTHER },
	{ 0x8a, US_EXIT_HALT },	   /* MONITOR, MWAIT */
	{ 0x8d, US_EXIT_CONTROL }, /* XSETBV */
	{ 0x8e, US_EXIT_OTHER },
	{ 0x400, US_EXIT_MEMORY }, /* nested page fault */
	{ 0x401, US_EXIT_OTHER },
};

static const struct range vmx[] = {
	{ 0, US_EXIT_EXCEPTION }, /* or an NMI */
	{ 1, US_EXIT_INTERRUPT },
	{ 2, US_EXIT_END }, /* triple fault, INIT, SIPI */
	{ 5, US_EXIT_OTHER },
	{ 7, US_EXIT_WINDOW }, /* for interrupts, for NMIs */
	{ 9, US_EXIT_OTHER },
	{ 10, US_EXIT_CPUID },
	{ 11, US_EXIT_OTHER },
	{ 12, US_EXIT_HALT },
	{ 13, US_EXIT_TLB }, /* INVD, INVLPG */
	{ 15, US_EXIT_OTHER },
	{ 16, US_EXIT_TIMER }, /* RDTSC */
	{ 17, US_EXIT_OTHER },
	{ 18, US_EXIT_HYPERCALL },
	{ 19, US_EXIT_OTHER },	 /* VMX instructions */
	{ 28, US_EXIT_CONTROL }, /* CR and DR */
	{ 30, US_EXIT_PORT_IO },
	{ 31, US_EXIT_MSR }, /* read and written */
	{ 33, US_EXIT_END },
	{ 35, US_EXIT_OTHER },
	{ 36, US_EXIT_HALT }, /* MWAIT */
	{ 37, US_EXIT_OTHER },
	{ 39, US_EXIT_HALT }, /* MONITOR */
	{ 40, US_EXIT_PAUSE },
	{ 41, US_EXIT_END },
	{ 42, US_EXIT_OTHER },
	{ 43, US_EXIT_WINDOW },	 /* the task priority fell below the threshold */
	{ 44, US_EXIT_MEMORY },	 /* APIC access */
	{ 45, US_EXIT_WINDOW },	 /* virtualized end of interrupt */
	{ 46, US_EXIT_CONTROL }, /* descriptor tables */
	{ 48, US_EXIT_MEMORY },	 /* EPT */
	{ 50, US_EXIT_TLB },	 /* INVEPT */
	{ 51, US_EXIT_TIMER },	 /* RDTSCP, and the VMX preemption timer */
	{ 53, US_EXIT_TLB },	 /* INVVPID */
	{ 54, US_EXIT_OTHER },	 /* WBINVD */
	{ 55, US_EXIT_CONTROL }, /* XSETBV */
	{ 56, US_EXIT_MEMORY },	 /* APIC write */
	{ 57, US_EXIT_OTHER },
	{ 58, US_EXIT_TLB }, /* INVPCID */
	{ 59, US_EXIT_OTHER },
};

static enum us_exit_reason look_up(const struct range *table, size_t n, uint32_t code)
{
	uint8_t reason = US_EXIT_OTHER;
	for (size_t i = 0; i < n && table[i].first <= code; i++)
		reason = table[i].reason;
	return (enum us_exit_reason)reason;
}

enum us_exit_reason us_exit_of_svm(uint32_t code)
{
	return look_up(svm, sizeof(svm) / sizeof(*svm), code);
}

enum us_exit_reason us_exit_of_vmx(uint32_t code)
{
	return look_up(vmx, sizeof(vmx) / sizeof(*vmx), code & 0xffff);
}

enum us_exit_reason us_exit_of_arm64(uint32_t esr)
{
	static const uint8_t classes[64] = {
		[0x01] = US_EXIT_HALT,	    /* WFI, WFE */
		[0x07] = US_EXIT_CONTROL,   /* SVE, floating point */
		[0x12] = US_EXIT_HYPERCALL, /* HVC, SMC of 32-bit code */
		[0x13] = US_EXIT_HYPERCALL,
		[0x16] = US_EXIT_HYPERCALL, /* HVC, SMC */
		[0x17] = US_EXIT_HYPERCALL,
		[0x18] = US_EXIT_MSR,
		[0x19] = US_EXIT_CONTROL,
		[0x20] = US_EXIT_MEMORY,    /* instruction abort */
		[0x24] = US_EXIT_MEMORY,    /* data abort */
		[0x30] = US_EXIT_EXCEPTION, /* debug: breakpoint, step, watchpoint */
		[0x32] = US_EXIT_EXCEPTION,
		[0x34] = US_EXIT_EXCEPTION,
		[0x38] = US_EXIT_EXCEPTION,
		[0x3c] = US_EXIT_EXCEPTION,
	};
	uint8_t reason = classes[esr >> 26 & 63];
	return reason ? (enum us_exit_reason)reason : US_EXIT_OTHER;
}

enum us_exit_reason us_exit_of_kvm(uint32_t code)
{
	static const uint8_t of[] = {
		[KVM_EXIT_EXCEPTION] = US_EXIT_EXCEPTION,
		[KVM_EXIT_IO] = US_EXIT_PORT_IO,
		[KVM_EXIT_HYPERCALL] = US_EXIT_HYPERCALL,
		[KVM_EXIT_DEBUG] = US_EXIT_EXCEPTION,
		[KVM_EXIT_HLT] = US_EXIT_HALT,
		[KVM_EXIT_MMIO] = US_EXIT_MEMORY,
		[KVM_EXIT_IRQ_WINDOW_OPEN] = US_EXIT_WINDOW,
		[KVM_EXIT_SHUTDOWN] = US_EXIT_END,
		[KVM_EXIT_FAIL_ENTRY] = US_EXIT_END,
		[KVM_EXIT_INTR] = US_EXIT_INTERRUPT,
		[KVM_EXIT_INTERNAL_ERROR] = US_EXIT_END,
		[KVM_EXIT_SYSTEM_EVENT] = US_EXIT_END,
		[KVM_EXIT_IOAPIC_EOI] = US_EXIT_WINDOW,
		[KVM_EXIT_X86_RDMSR] = US_EXIT_MSR,
		[KVM_EXIT_X86_WRMSR] = US_EXIT_MSR,
	};
	if (code == KVM_EXIT_UNKNOWN)
		return US_EXIT_UNKNOWN;
	return code < sizeof(of) && of[code] ? (enum us_exit_reason)of[code]
					     : US_EXIT_OTHER;
}

bool us_exit_parts(uint64_t code, unsigned *ret_reason, unsigned *ret_place)
{
	unsigned reason = code >> 8 & 0xff, place = code & 0xff;
	if (code >> 16 != 1 || reason >= US_N_EXIT || place >= US_N_PLACE)
		return false;
	*ret_reason = reason;
	*ret_place = place;
	return true;
}

const char *us_exit_reason_name(enum us_exit_reason reason)
{
	return reasons[reason];
}

bool us_exit_words(uint64_t code, char *dst, size_t size)
{
	unsigned reason, place;
	if (!us_exit_parts(code, &reason, &place))
		return false;
	snprintf(dst, size, "%s, %s", reasons[reason], places[place]);
	return true;
}
