/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen.h: the content of a terminal's screen, as pieces of text with positions.
 *
 * Code that makes a screen knows nothing about terminals, and code that draws it knows
 * nothing about guests.  Text may be any bytes: it is made printable and cut to its
 * columns.  In a locale other than UTF-8, '?' replaces all that is not ASCII.
 */
#ifndef US_CMD_SCREEN_H
#define US_CMD_SCREEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum us_style {
	US_STYLE_PLAIN,
	US_STYLE_BOLD,
	US_STYLE_DIM,
	US_STYLE_HOT,
	US_STYLE_BAR,
	US_STYLE_WARNING,
	US_STYLE_SELECTED,
	US_STYLE_TITLE,
	US_N_STYLE,
};

struct us_piece {
	unsigned row, col;
	enum us_style style;
	char *text; /* printable; ends within the screen */
};

struct us_screen {
	unsigned rows, cols;
	bool utf8;
	struct us_piece *v; /* later ones cover earlier ones */
	size_t n, cap;
};

void us_screen_begin(struct us_screen *s, unsigned rows, unsigned cols, bool utf8);
void us_screen_fini(struct us_screen *s); /* accepts a zeroed one */

/* Put at most width columns of text; nothing outside of the screen.  Returns the
 * columns that it takes.  Without memory it is left out. */
unsigned us_screen_put(struct us_screen *s, unsigned row, unsigned col, unsigned width,
		       enum us_style style, const char *text);
unsigned us_screen_putf(struct us_screen *s, unsigned row, unsigned col, unsigned width,
			enum us_style style, const char *fmt, ...)
	__attribute__((__format__(__printf__, 6, 7)));
/* The same; text that is too wide is cut in the middle (name) or at the beginning
 * (path). */
unsigned us_screen_put_name(struct us_screen *s, unsigned row, unsigned col,
			    unsigned width, enum us_style style, const char *text);
unsigned us_screen_put_path(struct us_screen *s, unsigned row, unsigned col,
			    unsigned width, enum us_style style, const char *text);
/* A bar over part (0 to 1) of width columns. */
void us_screen_bar(struct us_screen *s, unsigned row, unsigned col, unsigned width,
		   double part);
/* Give a whole row one style. */
void us_screen_fill(struct us_screen *s, unsigned row, enum us_style style);

#endif
