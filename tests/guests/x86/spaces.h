/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spaces.h: what the kernel and the programs of the guest spaces have in common. */
#ifndef GUEST_SPACES_H
#define GUEST_SPACES_H

#include "ring3.h"
#include "cpu.h"

#define N_PROGRAM    2
#define USER_THREAD  0x20100000 /* the end of its second stack */
#define SPACES_ROUND 2000

#define CALL_YIELD 0
#define CALL_DONE  1

/* What each program counts, in a page of its own at USER_PAGE. */
#define SPACES_COUNTED(X)                                                              \
	X(first_work)                                                                  \
	X(second_work) X(nest) X(leaf) X(by_gate) X(first_turn) X(second_turn) X(swap)

struct spaces_counts {
#define COUNTER(name) u64 name;
	SPACES_COUNTED(COUNTER)
#undef COUNTER
};

#endif
