/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c: the table of functions, for people. */
#include "report/report.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NUMBERS	     44 /* columns of the numbers */
#define LEAST_NAME   16
#define LEAST_PLACE  8
#define WIDEST_NAME  60
#define NAME_BYTES   1024
#define HOT_PERCENT  10
#define WARM_PERCENT 1

struct table {
	const struct us_profile *p;
	const struct us_report_opts *o;
	const struct us_profile_func *func;
	const uint32_t *row;
	size_t n; /* rows shown */
	size_t name_width;
	FILE *out;
};

static const char *paint(const struct us_report_opts *o, const char *code)
{
	return o->colour ? code : "";
}

#define BOLD   "\033[1m"
#define YELLOW "\033[33m"
#define RED    "\033[31m"
#define DIM    "\033[2m"
#define RESET  "\033[0m"

static double share(const struct us_profile *p, uint64_t weight)
{
	uint64_t all = us_profile_summary(p)->running;
	return all ? 100.0 * (double)weight / (double)all : 0;
}

static size_t columns(const char *s)
{
	size_t n = 0;
	for (; *s; s += us_utf8_len(s) ? us_utf8_len(s) : 1)
		n++;
	return n;
}

/* Cut s to so many columns, with a mark that it was. */
static void cut_to(char *s, size_t width)
{
	char *end = s;
	if (columns(s) <= width || width < 2)
		return;
	for (size_t i = 0; i + 1 < width; i++)
		end += us_utf8_len(end) ? us_utf8_len(end) : 1;
	if ((size_t)(end - s) + sizeof("…") <= NAME_BYTES)
		memcpy(end, "…", sizeof("…"));
}

static void function_text(char dst[static NAME_BYTES], const struct us_profile_func *f)
{
	us_printable(dst, NAME_BYTES - 16, f->name);
	if (f->inlined)
		strcat(dst, " (inlined)");
}

static void place_text(char dst[static NAME_BYTES], const struct us_profile_func *f,
		       bool whole)
{
	char place[NAME_BYTES - 16];
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;
	dst[0] = '\0';
	if (!f->file) {
		us_printable(dst, NAME_BYTES, f->module ? f->module : "");
		return;
	}
	us_printable(place, sizeof(place), slash && !whole ? slash + 1 : f->file);
	if (f->line)
		snprintf(dst, NAME_BYTES, "%s:%" PRIu32, place, f->line);
	else
		memcpy(dst, place, strlen(place) + 1);
}

static void print_header(const struct table *t)
{
	char line[1024];
	for (unsigned i = 0; us_report_header_line(t->p, i, line, sizeof(line)); i++)
		fprintf(t->out, "%s# %s%s\n", paint(t->o, DIM),
			us_printable_inplace(line), paint(t->o, RESET));
	us_report_interval_line(t->p, line, sizeof(line));
	if (us_profile_summary(t->p)->running)
		fprintf(t->out, "%s# %s%s\n", paint(t->o, DIM),
			us_printable_inplace(line), paint(t->o, RESET));
	for (size_t i = 0; i < us_profile_n_warning(t->p); i++) {
		us_printable(line, sizeof(line), us_profile_warning(t->p, i));
		fprintf(t->out, "%s# warning: %s%s\n", paint(t->o, YELLOW), line,
			paint(t->o, RESET));
	}
}

static size_t name_width(const struct table *t)
{
	char name[NAME_BYTES];
	size_t width = LEAST_NAME;
	for (size_t i = 0; i < t->n; i++) {
		function_text(name, &t->func[t->row[i]]);
		size_t n = columns(name);
		width = n > width ? n : width;
	}
	width = width > WIDEST_NAME ? WIDEST_NAME : width;
	/* Leave a third of what is left for the place. */
	size_t room = t->o->width > NUMBERS ? (t->o->width - NUMBERS) * 2 / 3 : 0;
	if (t->o->width && width > room)
		width = room > LEAST_NAME ? room : LEAST_NAME;
	return width;
}

/* name is what stands before it, printed already. */
static void print_place(const struct table *t, const struct us_profile_func *f,
			const char *name)
{
	char place[NAME_BYTES];
	size_t n = columns(name), width = t->o->width;
	size_t pad = n < t->name_width ? t->name_width - n : 0;
	size_t used = NUMBERS + n + pad + 2;
	place_text(place, f, true);
	if (width && columns(place) + used > width)
		place_text(place, f, false);
	if (width && width < used + LEAST_PLACE)
		return;
	if (width)
		cut_to(place, width - used);
	if (*place)
		fprintf(t->out, "%*s  %s", (int)pad, "", place);
}

static void print_row(const struct table *t, const struct us_profile_func *f)
{
	char name[NAME_BYTES], interval[32];
	bool by_total = us_report_by_total(t->o);
	double self = share(t->p, f->self), total = share(t->p, f->total);
	double low = 100 * (by_total ? f->total_low : f->self_low);
	double high = 100 * (by_total ? f->total_high : f->self_high);
	double key = by_total ? total : self;
	const char *colour = key >= HOT_PERCENT ? RED : key >= WARM_PERCENT ? "" : DIM;
	function_text(name, f);
	if (t->o->width)
		cut_to(name, t->name_width);
	snprintf(interval, sizeof(interval), "%.1f-%.1f", low, high);
	fprintf(t->out, "%s%7.1f %8.1f %10" PRIu64 "  %12s%s   %s", paint(t->o, colour),
		self, total, by_total ? f->total : f->self, interval,
		paint(t->o, *colour ? RESET : ""), name);
	print_place(t, f, name);
	fputc('\n', t->out);
}

static void print_table(const struct table *t)
{
	bool by_total = us_report_by_total(t->o);
	fprintf(t->out, "\n%s%7s %8s %10s  %12s   %-*s  %s%s\n", paint(t->o, BOLD),
		"self %", "total %", by_total ? "in total" : "samples",
		by_total ? "95 % (total)" : "95 % (self)", (int)t->name_width,
		"function", "file:line", paint(t->o, RESET));
	for (size_t i = 0; i < t->n; i++)
		print_row(t, &t->func[t->row[i]]);
}

static void print_rest(const struct table *t, size_t n_all)
{
	uint64_t self = 0;
	for (size_t i = t->n; i < n_all; i++)
		self += t->func[t->row[i]].self;
	if (t->n < n_all)
		fprintf(t->out, "%7.1f %8s %10" PRIu64 "  %12s   %zu more functions\n",
			share(t->p, self), "", self, "", n_all - t->n);
}

static void print_summary(const struct table *t)
{
	char line[1024];
	fprintf(t->out, "\n%s\n", us_report_summary_line(t->p, line, sizeof(line)));
	if (!t->o->file)
		return;
	us_printable(line, sizeof(line), t->o->file);
	fprintf(t->out, "next: uniscope report -o flame.html %s\n", line);
}

static int write_text(const struct us_profile *p, const struct us_report_opts *o,
		      FILE *out, struct us_err *e)
{
	_cleanup_free_ uint32_t *row = NULL;
	size_t n = 0, n_func;
	if (us_report_rows(p, o, &row, &n))
		return us_fail(e, -ENOMEM, "report: out of memory");
	struct table t = { .p = p,
			   .o = o,
			   .func = us_profile_funcs(p, &n_func),
			   .row = row,
			   .n = o->limit && o->limit < n ? o->limit : n,
			   .out = out };
	t.name_width = name_width(&t);
	print_header(&t);
	if (n)
		print_table(&t);
	print_rest(&t, n);
	print_summary(&t);
	return 0;
}

const struct us_format us_format_text = {
	.name = "text",
	.suffix = ".txt",
	.summary = "table of functions with shares and their intervals",
	.write = write_text,
};
