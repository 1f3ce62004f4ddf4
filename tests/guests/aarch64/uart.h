/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uart.h: a PL011.  For console.c.
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
#define LINE_8N1_FIFO  0x70
#define CONTROL_SEND   0x101
#define UART_FIFO_LEN  16

HIDDEN void uart_init(void)
{
	*device_register(UART_INTERRUPT) = 0;
	*device_register(UART_LINE) = LINE_8N1_FIFO;
	*device_register(UART_CONTROL) = CONTROL_SEND;
}

/* Is there space for UART_FIFO_LEN bytes? */
HIDDEN bool uart_has_space(void)
{
	return *device_register(UART_FLAGS) & FLAG_EMPTY;
}

HIDDEN void uart_put(char c)
{
	*device_register(UART_DATA) = (u8)c;
}

#endif
