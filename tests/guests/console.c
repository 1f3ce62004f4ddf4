/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * console.c: lines of text to the first serial port, or to port 0xe9 if there is none.
 */
#include "machine.h"
#include "text.h"

#define COM1	    0x3f8
#define COM_FCR	    (COM1 + 2)
#define COM_LCR	    (COM1 + 3)
#define COM_LSR	    (COM1 + 5)
#define COM_SCRATCH (COM1 + 7)
#define LSR_EMPTY   0x20
#define FIFO_LEN    16
#define DEBUG_PORT  0xe9
#define POLLS_MAX   100000 /* a port that takes nothing must not stop the guest */

static bool has_uart;
static u32 console_lock;

void console_init(void)
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

HIDDEN void wait_for_space(void)
{
	for (u32 i = 0; i < POLLS_MAX && !(in8(COM_LSR) & LSR_EMPTY); i++)
		relax();
}

VISIBLE void serial_write(const char *text, u64 len)
{
	while (__atomic_exchange_n(&console_lock, 1, __ATOMIC_ACQUIRE))
		relax();
	for (u64 i = 0; i < len; i++) {
		if (has_uart && i % FIFO_LEN == 0)
			wait_for_space();
		out8(has_uart ? COM1 : DEBUG_PORT, (u8)text[i]);
	}
	__atomic_store_n(&console_lock, 0, __ATOMIC_RELEASE);
}

void print_line(const char *text)
{
	static struct text line;

	line.len = 0;
	text_string(&line, text);
	text_char(&line, '\n');
	serial_write(line.data, line.len);
}
