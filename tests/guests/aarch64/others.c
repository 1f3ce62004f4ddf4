/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * others.c: starts the other vCPUs.
 */
#include "firmware.h"
#include "machine.h"

u32 start_other_vcpus(void)
{
	extern char start_other[];
	u64 own = read_system_register("mpidr_el1") & 0xffffff;
	u32 count = 1;

	for (u64 number = 1; number < MAX_VCPUS; number++)
		if (psci_call(PSCI_CPU_ON, own + number, gpa_of(start_other), 0) == 0)
			count++;
	return count;
}
