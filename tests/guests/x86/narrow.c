/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * narrow.c: what a 32-bit guest finds ready when its kmain() runs: one vCPU, a clock,
 * the serial port.
 */
#include "x86.h"

extern char image_base[]; /* its address: gva of gpa 0 */

u32 vcpu_count = 1;

u64 gpa_of(const volatile void *image_object)
{
	return (u32)image_object - (u32)image_base;
}

NORETURN void boot_main(void)
{
	console_init();
	measure_tsc();
	guest_setup();
	print_line("READY vcpus=1");
	start_vcpu(0);
}

/* The compiler asks for these where 32-bit code divides 64-bit numbers: bit by bit, it
 * does so before READY only. */
u64 __udivdi3(u64 a, u64 b);
u64 __umoddi3(u64 a, u64 b);

u64 __udivdi3(u64 a, u64 b)
{
	u64 rest = 0, result = 0;

	for (u32 i = 0; i < 64; i++) {
		bool carry = rest >> 63;

		rest = rest << 1 | a >> 63;
		a <<= 1;
		result <<= 1;
		if (carry || rest >= b) {
			rest -= b;
			result |= 1;
		}
	}
	return result;
}

u64 __umoddi3(u64 a, u64 b)
{
	return a - __udivdi3(a, b) * b;
}
