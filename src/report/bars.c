/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bars.c: what all bar charts have in common, and the chart as text. */
#include "report/bars.h"

#include "base/text.h"

#include <string.h>

#define MS	 1e6 /* ns */
#define NAME	 16  /* columns */
#define MIN_LINE 24
#define MAX_LINE 160
#define MARGIN	 8 /* columns for text next to a bar */

static const struct us_bars_format formats[] = { { ".svg", us_bars_svg },
						 { ".html", us_bars_html } };

const struct us_bars_format *us_bars_format_by_suffix(const char *path)
{
	size_t len = strlen(path);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t n = strlen(formats[i].suffix);
		if (len > n && !strcmp(path + len - n, formats[i].suffix))
			return &formats[i];
	}
	return NULL;
}

double us_bars_longest(const struct us_bars *b)
{
	double longest = 1;
	for (size_t i = 0; i < b->n; i++) {
		const struct us_bar *bar = &b->bar[i];
		double sum = 0;
		for (size_t k = 0; k < bar->n; k++)
			sum += bar->part[k].ns.value;
		if (sum > longest)
			longest = sum;
		if (bar->total.high > longest)
			longest = bar->total.high;
	}
	return longest;
}

const char *us_bars_kind(const struct us_bars *b, unsigned kind)
{
	for (size_t i = 0; i < b->n; i++)
		for (size_t k = 0; k < b->bar[i].n; k++)
			if (b->bar[i].part[k].kind == kind)
				return b->bar[i].part[k].name;
	return NULL;
}

/* ---- As text ---- */

/* Of the 256 colours of terminals, with black text on them. */
static const unsigned char colours[] = { 39, 214, 35, 175, 80, 186, 209, 147 };

struct line {
	char letter[MAX_LINE + 2];
	unsigned char kind[MAX_LINE + 2]; /* + 1; 0: none */
	size_t n;
};

static void put(struct line *l, size_t at, char letter, unsigned kind)
{
	if (at > MAX_LINE)
		return;
	while (l->n < at)
		l->letter[l->n++] = ' ';
	l->letter[at] = letter;
	l->kind[at] = (unsigned char)kind;
	if (l->n <= at)
		l->n = at + 1;
}

/* "vvvvfffkk", with the interval of its end over it: "|--|". */
static void fill(struct line *l, const struct us_bars *b, const struct us_bar *bar,
		 double per_column)
{
	double until = 0;
	size_t at = 0;
	for (size_t k = 0; k < bar->n; k++) {
		unsigned kind = bar->part[k].kind;
		until += bar->part[k].ns.value;
		for (; (double)at + 0.5 < until / per_column; at++)
			put(l, at, b->letters[kind], kind + 1);
	}
	size_t low = (size_t)(bar->total.low / per_column);
	size_t high = (size_t)(bar->total.high / per_column);
	if (high > low + 1) {
		for (at = low + 1; at < high; at++)
			put(l, at, '-', l->kind[at]);
		put(l, low, '|', l->kind[low]);
		put(l, high, '|', l->kind[high]);
	}
}

static void put_colour(FILE *out, unsigned kind, bool colour)
{
	if (!colour)
		return;
	if (kind)
		fprintf(out, "\033[30;48;5;%um", colours[(kind - 1) % sizeof(colours)]);
	else
		fputs("\033[0m", out);
}

static void write_line(FILE *out, const struct line *l, bool colour)
{
	unsigned before = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (l->kind[i] != before)
			put_colour(out, l->kind[i], colour);
		before = l->kind[i];
		putc(l->letter[i], out);
	}
	if (before)
		put_colour(out, 0, colour);
	putc('\n', out);
}

static void write_legend(FILE *out, const struct us_bars *b, unsigned columns,
			 bool colour)
{
	size_t at = NAME + 1;
	bool sure = true;
	fprintf(out, "%*s", NAME + 1, "");
	for (unsigned k = 0; k < US_MAX_BAR_PART; k++) {
		const char *known = us_bars_kind(b, k);
		char name[128];
		if (!known)
			continue;
		us_printable(name, sizeof(name), known);
		size_t width = us_columns(name) + 4;
		if (at + width > columns && at > NAME + 1) {
			fprintf(out, "\n%*s", NAME + 1, "");
			at = NAME + 1;
		}
		put_colour(out, k + 1, colour);
		putc(b->letters[k], out);
		put_colour(out, 0, colour);
		fprintf(out, " %s  ", name);
		at += width;
	}
	for (size_t i = 0; i < b->n; i++)
		sure &= b->bar[i].total.sure;
	fprintf(out, "|-| %s\n", sure ? "95 %" : "range");
}

void us_bars_text(FILE *out, const struct us_bars *b, unsigned columns, bool colour)
{
	unsigned most = columns > NAME + MARGIN + MIN_LINE ? columns - NAME - MARGIN
							   : MIN_LINE;
	double per_column = us_bars_longest(b) / (most < MAX_LINE ? most : MAX_LINE);
	for (size_t i = 0; i < b->n; i++) {
		struct line l = { .n = 0 };
		char name[128];
		us_printable(name, sizeof(name), b->bar[i].name);
		us_shorten_middle(name, sizeof(name), NAME);
		fill(&l, b, &b->bar[i], per_column);
		fprintf(out, "%s%*s", name, (int)(NAME + 1 - us_columns(name)), "");
		write_line(out, &l, colour);
	}
	write_legend(out, b, columns, colour);
}
