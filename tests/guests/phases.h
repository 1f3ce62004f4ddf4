/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases.h: a guest that spins with a hostile frame pointer, another one each second.
 *
 * The program counter stays in spin_with_fp(), whose own frame is whole: the return
 * address and the caller's frame pointer are on the stack, and its CFI says where. Only
 * the frame pointer lies. "PHASE name" is printed as a phase begins (by vCPU 0; all
 * have the same).
 */
#ifndef GUEST_PHASES_H
#define GUEST_PHASES_H

#include "cpu.h"

struct phase {
	const char *name;
	u64 fp; /* 0: the true one */
};

/* To be set by guest_setup(). */
void phases_set(const struct phase *phases, u32 n);

/* A frame pointer to a saved one and a return address. */
#define FP(frame) ((u64)(frame) + FRAME_POINTER_ABOVE)

/* A return address as it is found on the stack: behind a CALL of spin_with_fp(). */
extern char after_call[];

#endif
