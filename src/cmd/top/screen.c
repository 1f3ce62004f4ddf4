/* SPDX-License-Identifier: GPL-2.0-or-later */
/* screen.c: see screen.h. */
#include "cmd/top/screen.h"

#include "base/text.h"
#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 2048

void us_screen_begin(struct us_screen *s, unsigned rows, unsigned cols, bool utf8)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].text);
	s->n = 0;
	s->rows = rows;
	s->cols = cols;
	s->utf8 = utf8;
}

void us_screen_fini(struct us_screen *s)
{
	us_screen_begin(s, 0, 0, false);
	free(s->v);
	*s = (struct us_screen){ 0 };
}

/* Put a '?' for each character that is not ASCII. */
static void to_ascii(char *s)
{
	char *to = s;
	for (size_t n; *s; s += n) {
		n = us_utf8_len(s);
		n = n ? n : 1;
		*to++ = n == 1 && (unsigned char)*s < 0x80 ? *s : '?';
	}
	*to = '\0';
}

enum cut { CUT_END, CUT_MIDDLE, CUT_LEFT };

/* Cut at the end of a whole character. */
static void cut_end(char *text, unsigned width)
{
	size_t at = 0;
	while (text[at]) {
		size_t n = us_utf8_len(text + at);
		char after = text[at + n];
		text[at + n] = '\0';
		bool fits = us_columns(text) <= width;
		text[at + n] = after;
		if (!fits)
			break;
		at += n;
	}
	text[at] = '\0';
}

static void cut(char *text, size_t size, unsigned width, enum cut how)
{
	if (us_columns(text) <= width)
		return;
	if (how == CUT_MIDDLE && width > 3)
		us_shorten_middle(text, size, width);
	else if (how == CUT_LEFT && width > 3)
		us_shorten_left(text, size, width);
	else
		cut_end(text, width);
}

static unsigned put(struct us_screen *s, unsigned row, unsigned col, unsigned width,
		    enum us_style style, const char *from, enum cut how)
{
	char text[TEXT_SIZE];
	if (row >= s->rows || col >= s->cols)
		return 0;
	width = width < s->cols - col ? width : s->cols - col;
	us_printable(text, sizeof(text), from);
	cut(text, sizeof(text), width, how);
	if (!s->utf8)
		to_ascii(text);
	char *copy = strdup(text);
	struct us_piece *p = copy ? us_vec_push(s) : NULL;
	if (!p) {
		free(copy);
		return 0;
	}
	*p = (struct us_piece){ row, col, style, copy };
	return (unsigned)us_columns(copy);
}

unsigned us_screen_put(struct us_screen *s, unsigned row, unsigned col, unsigned width,
		       enum us_style style, const char *text)
{
	return put(s, row, col, width, style, text, CUT_END);
}

unsigned us_screen_put_name(struct us_screen *s, unsigned row, unsigned col,
			    unsigned width, enum us_style style, const char *text)
{
	return put(s, row, col, width, style, text, CUT_MIDDLE);
}

unsigned us_screen_put_path(struct us_screen *s, unsigned row, unsigned col,
			    unsigned width, enum us_style style, const char *text)
{
	return put(s, row, col, width, style, text, CUT_LEFT);
}

unsigned us_screen_putf(struct us_screen *s, unsigned row, unsigned col, unsigned width,
			enum us_style style, const char *fmt, ...)
{
	char text[TEXT_SIZE];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return us_screen_put(s, row, col, width, style, text);
}

void us_screen_bar(struct us_screen *s, unsigned row, unsigned col, unsigned width,
		   double part)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	char text[512] = "";
	part = part > 1 ? 1 : part > 0 ? part : 0;
	width = width < 100 ? width : 100;
	unsigned n = (unsigned)(part * width * 8 + 0.5);
	if (s->utf8) {
		for (unsigned i = 0; i < n / 8; i++)
			strcat(text, "█");
		strcat(text, eighths[n % 8]);
	} else {
		memset(text, '#', (n + 4) / 8);
		text[(n + 4) / 8] = '\0';
	}
	if (*text)
		us_screen_put(s, row, col, width, US_STYLE_BAR, text);
}

void us_screen_fill(struct us_screen *s, unsigned row, enum us_style style)
{
	char text[TEXT_SIZE];
	unsigned n = s->cols < sizeof(text) - 1 ? s->cols : (unsigned)sizeof(text) - 1;
	memset(text, ' ', n);
	text[n] = '\0';
	us_screen_put(s, row, 0, s->cols, style, text);
}
