/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firmware.h: calls of what is below the guest (PSCI, DEN 0022).
 */
#ifndef GUEST_FIRMWARE_H
#define GUEST_FIRMWARE_H

#include "cpu.h"

#define PSCI_CPU_ON	  0xc4000003
#define PSCI_SYSTEM_RESET 0x84000009
#define LEVEL_2		  8

extern u64 boot_level; /* CurrentEL, when the boot vCPU started */

/* A guest that had EL2 for itself has to call what is above that. */
HIDDEN u64 psci_call(u64 function, u64 a, u64 b, u64 c)
{
	register u64 x0 __asm__("x0") = function;
	register u64 x1 __asm__("x1") = a;
	register u64 x2 __asm__("x2") = b;
	register u64 x3 __asm__("x3") = c;

#define PSCI_ASM(call)                                                                 \
	__asm__ volatile(call                                                          \
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"x4", "x5", "x6",   \
			   "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", \
			   "x16", "x17", "memory")
	if (boot_level == LEVEL_2)
		PSCI_ASM("smc #0");
	else
		PSCI_ASM("hvc #0");
	return x0;
}

#endif
