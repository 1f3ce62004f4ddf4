/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticks.c: the gate of ticks.h. */
#include "ticks.h"

void guest_gates(void)
{
	set_entry(TIMER_VECTOR, (u64)tick_entry, 0, false);
}
