/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instructions.h: single instructions of x86-64 and i386, and what other processors do
 * in another way.  Included by cpu.h.
 */
#ifndef GUEST_INSTRUCTIONS_H
#define GUEST_INSTRUCTIONS_H

/* The saved frame pointer is so many bytes below where the frame pointer points; the
 * return address is behind it. */
#define FRAME_POINTER_ABOVE 0

/* A register that a function has to save before it uses it. */
#define SAVED_REGISTER "rbx"

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

/* Divide in place, the rest is returned: in 32-bit code without a library's help, which
 * would be a function in the stacks. */
HIDDEN u32 divide(u64 *value, u32 by)
{
#ifdef __x86_64__
	u32 rest = (u32)(*value % by);

	*value /= by;
	return rest;
#else
	u32 high = (u32)(*value >> 32), low = (u32)*value, rest = high % by;

	high /= by;
	__asm__("divl %2" : "+a"(low), "+d"(rest) : "r"(by));
	*value = (u64)high << 32 | low;
	return rest;
#endif
}

#ifdef XEN_PV
#include "xen-pv/hypercalls.h"
#else
/* What may run within a halt, for the guest's call tree: a line of it, so far in. */
#define TREE_TIMER(in) in "timer_interrupt\n"

/* Sleep until an interrupt.  Interrupts are on nowhere else, so none is missed. */
HIDDEN void halt_until_interrupt(void)
{
	__asm__ volatile("sti\n\thlt\n\tcli" ::: "memory");
}
#endif

HIDDEN void flush_tlb_page(u64 address)
{
	__asm__ volatile("invlpg (%0)" ::"r"(address) : "memory");
}

/* Go on with the next instruction in the mapping that is so much further. */
HIDDEN void jump_further(u64 slide)
{
	u64 at;

	__asm__ volatile("leaq 1f(%%rip), %0\n\taddq %1, %0\n\tjmp *%0\n1:"
			 : "=&r"(at)
			 : "rm"(slide)
			 : "memory", "cc");
}

#endif
