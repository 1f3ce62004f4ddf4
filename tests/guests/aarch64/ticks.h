/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticks.h: interrupts that are taken, of a timer: counted.c. */
#ifndef GUEST_TICKS_H
#define GUEST_TICKS_H

#include "machine.h"

extern char tick_vectors[]; /* where they enter */

HIDDEN void ticks_begin(u32 hz)
{
	write_system_register("vbar_el1", tick_vectors);
	synchronize();
	timer_start(tsc_second / hz, TIMER_PERIODIC);
	__asm__ volatile("msr daifclr, #2" ::: "memory");
}

HIDDEN void tick_done(void)
{
	u32 interrupt = gic_acknowledge();

	timer_again(read_system_register("tpidr_el1"));
	gic_end(interrupt);
}

HIDDEN void ticks_end(void)
{
	__asm__ volatile("msr daifset, #2" ::: "memory");
	timer_stop();
}

HIDDEN NORETURN void stand_still(void)
{
	for (;;)
		__asm__ volatile("wfi" ::: "memory");
}

#endif
