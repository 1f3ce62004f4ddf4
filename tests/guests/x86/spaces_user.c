/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spaces_user.c: the program of the guest spaces, which runs twice, in two address
 * spaces: each has its own way through the same functions, with stacks that differ.
 */
#include "spaces.h"

#define COUNT(name) (((struct spaces_counts *)USER_PAGE)->name++)

NORETURN void user_main(u64 program);
void swap(u64 *save, u64 load);

/* Two stacks of one program: where the other one is. */
#define OTHER_STACK ((u64 *)(USER_PAGE + 2048))

__asm__(".section .text.first, \"ax\"\n"
	".globl user_start\n"
	".type user_start, @function\n"
	"user_start:\n"
	"	xorl %ebp, %ebp\n"
	"	call user_main\n"
	"	ud2\n"
	".size user_start, . - user_start\n"
	".text\n"
	/* As switch_context(). */
	".globl swap\n"
	".type swap, @function\n"
	"swap:\n"
	"	incq 0x30000000 + 7 * 8\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size swap, . - swap\n");

_Static_assert(USER_PAGE == 0x30000000 &&
		       __builtin_offsetof(struct spaces_counts, swap) == 7 * 8,
	       "swap counts itself");

VISIBLE void by_gate(u64 call)
{
	COUNT(by_gate);
	__asm__ volatile("int %1" : "+a"(call) : "i"(GATE_VECTOR) : "memory");
}

VISIBLE void leaf(u64 n)
{
	COUNT(leaf);
	for (u64 i = 0; i < 20; i++)
		keep(n = n * 3 + i);
}

/* At any depth, the other program comes. */
VISIBLE void nest(u64 depth, u64 yields)
{
	COUNT(nest);
	if (depth)
		nest(depth - 1, yields);
	else if (yields)
		by_gate(CALL_YIELD);
	leaf(depth);
}

VISIBLE void first_work(u64 round)
{
	COUNT(first_work);
	nest(round % 5, round % 2);
	keep(round);
}

VISIBLE void second_work(u64 round)
{
	COUNT(second_work);
	for (u64 i = 0; i < 3; i++)
		nest(round % 7, i == round % 3);
	keep(round);
}

HIDDEN void change_stack(void)
{
	u64 *other = OTHER_STACK;

	swap(other, *other);
}

VISIBLE void first_turn(u64 round)
{
	COUNT(first_turn);
	nest(round % 3, round % 4 == 0);
	keep(round);
}

VISIBLE void second_turn(u64 round)
{
	COUNT(second_turn);
	leaf(round);
	by_gate(CALL_YIELD);
	keep(round);
}

VISIBLE NORETURN void first_thread(void)
{
	for (u64 i = 0;; i++) {
		first_turn(i);
		change_stack();
	}
}

VISIBLE NORETURN void second_thread(void)
{
	for (u64 i = 0;; i++) {
		second_turn(i);
		change_stack();
	}
}

HIDDEN void begin_thread(void (*function)(void))
{
	u64 *top = (u64 *)USER_THREAD;

	*--top = 0; /* aligned as the ABI wants it */
	*--top = (u64)function;
	top -= 3;
	*OTHER_STACK = (u64)top;
}

VISIBLE void first(void)
{
	begin_thread(first_thread);
	for (u64 i = 0; i < SPACES_ROUND; i++) {
		first_work(i);
		if (i % 3 == 0)
			change_stack();
	}
	by_gate(CALL_DONE);
}

VISIBLE void second(void)
{
	begin_thread(second_thread);
	for (u64 i = 0; i < SPACES_ROUND; i++) {
		second_work(i);
		if (i % 5 == 0)
			change_stack();
	}
	by_gate(CALL_DONE);
}

NORETURN void user_main(u64 program)
{
	if (program)
		second();
	else
		first();
	for (;;)
		;
}
