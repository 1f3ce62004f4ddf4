/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h: a line of text that grows in a buffer; what does not fit is left out.
 */
#ifndef GUEST_TEXT_H
#define GUEST_TEXT_H

#include "cpu.h"

#define TEXT_MAX 2048

struct text {
	u32 len;
	char data[TEXT_MAX];
};

HIDDEN void text_char(struct text *t, char c)
{
	if (t->len < TEXT_MAX)
		t->data[t->len++] = c;
}

HIDDEN void text_string(struct text *t, const char *s)
{
	while (*s)
		text_char(t, *s++);
}

HIDDEN void text_number(struct text *t, u64 value)
{
	char digit[20];
	u32 n = 0;

	do {
		digit[n++] = (char)('0' + divide(&value, 10));
	} while (value);
	while (n)
		text_char(t, digit[--n]);
}

HIDDEN void text_hex(struct text *t, u64 value)
{
	text_string(t, "0x");
	for (int shift = 60; shift >= 0; shift -= 4)
		text_char(t, "0123456789abcdef"[value >> shift & 15]);
}

#endif
