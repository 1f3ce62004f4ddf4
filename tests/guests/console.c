/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * console.c: lines of text to the serial port.
 */
#include "machine.h"
#include "text.h"
#include "uart.h"

#define POLLS_MAX 100000 /* a port that takes nothing must not stop the guest */

static u32 console_lock;

void console_init(void)
{
	uart_init();
}

HIDDEN void wait_for_space(void)
{
	for (u32 i = 0; i < POLLS_MAX && !uart_has_space(); i++)
		relax();
}

VISIBLE void serial_write(const char *text, u64 len)
{
	while (__atomic_exchange_n(&console_lock, 1, __ATOMIC_ACQUIRE))
		relax();
	for (u64 i = 0; i < len; i++) {
		if (i % UART_FIFO_LEN == 0)
			wait_for_space();
		uart_put(text[i]);
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

void print_fault(const char *const *names, const u64 *values)
{
	static struct text line;

	line.len = 0;
	text_string(&line, "FAULT");
	for (u32 i = 0; names[i]; i++) {
		text_char(&line, ' ');
		text_string(&line, names[i]);
		text_char(&line, ' ');
		text_hex(&line, values[i]);
	}
	text_char(&line, '\n');
	serial_write(line.data, line.len);
}
