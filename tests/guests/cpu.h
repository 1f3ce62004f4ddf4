/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu.h: the words that all guests are written in, and single instructions of their
 * processor (instructions.h of its folder) as functions that leave no frame behind.
 */
#ifndef GUEST_CPU_H
#define GUEST_CPU_H

#include "layout.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
#ifdef __i386__
typedef unsigned long long u64;
#else
typedef unsigned long u64;
#endif
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

#define NORETURN     __attribute__((noreturn))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A function that has a frame and a symbol of its own, for the guest's call tree ... */
#define VISIBLE __attribute__((noinline, noclone))
/* ... and one that has none. */
#define HIDDEN static inline __attribute__((always_inline))

#include "instructions.h"

HIDDEN u64 part(u64 value, u32 by)
{
	divide(&value, by);
	return value;
}

/* gcc gives no frame to a leaf that needs no stack, whatever its options say; a leaf
 * with this in it gets one. */
#ifdef NO_FRAMES
#define WITH_FRAME() ((void)0)
#else
#define WITH_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)))
#endif

/* Keep a value that nobody uses, so that the work for it is done. */
HIDDEN void keep(u64 value)
{
	__asm__ volatile("" ::"r"(value));
}

#endif
