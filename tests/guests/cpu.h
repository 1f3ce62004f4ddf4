/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu.h: single instructions of x86-64, as functions that leave no frame behind.
 */
#ifndef GUEST_CPU_H
#define GUEST_CPU_H

#include "layout.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
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

HIDDEN void out8(u16 port, u8 value)
{
	__asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port));
}

HIDDEN void out16(u16 port, u16 value)
{
	__asm__ volatile("outw %0, %1" ::"a"(value), "Nd"(port));
}

HIDDEN u8 in8(u16 port)
{
	u8 value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

HIDDEN u64 read_tsc(void)
{
	u32 low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (u64)high << 32 | low;
}

HIDDEN u64 read_msr(u32 msr)
{
	u32 low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (u64)high << 32 | low;
}

HIDDEN void write_msr(u32 msr, u64 value)
{
	__asm__ volatile("wrmsr" ::"c"(msr), "a"((u32)value), "d"((u32)(value >> 32)));
}

HIDDEN void cpuid(u32 leaf, u32 reg[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(reg[0]), "=b"(reg[1]), "=c"(reg[2]), "=d"(reg[3])
			 : "a"(leaf), "c"(0));
}

HIDDEN void relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* Sleep until an interrupt.  Interrupts are on nowhere else, so none is missed. */
HIDDEN void halt_until_interrupt(void)
{
	__asm__ volatile("sti\n\thlt\n\tcli" ::: "memory");
}

HIDDEN void flush_tlb_page(u64 address)
{
	__asm__ volatile("invlpg (%0)" ::"r"(address) : "memory");
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
