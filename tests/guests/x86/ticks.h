/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticks.h: interrupts that are taken, of a timer: counted.c. */
#ifndef GUEST_TICKS_H
#define GUEST_TICKS_H

#include "x86.h"

void tick_entry(void); /* where they enter */

HIDDEN void ticks_begin(u32 hz)
{
	timer_start(tsc_second / hz, TIMER_PERIODIC);
	__asm__ volatile("sti" ::: "memory");
}

HIDDEN void tick_done(void)
{
	timer_eoi();
}

HIDDEN void ticks_end(void)
{
	__asm__ volatile("cli" ::: "memory");
	timer_stop();
}

HIDDEN NORETURN void stand_still(void)
{
	for (;;)
		__asm__ volatile("cli\n\thlt" ::: "memory");
}

#endif
