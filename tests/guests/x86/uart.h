/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uart.h: the first serial port, or port 0xe9 if there is none.  For console.c.
 */
#ifndef GUEST_UART_H
#define GUEST_UART_H

#include "cpu.h"

#define COM1	      0x3f8
#define COM_FCR	      (COM1 + 2)
#define COM_LCR	      (COM1 + 3)
#define COM_LSR	      (COM1 + 5)
#define COM_SCRATCH   (COM1 + 7)
#define LSR_EMPTY     0x20
#define UART_FIFO_LEN 16
#define DEBUG_PORT    0xe9

static bool has_uart;

HIDDEN void uart_init(void)
{
	out8(COM_SCRATCH, 0x5a);
	has_uart = in8(COM_SCRATCH) == 0x5a;
	if (!has_uart)
		return;
	out8(COM_LCR, 0x80); /* divisor 1: 115200 baud */
	out8(COM1, 1);
	out8(COM1 + 1, 0);
	out8(COM_LCR, 0x03); /* 8n1 */
	out8(COM1 + 1, 0);   /* no interrupts */
	out8(COM_FCR, 0x07); /* FIFO on and empty */
}

/* Is there space for UART_FIFO_LEN bytes? */
HIDDEN bool uart_has_space(void)
{
	return !has_uart || in8(COM_LSR) & LSR_EMPTY;
}

/* Ask for something that the VMM answers; where there is no such port it does, too. */
HIDDEN void uart_touch(void)
{
	out8(COM_SCRATCH, 0x5a);
}

HIDDEN void uart_put(char c)
{
	out8(has_uart ? COM1 : DEBUG_PORT, (u8)c);
}

#endif
