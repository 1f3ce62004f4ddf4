/* SPDX-License-Identifier: GPL-2.0-or-later */
/* user.c: the program of the guest ring3. */
#include "ring3.h"
#include "cpu.h"

NORETURN void user_main(u64 vcpu, u64 unit);

__asm__(".section .text.first, \"ax\"\n"
	".globl user_start\n"
	".type user_start, @function\n"
	"user_start:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"	xorl %ebp, %ebp\n"
	"	call user_main\n"
	"	ud2\n"
	".cfi_endproc\n"
	".size user_start, . - user_start\n"
	".text\n");

VISIBLE u64 mix(u64 x, u64 n)
{
	WITH_FRAME();
	for (u64 i = 0; i < n; i++)
		keep(x = x * 3 + i);
	return x;
}

/* Keeps something on its stack over the call. */
VISIBLE u64 compute(u64 n)
{
	volatile u64 before[5] = { n };

	return mix(n, 2 * n) + before[0];
}

VISIBLE void by_syscall(u64 call, u64 arg)
{
	WITH_FRAME();
	__asm__ volatile("syscall"
			 : "+a"(call), "+D"(arg)::"rcx", "r11", "rsi", "rdx", "r8",
			   "r9", "r10", "memory");
}

VISIBLE void by_gate(u64 call, u64 arg)
{
	WITH_FRAME();
	__asm__ volatile("int %1" : "+a"(call) : "i"(GATE_VECTOR), "D"(arg) : "memory");
}

VISIBLE void touch(u64 vcpu)
{
	WITH_FRAME();
	*(volatile u64 *)(USER_PAGE + vcpu * USER_SLOT) = vcpu;
}

#ifdef STATES_CALLS
/* So many of each that their numbers differ. */
NORETURN void user_main(u64 vcpu, u64 unit)
{
	for (u64 i = 0; i < N_ROUND; i++) {
		by_syscall(CALL_SUM + i % N_SUM, i);
		if (i % 3 == 0)
			by_gate(CALL_GATE, i);
		if (i % 7 == 0)
			by_syscall(1000 + i, i);
		if (i % 16 == 0)
			by_syscall(CALL_WORK, i);
		touch(vcpu);
		if (i % 11 == 0)
			by_syscall(CALL_UNMAP, i);
	}
	by_syscall(CALL_STATE, 0);
	for (;;)
		keep(compute(unit));
}
#else
NORETURN void user_main(u64 vcpu, u64 unit)
{
	for (u64 i = 0;; i++) {
		keep(compute(unit));
		by_syscall(CALL_WORK, i);
		by_gate(CALL_WORK, i);
		touch(vcpu);
		by_syscall(CALL_UNMAP, 0);
		by_syscall(CALL_REPORT, 0);
	}
}
#endif
