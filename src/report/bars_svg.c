/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bars_svg.c: bars as SVG 1.1.  Positions in time are in percent of the width, so that
 * a page may be as narrow as a telephone while the text keeps its size; all else is in
 * pixels.  Colours are classes of page/bars.css.
 */
#include "report/bars.h"
#include "report/page.h"

#include "base/text.h"

#include <math.h>

#define MS	   1e6 /* ns */
#define WIDTH	   860 /* of a chart in a file of its own */
#define TOP	   6
#define BAR	   22 /* high */
#define ROW	   74
#define TEXT_Y	   14 /* of a row */
#define BAR_Y	   22
#define WHISKER_Y  50 /* of the phases' intervals, below the bar */
#define AXIS	   34
#define LEGEND_ROW 22
#define IN_ROW	   4  /* of a legend */
#define FULL	   96 /* percent: the longest bar */
#define TICKS	   4
#define COLOURS	   8

static double percent(const struct us_bars *b, double ns)
{
	return FULL * ns / us_bars_longest(b);
}

void us_bars_escape(FILE *out, const char *text)
{
	char safe[512];
	us_printable(safe, sizeof(safe), text);
	for (const char *c = safe; *c; c++)
		switch (*c) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc(*c, out);
		}
}

/* "|--|" from one time to another. */
static void whisker(FILE *out, const struct us_bars *b, const char *class, double low,
		    double high, double y)
{
	double from = percent(b, low > 0 ? low : 0), to = percent(b, high);
	fprintf(out,
		"<g class=\"%s\"><line x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%g\" "
		"y2=\"%g\"/>"
		"<line x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%g\" y2=\"%g\"/>"
		"<line x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%g\" y2=\"%g\"/></g>\n",
		class, from, to, y, y, from, from, y - 4, y + 4, to, to, y - 4, y + 4);
}

/* A part, and below it the interval of its end, if the parts before it are taken as
 * exact. */
static void part(FILE *out, const struct us_bars *b, const struct us_bar_part *p,
		 double begin, double y, size_t k)
{
	double end = begin + p->ns.value;
	fprintf(out,
		"<rect class=\"b%u\" x=\"%.3f%%\" y=\"%g\" width=\"%.3f%%\" "
		"height=\"%d\"><title>",
		p->kind % COLOURS, percent(b, begin), y + BAR_Y,
		percent(b, p->ns.value > 0 ? p->ns.value : 0), BAR);
	us_bars_escape(out, p->name);
	fprintf(out, ": %.1f ms (%.1f to %.1f)</title></rect>\n", p->ns.value / MS,
		p->ns.low / MS, p->ns.high / MS);
	if (p->ns.high > p->ns.low)
		whisker(out, b, "wp", end + p->ns.low - p->ns.value,
			end + p->ns.high - p->ns.value,
			y + WHISKER_Y + 5 * (double)(k % 3));
}

static void bar(FILE *out, const struct us_bars *b, size_t i)
{
	const struct us_bar *r = &b->bar[i];
	double y = TOP + ROW * (double)i, at = 0;
	char name[128];
	us_printable(name, sizeof(name), r->name);
	us_shorten_middle(name, sizeof(name), 24);
	fprintf(out, "<text class=\"name\" x=\"0\" y=\"%g\">", y + TEXT_Y);
	us_bars_escape(out, name);
	fprintf(out, "</text><text x=\"100%%\" y=\"%g\" text-anchor=\"end\">%.1f ms",
		y + TEXT_Y, r->total.value / MS);
	if (b->n > 1 && b->bar[0].total.value > 0)
		fprintf(out, ", × %.2f", r->total.value / b->bar[0].total.value);
	fputs("</text>\n", out);
	for (size_t k = 0; k < r->n; k++) {
		part(out, b, &r->part[k], at, y, k);
		at += r->part[k].ns.value;
	}
	if (r->total.high > r->total.low)
		whisker(out, b, "wt", r->total.low, r->total.high,
			y + BAR_Y + BAR / 2.0);
}

/* A round number: 1, 2 or 5 times a power of ten. */
static double step_of(double longest)
{
	double raw = longest / TICKS, ten = pow(10, floor(log10(raw)));
	return ten * (raw / ten > 5 ? 10 : raw / ten > 2 ? 5 : raw / ten > 1 ? 2 : 1);
}

static void axis(FILE *out, const struct us_bars *b)
{
	double longest = us_bars_longest(b), step = step_of(longest);
	double y = TOP + ROW * (double)b->n;
	for (double t = 0; t <= longest; t += step) {
		fprintf(out,
			"<line class=\"tick\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%d\" "
			"y2=\"%g\"/><text class=\"scale\" x=\"%.3f%%\" y=\"%g\"%s>%g",
			percent(b, t), percent(b, t), TOP + TEXT_Y + 4, y + 4,
			percent(b, t), y + 18, t > 0 ? " text-anchor=\"middle\"" : "",
			t / MS);
		fputs(t > 0 ? "</text>\n" : " ms</text>\n", out);
	}
}

/* The attributes, and a description for screen readers. */
static void label(FILE *out, const struct us_bars *b)
{
	fputs(" class=\"bars\" role=\"img\" aria-label=\"", out);
	for (size_t i = 0; i < b->n; i++) {
		us_bars_escape(out, b->bar[i].name);
		fprintf(out, ": %.1f ms", b->bar[i].total.value / MS);
		for (size_t k = 0; k < b->bar[i].n; k++) {
			fputs(", ", out);
			us_bars_escape(out, b->bar[i].part[k].name);
			fprintf(out, " %.1f", b->bar[i].part[k].ns.value / MS);
		}
		fputs(". ", out);
	}
	putc('"', out);
}

static unsigned height(const struct us_bars *b)
{
	return TOP + ROW * (unsigned)b->n + AXIS;
}

static void draw(FILE *out, const struct us_bars *b)
{
	axis(out, b);
	for (size_t i = 0; i < b->n; i++)
		bar(out, b, i);
}

void us_bars_svg_inline(FILE *out, const struct us_bars *b)
{
	fprintf(out, "<svg width=\"100%%\" height=\"%u\"", height(b));
	label(out, b);
	fputs(">\n", out);
	draw(out, b);
	fputs("</svg>\n", out);
}

static unsigned count_kinds(const struct us_bars *b)
{
	unsigned n = 0;
	for (unsigned k = 0; k < US_MAX_BAR_PART; k++)
		n += us_bars_kind(b, k) != NULL;
	return n;
}

static void legend(FILE *out, const struct us_bars *b)
{
	unsigned n = 0;
	for (unsigned k = 0; k < US_MAX_BAR_PART; k++) {
		const char *name = us_bars_kind(b, k);
		unsigned x = n % IN_ROW * (WIDTH / IN_ROW);
		unsigned y = height(b) + n / IN_ROW * LEGEND_ROW;
		if (!name)
			continue;
		fprintf(out,
			"<rect class=\"b%u\" x=\"%u\" y=\"%u\" width=\"12\" "
			"height=\"12\"/>"
			"<text x=\"%u\" y=\"%u\">",
			k % COLOURS, x, y, x + 18, y + 11);
		us_bars_escape(out, name);
		fputs("</text>\n", out);
		n++;
	}
}

#define FRAME 16

/* The head ends inside the outer element's attributes. */
void us_bars_svg(FILE *out, const struct us_bars *b)
{
	unsigned rows = (count_kinds(b) + IN_ROW - 1) / IN_ROW;
	unsigned high = height(b) + rows * LEGEND_ROW + 2 * FRAME + 28;
	fputs((const char *)us_bars_head, out);
	fprintf(out, " width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\"",
		WIDTH + 2 * FRAME, high, WIDTH + 2 * FRAME, high);
	label(out, b);
	fputs("><rect class=\"back\" width=\"100%\" height=\"100%\"/>\n", out);
	fprintf(out, "<text class=\"title\" x=\"%d\" y=\"%d\">", FRAME, FRAME + 14);
	us_bars_escape(out, b->title);
	fprintf(out, "</text>\n<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\">\n",
		FRAME, FRAME + 28, WIDTH, high - FRAME - 28);
	draw(out, b);
	legend(out, b);
	fputs("</svg>\n", out);
	fputs((const char *)us_bars_tail, out);
}
