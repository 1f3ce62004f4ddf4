/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reset.h: reset the machine.
 */
#ifndef GUEST_RESET_H
#define GUEST_RESET_H

#include "machine.h"

#define KEYBOARD_STATUS 0x64
#define KEYBOARD_RESET	0xfe
#define RESET_CONTROL	0xcf9

HIDDEN void wait(u64 ticks)
{
	for (u64 end = read_tsc() + ticks; read_tsc() < end;)
		relax();
}

/* By the keyboard controller, by the chipset, and where there is neither (microvm), by
 * a fault that cannot be delivered. */
HIDDEN void reset_now(void)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) nothing = { 0, 0 };

	out8(KEYBOARD_STATUS, KEYBOARD_RESET);
	wait(tsc_second / 10);
	out8(RESET_CONTROL, 6);
	wait(tsc_second / 10);
	__asm__ volatile("lidt %0\n\tud2" ::"m"(nothing));
}

#endif
