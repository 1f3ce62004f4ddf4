/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bars_html.c: a page with the bar chart, its legend and its numbers. */
#include "report/bars.h"
#include "report/page.h"

#define MS	1e6 /* ns */
#define COLOURS 8

static void element(FILE *out, const char *open, const char *text, const char *close)
{
	fputs(open, out);
	us_bars_escape(out, text);
	fputs(close, out);
}

static void estimate(FILE *out, const struct us_estimate *e)
{
	fprintf(out, "<td class=\"num\">%.1f</td><td class=\"between\">",
		e->value / MS);
	if (e->high > e->low)
		fprintf(out, "%.1f–%.1f", e->low / MS, e->high / MS);
	fputs("</td>", out);
}

/* What the ranges are; the same for all bars. */
static const char *range_is(const struct us_bars *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (!b->bar[i].total.sure)
			return "Range";
	return "95 %";
}

static void head_of_range(FILE *out, const struct us_bars *b)
{
	element(out, "<th scope=\"col\">", range_is(b), "</th>");
}

static void legend(FILE *out, const struct us_bars *b)
{
	fputs("<ul id=\"colours\" aria-label=\"Colours\">", out);
	for (unsigned k = 0; k < US_MAX_BAR_PART; k++) {
		const char *name = us_bars_kind(b, k);
		if (!name)
			continue;
		fprintf(out,
			"<li><svg class=\"bars\" width=\"12\" height=\"12\" "
			"aria-hidden=\"true\"><rect class=\"b%u\" width=\"12\" "
			"height=\"12\"/></svg>",
			k % COLOURS);
		element(out, "", name, "</li>");
	}
	fputs("</ul>\n", out);
}

/* ---- Numbers ---- */

static const struct us_bar_part *part_of(const struct us_bar *r, unsigned kind)
{
	for (size_t k = 0; k < r->n; k++)
		if (r->part[k].kind == kind)
			return &r->part[k];
	return NULL;
}

/* Several bars: their parts stand side by side. */
static void table_of_all(FILE *out, const struct us_bars *b)
{
	fputs("<thead><tr><th scope=\"col\">Variant</th><th scope=\"col\" "
	      "class=\"num\">Total</th>",
	      out);
	head_of_range(out, b);
	for (unsigned k = 0; k < US_MAX_BAR_PART; k++)
		if (us_bars_kind(b, k)) {
			element(out, "<th scope=\"col\" class=\"num\">",
				us_bars_kind(b, k), "</th>");
			head_of_range(out, b);
		}
	fputs("<th scope=\"col\">Against the first</th></tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < b->n; i++) {
		const struct us_bar *r = &b->bar[i];
		element(out, "<tr><th scope=\"row\">", r->name, "</th>");
		estimate(out, &r->total);
		for (unsigned k = 0; k < US_MAX_BAR_PART; k++) {
			const struct us_bar_part *p = part_of(r, k);
			if (p)
				estimate(out, &p->ns);
			else if (us_bars_kind(b, k))
				fputs("<td class=\"num\">–</td><td></td>", out);
		}
		element(out, "<td>", r->note ? r->note : "", "</td></tr>\n");
	}
}

static void table_of_one(FILE *out, const struct us_bars *b)
{
	const struct us_bar *r = &b->bar[0];
	fputs("<thead><tr><th scope=\"col\">Until</th><th scope=\"col\" "
	      "class=\"num\">ms</th>",
	      out);
	head_of_range(out, b);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t k = 0; k < r->n; k++) {
		element(out, "<tr><th scope=\"row\">", r->part[k].name, "</th>");
		estimate(out, &r->part[k].ns);
		fputs("</tr>\n", out);
	}
	fputs("<tr><th scope=\"row\">in all</th>", out);
	estimate(out, &r->total);
	fputs("</tr>\n", out);
}

void us_bars_html(FILE *out, const struct us_bars *b)
{
	bool sure = range_is(b)[0] != 'R';
	fputs((const char *)us_bars_page_head, out);
	element(out, "<h1>", b->title, "</h1>\n");
	element(out, "<p class=\"muted\">", b->about, "</p>\n</header>\n<main>\n");
	us_bars_svg_inline(out, b);
	legend(out, b);
	fprintf(out,
		"<p class=\"note\">Whiskers are %s; those below a bar are of the part "
		"that ends there.</p>\n",
		sure ? "intervals of 95 %" : "all that was seen: too few runs");
	fputs("<section aria-label=\"Numbers\" class=\"wide\" tabindex=\"0\">"
	      "<table>\n<caption class=\"hidden\">Times in ms</caption>\n",
	      out);
	if (b->n > 1)
		table_of_all(out, b);
	else if (b->n)
		table_of_one(out, b);
	fputs("</tbody></table></section>\n", out);
	fputs((const char *)us_bars_page_tail, out);
}
