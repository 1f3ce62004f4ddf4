/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticks.h: interrupts that are taken, of a timer: counted.c. */
#ifndef GUEST_TICKS_H
#define GUEST_TICKS_H

#include "machine.h"

#define SSTATUS_SIE 2

void tick_entry(void); /* where they enter */

HIDDEN void ticks_begin(u32 hz)
{
	write_csr("stvec", tick_entry);
	timer_start(tsc_second / hz, TIMER_PERIODIC);
	__asm__ volatile("csrs sstatus, %0" ::"r"(SSTATUS_SIE) : "memory");
}

HIDDEN void tick_done(void)
{
	timer_again(read_csr("sscratch"));
}

HIDDEN void ticks_end(void)
{
	__asm__ volatile("csrc sstatus, %0" ::"r"(SSTATUS_SIE) : "memory");
	timer_stop();
}

HIDDEN NORETURN void stand_still(void)
{
	for (;;)
		__asm__ volatile("wfi" ::: "memory");
}

#endif
