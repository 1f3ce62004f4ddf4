/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addresses.h: where things are in the memory of an x86 guest.  Included by layout.h.
 */
#ifndef GUEST_ADDRESSES_H
#define GUEST_ADDRESSES_H

#define IMAGE_BASE  0xffffffff80000000 /* gva of IMAGE_GPA */
#define IMAGE_GPA   0		       /* it is loaded at 1 MiB */
#define IMAGE_LIMIT 0x400000	       /* the image ends below this gpa */

#define STACK_AREA_5 0xff80800000000000 /* the stacks, where there are five levels */
#define STACK_SLOT   0x10000		/* addresses */
#define STACK_MEMORY 0x4000		/* bytes */
#define STACK_ALIGN  0x1000

#ifdef __i386__
#define LAPIC_BASE 0xfee00000 /* 32-bit guests leave it alone */
#else
#define LAPIC_BASE 0xffffffffc0000000 /* gva of the local APIC's registers */
#endif
#define LAPIC_GPA   0xfee00000
#define LAPIC_EOI   0xb0
#define DEVICE_BASE LAPIC_BASE /* any device's */

#define TRAMPOLINE_GPA 0x8000 /* real-mode entry of the other vCPUs */

#define SELECTOR_CODE32 0x08
#define SELECTOR_DATA	0x10
#define SELECTOR_CODE64 0x18

/* 32-bit guests: one vCPU, whose stack is there if there is paging. */
#define NARROW_STACK	   0xd0000000
#define NARROW_STACK_PAGES 4
#define NARROW_STACK_GPA   0x800000 /* of a stack in a large page */

/* How a 32-bit guest translates addresses: paging_mode, set when it is linked. */
#define NARROW_FLAT	0
#define NARROW_2_LEVELS 1 /* by 4 KiB pages */
#define NARROW_LARGE	2 /* by 4 MiB pages */
#define NARROW_PAE	3
#define NARROW_COMPAT	4 /* 32-bit code in long mode */

#define TIMER_VECTOR	0x40
#define SPURIOUS_VECTOR 0xff

#endif
