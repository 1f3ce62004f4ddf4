/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entered.h: was a function entered by an interrupt?  For us_tracker.how.
 *
 * On x86 the stack pointer tells, what lies there, and with QEMUs up to 8.2 the table
 * of interrupts.  On others it is whether the function is the processor's vector.
 */
#ifndef US_TRACE_ENTERED_H
#define US_TRACE_ENTERED_H

#include <stdbool.h>
#include <stdint.h>

/* Before any vCPU starts; -ENOMEM. */
int us_entered_init(unsigned n_vcpu);
/* In the callback that a vCPU starts with. */
void us_entered_start(unsigned vcpu);

/* Is it yet to be found out where QEMU keeps the vCPUs' registers?  Then callbacks are
 * to tell. */
bool us_entered_wants_env(void);
/* In a callback before the first instruction of a block, which is at pc: env as
 * program_regs.h has it. */
void us_entered_learn(unsigned vcpu, const uint64_t *env, uint64_t pc);

#endif
