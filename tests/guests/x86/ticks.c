/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticks.c: the gate of ticks.h. */
#include "table.h"
#include "ticks.h"

void guest_gates(void)
{
#ifdef TABLE
	const u32 used[] = { TIMER_VECTOR, TRAP_VECTOR };

	for (u32 i = 0; i < ARRAY_LEN(used); i++)
		set_entry(used[i], (u64)tick_entry + used[i] * TABLE_STRIDE, 0, false);
#else
	set_entry(TIMER_VECTOR, (u64)tick_entry, 0, false);
#endif
}
