/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.h: what the guest trampoline, its entry and its program agree on, on all
 * processors; what differs is in program.h of each processor's folder.
 */
#ifndef GUEST_TRAMPOLINE_H
#define GUEST_TRAMPOLINE_H

#include "program.h"

#define USER_STACK (USER_BASE + 0x10000) /* the page below it */
#define USER_BYTES 4096			 /* of each of both */

#define CALL_WORK   1
#define CALL_REPORT 2

#ifndef __ASSEMBLER__
#include "truth.h"

extern u64 work_unit;
void begin_truth(struct truth *t, u32 vcpu);
void system_call(struct truth *t, u64 call);
void copy_program(u8 *to); /* USER_BYTES */
#endif

#endif
