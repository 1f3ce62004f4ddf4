/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen.h: what is to stand on a terminal, as pieces of text at their places.
 *
 * What makes a screen knows nothing of terminals, and what draws it nothing of guests.
 * Text may be any bytes: it is made printable, cut to its columns, and in a locale that
 * is not UTF-8 what is not ASCII is shown as '?'.
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
	struct us_piece *v; /* later ones over earlier ones */
	size_t n, cap;
};

void us_screen_begin(struct us_screen *s, unsigned rows, unsigned cols, bool utf8);
void us_screen_fini(struct us_screen *s); /* accepts a zeroed one */

/* At most width columns of text; nothing outside of the screen.  How many columns it
 * takes.  What there is no memory for is left out. */
unsigned us_screen_put(struct us_screen *s, unsigned row, unsigned col, unsigned width,
		       enum us_style style, const char *text);
unsigned us_screen_putf(struct us_screen *s, unsigned row, unsigned col, unsigned width,
			enum us_style style, const char *fmt, ...)
	__attribute__((__format__(__printf__, 6, 7)));
/* The same in the middle or the beginning cut where it is too wide. */
unsigned us_screen_put_name(struct us_screen *s, unsigned row, unsigned col,
			    unsigned width, enum us_style style, const char *text);
unsigned us_screen_put_path(struct us_screen *s, unsigned row, unsigned col,
			    unsigned width, enum us_style style, const char *text);
/* part (0 to 1) of width columns. */
void us_screen_bar(struct us_screen *s, unsigned row, unsigned col, unsigned width,
		   double part);
/* A row in one style from its beginning to its end. */
void us_screen_fill(struct us_screen *s, unsigned row, enum us_style style);

#endif
