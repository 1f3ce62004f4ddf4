/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h: where things are in the guest's memory; for C and for assembly.
 *
 * The image is linked in the higher half and loaded at 1 MiB.  It is mapped by 4 KiB
 * pages, and so is every stack, far away from it: whoever looks in from outside has
 * to walk four levels of page tables for each of both.
 */
#ifndef GUEST_LAYOUT_H
#define GUEST_LAYOUT_H

#define MAX_VCPUS   4
#define IMAGE_BASE  0xffffffff80000000 /* gva of gpa 0 */
#define IMAGE_LIMIT 0x400000	       /* the image ends below this gpa */

/* The stacks: one GiB of addresses for each vCPU, a slot of it for each thread. */
#define STACK_AREA	 0xffff800000000000
#define STACK_VCPU_SHIFT 30
#define STACK_SLOT	 0x10000 /* addresses; only the topmost pages are mapped */
#define STACK_PAGES	 4
#define STACK_SLOTS	 4 /* threads of a vCPU, with its boot stack (slot 0) */

#define LAPIC_BASE 0xffffffffc0000000 /* gva of the local APIC's registers */
#define LAPIC_GPA  0xfee00000
#define LAPIC_EOI  0xb0

#define TRAMPOLINE_GPA 0x8000 /* real-mode entry of the other vCPUs */

#define SELECTOR_CODE32 0x08
#define SELECTOR_DATA	0x10
#define SELECTOR_CODE64 0x18

#define TIMER_VECTOR	0x40
#define SPURIOUS_VECTOR 0xff

#endif
