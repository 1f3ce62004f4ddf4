/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addresses.h: where things are in the memory of an aarch64 guest. Included by
 * layout.h.  Where its devices are depends on the machine, and is set when a guest is
 * linked: paging.h.
 */
#ifndef GUEST_ADDRESSES_H
#define GUEST_ADDRESSES_H

#define IMAGE_BASE   0xffffffff80000000 /* gva of IMAGE_GPA */
#define IMAGE_GPA    0x40000000		/* where RAM begins */
#define IMAGE_OFFSET 0x80000		/* the image is loaded so far above both */

#define STACK_SLOT   0x40000 /* addresses */
#define STACK_MEMORY 0x10000 /* bytes: a page, however large */
#define STACK_ALIGN  0x10000

/* Devices, each in a page of its own, however large pages are. */
#define DEVICE_BASE	0xffffffffc0000000
#define UART_BASE	DEVICE_BASE
#define GIC_DISTRIBUTOR (DEVICE_BASE + 0x10000)
#define GIC_CPU		(DEVICE_BASE + 0x20000)			/* version 2 */
#define GIC_REDIST(cpu) (DEVICE_BASE + 0x40000 + (cpu)*0x20000) /* version 3 */
#define GIC_REDIST_SGI	0x10000					/* its second page */

#endif
