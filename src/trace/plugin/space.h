/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * space.h: which memory a stack is in: for us_tracker.memory.
 *
 * QEMU 9.0 and later give registers: a program's stack is told by the root of its page
 * tables, all of the kernel's are one.  Older ones give the physical address of an
 * access, in the callback for it.
 */
#ifndef US_TRACE_SPACE_H
#define US_TRACE_SPACE_H

#include "trace/plugin/qemu_api.h"

/* In the callback that a vCPU starts with. */
void us_space_start(unsigned vcpu);

#endif
