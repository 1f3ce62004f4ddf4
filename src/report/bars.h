/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bars.h: stacked bars of times, each with its interval: where a boot's time goes.
 *
 * Written as text, as an SVG picture, or as a page around it.  All are self-contained
 * and load nothing.  Names may be any bytes.
 */
#ifndef US_REPORT_BARS_H
#define US_REPORT_BARS_H

#include "base/rank.h"

#include <stdio.h>

#define US_MAX_BAR_PART 24

struct us_bar_part {
	const char *name; /* the same in all bars that have it */
	unsigned kind;	  /* selects colour and letter; below US_MAX_BAR_PART */
	struct us_estimate ns;
};

struct us_bar {
	const char *name;
	struct us_bar_part part[US_MAX_BAR_PART]; /* from left to right */
	size_t n;
	struct us_estimate total; /* ns */
	const char *note;	  /* comparison with the first bar; NULL: none */
};

struct us_bars {
	const char *title, *about; /* about: a sentence */
	const struct us_bar *bar;
	size_t n;
	const char *letters; /* a letter for each kind */
};

/* columns: the terminal's width; colour: it shows colours. */
void us_bars_text(FILE *out, const struct us_bars *b, unsigned columns, bool colour);

struct us_bars_format {
	const char *suffix; /* of file names: ".svg" */
	void (*write)(FILE *out, const struct us_bars *b);
};
const struct us_bars_format *us_bars_format_by_suffix(const char *path); /* or NULL */

/* For the formats: the length of the longest bar, in ns, never 0. */
double us_bars_longest(const struct us_bars *b);
/* The name of a kind: that of the first part of this kind; NULL: none. */
const char *us_bars_kind(const struct us_bars *b, unsigned kind);
void us_bars_svg(FILE *out, const struct us_bars *b);
void us_bars_html(FILE *out, const struct us_bars *b);
/* The picture inside a page; it fills the page's width. */
void us_bars_svg_inline(FILE *out, const struct us_bars *b);
/* Write text escaped for XML and HTML, made printable. */
void us_bars_escape(FILE *out, const char *text);

#endif
