/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uart.h: a 16550 in memory.  For console.c.
 */
#ifndef GUEST_UART_H
#define GUEST_UART_H

#include "cpu.h"

#define UART_DATA      (UART_BASE + 0)
#define UART_INTERRUPT (UART_BASE + 1)
#define UART_FIFO      (UART_BASE + 2)
#define UART_LINE      (UART_BASE + 3)
#define UART_STATUS    (UART_BASE + 5)
#define STATUS_EMPTY   0x20
#define UART_FIFO_LEN  16

HIDDEN void uart_init(void)
{
	*device_register(UART_INTERRUPT) = 0;
	*device_register(UART_LINE) = 0x03; /* 8n1 */
	*device_register(UART_FIFO) = 0x07; /* on and empty */
}

/* Is there space for UART_FIFO_LEN bytes? */
HIDDEN bool uart_has_space(void)
{
	return *device_register(UART_STATUS) & STATUS_EMPTY;
}

/* Ask for something that the VMM answers. */
HIDDEN void uart_touch(void)
{
	(void)*device_register(UART_STATUS);
}

HIDDEN void uart_put(char c)
{
	*device_register(UART_DATA) = (u8)c;
}

#endif
