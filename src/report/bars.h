/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bars.h: stacked bars of times, each with its interval: where a boot's time goes.
 *
 * As text, as an SVG picture and as a page around it; all are whole in themselves and
 * load nothing.  Names may be any bytes.
 */
#ifndef US_REPORT_BARS_H
#define US_REPORT_BARS_H

#include "base/rank.h"

#include <stdio.h>

#define US_MAX_BAR_PART 24

struct us_bar_part {
	const char *name; /* the same in all bars that have it */
	unsigned kind;	  /* which colour and letter; below US_MAX_BAR_PART */
	struct us_estimate ns;
};

struct us_bar {
	const char *name;
	struct us_bar_part part[US_MAX_BAR_PART]; /* from left to right */
	size_t n;
	struct us_estimate total; /* ns */
	const char *note;	  /* how it compares with the first; NULL: nothing */
};

struct us_bars {
	const char *title, *about; /* about: a sentence */
	const struct us_bar *bar;
	size_t n;
	const char *letters; /* of the kinds */
};

/* columns: of the terminal; colour: it shows them. */
void us_bars_text(FILE *out, const struct us_bars *b, unsigned columns, bool colour);

struct us_bars_format {
	const char *suffix; /* of a file: ".svg" */
	void (*write)(FILE *out, const struct us_bars *b);
};
const struct us_bars_format *us_bars_format_by_suffix(const char *path); /* or NULL */

/* For these: the longest that is drawn, in ns, never 0. */
double us_bars_longest(const struct us_bars *b);
/* The name of a kind, of the first part that is of it; NULL: there is none. */
const char *us_bars_kind(const struct us_bars *b, unsigned kind);
void us_bars_svg(FILE *out, const struct us_bars *b);
void us_bars_html(FILE *out, const struct us_bars *b);
/* What stands in a page: fills its width. */
void us_bars_svg_inline(FILE *out, const struct us_bars *b);
/* Text for XML and HTML, made fit to be shown. */
void us_bars_escape(FILE *out, const char *text);

#endif
