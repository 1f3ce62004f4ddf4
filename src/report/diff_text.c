/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_text.c: differences as a table of text. */
#include "report/diff.h"

#include "base/text.h"
#include "report/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NUMBERS 52 /* columns of the numbers */
#define NUMBER	11 /* of each but the interval's 16 */
#define LEAST	16 /* columns for names */
#define FEW	10 /* rows of functions that did not change */
/* Callers change with what they call, and with each chance in it: by this much more. */
#define MUCH_MORE 1.5
#define BOLD	  "\033[1m"
#define RED	  "\033[31m"
#define GREEN	  "\033[32m"
#define DIM	  "\033[2m"
#define RESET	  "\033[0m"

const char *us_diff_unit(const struct us_diff *d)
{
	if (d->opts->by == US_COMPARE_PER)
		return "times";
	if (d->result->exact)
		return us_profile_unit(d->side[0]->v[0]);
	return "%";
}

/* Shares are percentages; a difference of them is in points. */
static double shown(const struct us_diff *d, double value)
{
	return strcmp(us_diff_unit(d), "%") != 0 ? value : 100 * value;
}

static int decimals(const struct us_diff *d)
{
	if (d->opts->by == US_COMPARE_PER)
		return 3;
	return d->result->exact ? 0 : 1;
}

static void tell_change(const struct us_diff *d, const struct us_compare_row *r,
			char *dst, size_t size)
{
	char name[256];
	const char *unit = us_diff_unit(d), *sign = !strcmp(unit, "%") ? " %" : "";
	int n = decimals(d);
	us_printable(name, sizeof(name), r->name);
	snprintf(dst, size, "%s from %.*f%s to %.*f%s", name, n, shown(d, r->before),
		 sign, n, shown(d, r->after), sign);
}

const struct us_compare_row *us_diff_hidden(const struct us_diff *d)
{
	const struct us_comparison *self = d->result, *totals = d->totals;
	if (!totals || !totals->n_changed)
		return NULL;
	double most = self->n_changed ? fabs(self->row[0].diff) : 0;
	return fabs(totals->row[0].diff) > MUCH_MORE * most ? totals->row : NULL;
}

/* Append what changed with its callees. */
static void tell_hidden(const struct us_diff *d, char *dst, size_t size)
{
	const struct us_compare_row *r = us_diff_hidden(d);
	char most[400];
	if (!r)
		return;
	tell_change(d, r, most, sizeof(most));
	us_append(dst, size,
		  "; with callees %zu of %zu changed, most of all %s "
		  "(--children)",
		  d->totals->n_changed, d->totals->n, most);
}

char *us_diff_sentence(const struct us_diff *d, char *dst, size_t size)
{
	const struct us_comparison *c = d->result;
	char most[400];
	if (c->n_changed) {
		tell_change(d, c->row, most, sizeof(most));
		snprintf(dst, size, "%zu of %zu functions changed; most of all %s",
			 c->n_changed, c->n, most);
	} else if (c->exact) {
		snprintf(dst, size, "nothing changed: %zu functions have the same %s",
			 c->n, us_diff_unit(d));
	} else if (c->n) {
		const struct us_compare_row *r = c->row;
		tell_change(d, r, most, sizeof(most));
		snprintf(dst, size,
			 "none of %zu functions changed by more than chance; the "
			 "largest difference is %s (95 %%: %+.1f to %+.1f)",
			 c->n, most, shown(d, r->low), shown(d, r->high));
	} else {
		snprintf(dst, size, "neither side has a function");
	}
	tell_hidden(d, dst, size);
	return dst;
}

static void print_side(const struct us_diff *d, unsigned side,
		       const struct us_report_opts *o, FILE *out)
{
	char line[1024], text[1100];
	const struct us_compare_side *s = d->side[side];
	for (size_t i = 0; i < s->n; i++) {
		us_report_header_line(s->v[i], 0, line, sizeof(line));
		snprintf(text, sizeof(text), "%s %s",
			 side ? "after: " : "before:", line);
		us_report_wrap(out, o, o->colour ? DIM : "", "# ", "#   ", text);
		us_report_warnings(out, o, s->v[i]);
	}
}

const char *us_diff_of(const struct us_diff *d)
{
	static const char *const of[] = {
		[US_COMPARE_SHARE] = "shares of the samples that ran",
		[US_COMPARE_TIME] = "shares of all time, including idle",
		[US_COMPARE_PER] = "times what the function of --per has in all",
	};
	if (d->result->exact && d->opts->by != US_COMPARE_PER)
		return us_diff_unit(d);
	return of[d->opts->by];
}

static void print_header(const struct us_diff *d, const struct us_report_opts *o,
			 FILE *out)
{
	char text[256];
	const char *filters = us_profile_filters(d->side[0]->v[0]);
	print_side(d, 0, o, out);
	print_side(d, 1, o, out);
	if (*filters)
		us_report_wrap(out, o, o->colour ? DIM : "", "# ", "#   ", filters);
	if (d->result->exact)
		snprintf(text, sizeof(text), "%s, counted", us_diff_of(d));
	else
		snprintf(text, sizeof(text),
			 "%s; differences with 95 %% intervals for the long run; of "
			 "the functions listed as changed, one in twenty may be chance",
			 us_diff_of(d));
	us_report_wrap(out, o, o->colour ? DIM : "", "# ", "#   ", text);
}

static void print_figure(const struct us_diff *d, bool seen, double value, FILE *out)
{
	if (seen)
		fprintf(out, "%10.*f ", decimals(d), shown(d, value));
	else
		fprintf(out, "%10s ", "-");
}

static void name_cell(const struct us_compare_row *r, char dst[static US_CELL_SIZE])
{
	us_printable(dst, US_CELL_SIZE, r->name);
}

/* What a narrow terminal has room for: the interval goes first, then the difference,
 * which the two figures show, too. */
struct width {
	bool interval, difference;
};

static struct width fit_numbers(const struct us_report_opts *o, size_t *ret_used)
{
	size_t all = us_report_columns(o);
	struct width w;
	*ret_used = NUMBERS;
	w.interval = all >= *ret_used + LEAST;
	*ret_used -= w.interval ? 0 : 17;
	w.difference = all >= *ret_used + LEAST;
	*ret_used -= w.difference ? 0 : NUMBER;
	return w;
}

static void print_row(const struct us_diff *d, const struct us_compare_row *r,
		      const struct us_two_columns *columns,
		      const struct us_report_opts *o, FILE *out)
{
	char name[US_CELL_SIZE], place[US_CELL_SIZE], interval[48] = "";
	size_t used;
	struct width w = fit_numbers(o, &used);
	int n = decimals(d);
	const char *paint = !r->changed ? DIM : r->diff > 0 ? RED : GREEN;
	if (!d->result->exact)
		snprintf(interval, sizeof(interval), "%+.*f to %+.*f", n,
			 shown(d, r->low), n, shown(d, r->high));
	fputs(o->colour ? paint : "", out);
	print_figure(d, r->was, r->before, out);
	print_figure(d, r->is, r->after, out);
	if (w.difference)
		fprintf(out, "%+10.*f ", n, shown(d, r->diff));
	if (w.interval)
		fprintf(out, "%16s ", interval);
	fprintf(out, "%s  ", o->colour ? RESET : "");
	name_cell(r, name);
	us_report_place_cell(r->func, o, place);
	us_two_columns_print(columns, o, name, place, out);
	fputc('\n', out);
}

static void print_rows(const struct us_diff *d, size_t from, size_t to,
		       const struct us_report_opts *o, FILE *out)
{
	struct us_two_columns columns = { 0 };
	size_t used;
	struct width w = fit_numbers(o, &used);
	char name[US_CELL_SIZE], place[US_CELL_SIZE];
	for (size_t i = from; i < to; i++) {
		name_cell(&d->result->row[i], name);
		us_report_place_cell(d->result->row[i].func, o, place);
		us_two_columns_measure(&columns, name, place);
	}
	us_two_columns_measure(&columns, "function", "file:line");
	us_two_columns_fit(&columns, o, used);
	fprintf(out, "%s%10s %10s ", o->colour ? BOLD : "",
		d->result->exact ? "before" : "before %",
		d->result->exact ? "after" : "after %");
	if (w.difference)
		fprintf(out, "%10s ", "difference");
	if (w.interval)
		fprintf(out, "%16s ", d->result->exact ? "" : "95 %");
	fputs("  ", out);
	snprintf(name, sizeof(name), "function");
	snprintf(place, sizeof(place), "file:line");
	us_two_columns_print(&columns, o, name, place, out);
	fprintf(out, "%s\n", o->colour ? RESET : "");
	for (size_t i = from; i < to; i++)
		print_row(d, &d->result->row[i], &columns, o, out);
}

int us_diff_text(const struct us_diff *d, const struct us_report_opts *o, FILE *out,
		 struct us_err *e)
{
	const struct us_comparison *c = d->result;
	size_t most = o->limit ? o->limit : c->n;
	size_t changed = c->n_changed < most ? c->n_changed : most;
	size_t few = o->limit ? o->limit : FEW;
	char text[1024];
	print_header(d, o, out);
	if (changed) {
		fputs("\nchanged:\n", out);
		print_rows(d, 0, changed, o, out);
	}
	if (c->n_changed < c->n && !c->exact) {
		size_t to = c->n - c->n_changed < few ? c->n : c->n_changed + few;
		fputs("\nno more than chance:\n", out);
		print_rows(d, c->n_changed, to, o, out);
		if (to < c->n)
			fprintf(out, "and %zu more\n", c->n - to);
	}
	fputc('\n', out);
	us_report_wrap(out, o, "", "", "  ", us_diff_sentence(d, text, sizeof(text)));
	return us_report_flush(out, "text", e);
}
