/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trampoline_user.c: the program of the guest trampoline. */
#include "cpu.h"
#include "trampoline.h"

NORETURN void user_main(u64 unit);

__asm__(".section .text.first, \"ax\"\n"
	".globl user_start\n"
	".type user_start, @function\n"
	"user_start:\n"
	".cfi_startproc\n" PROGRAM_START ".cfi_endproc\n"
	".size user_start, . - user_start\n"
	".text\n");

VISIBLE u64 compute(u64 n)
{
	u64 x = n;

	WITH_FRAME();
	for (u64 i = 0; i < n; i++)
		keep(x = x * 3 + i);
	return x;
}

VISIBLE void call_kernel(u64 call)
{
	register u64 number __asm__(CALL_REGISTER) = call;

	WITH_FRAME();
	__asm__ volatile(CALL_INSTRUCTION : "+r"(number)::CALL_DESTROYS);
}

/* From another place, and deeper: what is taken for the one is not the other. */
VISIBLE void call_deeper(u64 call)
{
	register u64 number __asm__(CALL_REGISTER) = call;

	WITH_FRAME();
	__asm__ volatile(CALL_INSTRUCTION : "+r"(number)::CALL_DESTROYS);
}

VISIBLE void go_deeper(u64 call)
{
	WITH_FRAME();
	call_deeper(call);
}

NORETURN void user_main(u64 unit)
{
	for (;;) {
		keep(compute(unit));
		call_kernel(CALL_WORK);
		go_deeper(CALL_WORK);
		call_kernel(CALL_REPORT);
	}
}
