/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entered.h: did an interrupt enter a function?  For us_tracker.how.
 *
 * On x86 the stack pointer and the content of the stack tell, and with QEMU up to 8.2
 * also the table of interrupts.  On other architectures, it is whether the function is
 * the processor's vector.
 */
#ifndef US_TRACE_ENTERED_H
#define US_TRACE_ENTERED_H

#include <stdbool.h>
#include <stdint.h>

/* Before any vCPU starts; -ENOMEM. */
int us_entered_init(unsigned n_vcpu);
/* Call this in the callback for a vCPU's start. */
void us_entered_start(unsigned vcpu);

/* Is it still unknown where QEMU keeps the vCPUs' registers?  Then callbacks should
 * call us_entered_learn(). */
bool us_entered_wants_env(void);
/* Call this in a callback before the first instruction, at pc, of a block; env: as in
 * program_regs.h. */
void us_entered_learn(unsigned vcpu, const uint64_t *env, uint64_t pc);

#endif
