/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * others.c: starts the other vCPUs.
 */
#include "x86.h"

#define FW_CFG_SELECT	 0x510
#define FW_CFG_DATA	 0x511
#define FW_CFG_SIGNATURE 0
#define FW_CFG_NB_CPUS	 5

extern char startup_code[], startup_code_end[];

/* QEMU tells how many vCPUs there are; 0 if this is not QEMU. */
static u32 qemu_vcpu_count(void)
{
	u32 count;

	out16(FW_CFG_SELECT, FW_CFG_SIGNATURE);
	for (const char *s = "QEMU"; *s; s++)
		if (in8(FW_CFG_DATA) != (u8)*s)
			return 0;
	out16(FW_CFG_SELECT, FW_CFG_NB_CPUS);
	count = in8(FW_CFG_DATA);
	return count | (u32)in8(FW_CFG_DATA) << 8;
}

u32 start_other_vcpus(void)
{
	u32 expected = qemu_vcpu_count();
	volatile char *to = (volatile char *)TRAMPOLINE_GPA;

	if (expected == 1)
		return 1;
	for (const char *from = startup_code; from < startup_code_end; from++)
		*to++ = *from;
	lapic_start_others();
	return expected;
}
