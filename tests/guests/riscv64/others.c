/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * others.c: starts the other vCPUs.  Any of them may be the first to run.
 */
#include "machine.h"

u32 start_other_vcpus(void)
{
	extern char start_other[];
	extern u64 boot_hart;
	u32 count = 1;

	for (u64 hart = 0; hart < MAX_VCPUS; hart++)
		if (hart != boot_hart &&
		    sbi_call(SBI_HART_STATE, 0, hart, gpa_of(start_other), 0) == 0)
			count++;
	return count;
}
