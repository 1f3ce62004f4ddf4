/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86.h: what only guests for x86-64 have.
 */
#ifndef GUEST_X86_H
#define GUEST_X86_H

#include "machine.h"

/* An entry on stack ist of the task segment (0: as ever), that programs may call. */
void set_entry(u32 vector, u64 handler, u32 ist, bool user);
void guest_gates(void); /* the guest's own: calls set_entry() */

void timer_eoi(void);
void measure_tsc(void); /* a part of measure_clocks() */
void lapic_start_others(void);

#endif
