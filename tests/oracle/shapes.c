/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shapes.c: a guest of the code shapes at which unwinders go wrong (those of the unit
 * test's stepped.c: stacks aligned anew, alloca, early ways out, tail calls, jump
 * tables, threads), interrupted all the time, anywhere.  Two entries take turns: one
 * with rules for its frame, and one without, as in most kernels.
 */
#define STACK_ALIGN 4096 /* more would leave a hole in the file */
#include "../unit/stepped.c"

#include "x86.h"

#define TICKS_A_SECOND 1000
#define TICK_WORK      600

void entry_with_table(void);
void entry_without_table(void);
void tick(void);

static u64 ticks;

static VISIBLE u64 tick_leaf(u64 x)
{
	return x * 3 + 1;
}

static VISIBLE u64 tick_work(u64 n)
{
	u64 x = n;

	for (u64 i = 0; i < n; i++)
		x = tick_leaf(x);
	return x;
}

/* Interrupts are off. */
void tick(void)
{
	keep(tick_work(TICK_WORK));
	u64 entry = (u64)(++ticks & 1 ? entry_with_table : entry_without_table);
	set_entry(TIMER_VECTOR, entry, 0, false);
	*(volatile u32 *)(LAPIC_BASE + LAPIC_EOI) = 0;
}

void guest_setup(void)
{
}

NORETURN void kmain(u32 vcpu)
{
	(void)vcpu;
	zero = 1; /* program() returns */
	set_entry(TIMER_VECTOR, (u64)entry_with_table, 0, false);
	timer_start(tsc_second / TICKS_A_SECOND, TIMER_PERIODIC);
	__asm__ volatile("sti");
	for (;;)
		program();
}
