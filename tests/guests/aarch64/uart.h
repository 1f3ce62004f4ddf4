/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uart.h: a PL011, or as much of it as the SBSA's generic UART has (DEN 0029, B): its
 * line and its sender are always on, and Xen's has no such registers.  For console.c.
 */
#ifndef GUEST_UART_H
#define GUEST_UART_H

#include "cpu.h"

#define UART_DATA      (UART_BASE + 0x00)
#define UART_FLAGS     (UART_BASE + 0x18)
#define UART_LINE      (UART_BASE + 0x2c)
#define UART_CONTROL   (UART_BASE + 0x30)
#define UART_INTERRUPT (UART_BASE + 0x38)
#define FLAG_EMPTY     0x80
#define FLAG_FULL      0x20
#define LINE_8N1_FIFO  0x70
#define CONTROL_SEND   0x101
#define UART_FIFO_LEN  (uart_is_sbsa ? 1 : 16)

/* Set when a guest is linked. */
extern const u64 uart_is_sbsa;

HIDDEN void uart_init(void)
{
	*device_register(UART_INTERRUPT) = 0;
	if (uart_is_sbsa)
		return;
	*device_register(UART_LINE) = LINE_8N1_FIFO;
	*device_register(UART_CONTROL) = CONTROL_SEND;
}

/* Is there space for UART_FIFO_LEN bytes? Xen's UART is empty once dom0 has read. */
HIDDEN bool uart_has_space(void)
{
	u32 flags = *device_register(UART_FLAGS);

	return uart_is_sbsa ? !(flags & FLAG_FULL) : flags & FLAG_EMPTY;
}

/* Ask for something that the VMM answers. */
HIDDEN void uart_touch(void)
{
	(void)*device_register(UART_FLAGS);
}

HIDDEN void uart_put(char c)
{
	*device_register(UART_DATA) = (u8)c;
}

#endif
