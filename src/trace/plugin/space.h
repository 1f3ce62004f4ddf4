/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * space.h: which memory a stack is in, for us_tracker.memory.
 *
 * QEMU 9.0 and later give registers: a program's stack is identified by the root of its
 * page tables; all stacks of the kernel share one.  Older versions give the physical
 * address of an access, in its callback.
 */
#ifndef US_TRACE_SPACE_H
#define US_TRACE_SPACE_H

#include "trace/plugin/qemu_api.h"

/* Call this in the callback for a vCPU's start. */
void us_space_start(unsigned vcpu);

#endif
