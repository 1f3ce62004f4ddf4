/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.c: the counter and the timer of the SBI.
 */
#include "machine.h"

#define QEMU_HZ		10000000 /* of the machine "virt" */
#define TIMER_INTERRUPT 32	 /* in sie */

u64 tsc_hz = QEMU_HZ;
u64 tsc_second = QEMU_HZ;

void measure_clocks(void)
{
}

void map_devices(void)
{
}

void timer_init(void)
{
	timer_stop();
}

/* The end of a halt starts it again, of either kind: the next start sets it anew. */
void timer_start(u64 tsc_ticks, enum timer_kind kind)
{
	(void)kind;
	u64 period = tsc_ticks ? tsc_ticks : 1;

	write_csr("sscratch", period); /* for halt_until_interrupt() */
	timer_again(period);
	write_csr("sie", TIMER_INTERRUPT);
}

void timer_stop(void)
{
	write_csr("sie", 0);
}
