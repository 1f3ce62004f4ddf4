/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addresses.h: where things are in the memory of a riscv64 guest, QEMU's machine
 * "virt". Included by layout.h.
 */
#ifndef GUEST_ADDRESSES_H
#define GUEST_ADDRESSES_H

#define IMAGE_BASE   0xffffffff80000000 /* gva of IMAGE_GPA */
#define IMAGE_GPA    0x80000000		/* where RAM begins, with the firmware */
#define IMAGE_OFFSET 0x200000		/* the image is loaded so far above both */

#define STACK_SLOT   0x10000 /* addresses */
#define STACK_MEMORY 0x4000  /* bytes */
#define STACK_ALIGN  0x1000

#define DEVICE_BASE 0xffffffffc0000000
#define UART_BASE   DEVICE_BASE
#define UART_GPA    0x10000000

#endif
