/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c: the table of functions, as text. */
#include "report/columns.h"
#include "report/groups.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NUMBERS	     44 /* columns of the numbers */
#define INTERVAL     14 /* of these, what a narrow terminal can do without: ... */
#define SAMPLES	     11 /* ... the shares say it, too */
#define LEAST	     20 /* for names, and "1234 more functions" */
#define TOTAL	     9	/* of these, what is left out if no callers were counted */
#define FEW_NUMBERS  26 /* if only calls were counted */
#define NEXT	     "next: uniscope report -o flame.html "
#define HOT_PERCENT  10
#define WARM_PERCENT 1

struct table {
	const struct us_profile *p;
	const struct us_report_opts *o;
	const struct us_profile_func *func;
	const uint32_t *row;
	size_t n; /* rows shown */
	struct us_two_columns columns;
	bool no_interval, no_samples;
	FILE *out;
};

static const char *paint(const struct us_report_opts *o, const char *code)
{
	return o->colour ? code : "";
}

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define DIM   "\033[2m"
#define RESET "\033[0m"

static double share(const struct us_profile *p, uint64_t weight)
{
	uint64_t all = us_profile_summary(p)->running;
	return all ? 100.0 * (double)weight / (double)all : 0;
}

static void print_header(const struct table *t)
{
	char line[1024];
	for (unsigned i = 0; us_report_header_line(t->p, i, line, sizeof(line)); i++)
		us_report_wrap(t->out, t->o, DIM, "# ", "#   ", line);
	us_report_interval_line(t->p, line, sizeof(line));
	if (us_profile_summary(t->p)->running && *line)
		us_report_wrap(t->out, t->o, DIM, "# ", "#   ", line);
	us_report_warnings(t->out, t->o, t->p);
}

/* Columns of the numbers; of samples only those that leave room for names. */
static size_t fit_numbers(struct table *t)
{
	size_t all = us_report_columns(t->o), used = NUMBERS;
	if (us_profile_is_calls_only(t->p))
		return FEW_NUMBERS;
	if (us_profile_is_counted(t->p))
		return us_profile_is_flat(t->p) ? NUMBERS - TOTAL : NUMBERS;
	t->no_interval = all < used + LEAST;
	used -= t->no_interval ? INTERVAL : 0;
	t->no_samples = all < used + LEAST;
	return used - (t->no_samples ? SAMPLES : 0);
}

static void fit_columns(struct table *t)
{
	char name[US_CELL_SIZE], place[US_CELL_SIZE];
	for (size_t i = 0; i < t->n; i++) {
		us_report_name_cell(&t->func[t->row[i]], name);
		us_report_place_cell(&t->func[t->row[i]], t->o, place);
		us_two_columns_measure(&t->columns, name, place);
	}
	if (t->columns.widest_place)
		us_two_columns_measure(&t->columns, "function", "file:line");
	us_two_columns_fit(&t->columns, t->o, fit_numbers(t));
}

static void print_numbers(const struct table *t, uint64_t weight, const char *interval)
{
	if (!t->no_samples)
		fprintf(t->out, " %10" PRIu64, weight);
	if (!t->no_interval)
		fprintf(t->out, "  %12s", interval);
}

static void print_row(const struct table *t, const struct us_profile_func *f)
{
	char name[US_CELL_SIZE], place[US_CELL_SIZE], interval[32];
	bool by_total = us_report_by_total(t->o);
	double self = share(t->p, f->self), total = share(t->p, f->total);
	double low = 100 * (by_total ? f->total_low : f->self_low);
	double high = 100 * (by_total ? f->total_high : f->self_high);
	double key = by_total ? total : self;
	const char *colour = key >= HOT_PERCENT ? RED : key >= WARM_PERCENT ? "" : DIM;
	uint64_t weight = by_total ? f->total : f->self;
	us_report_name_cell(f, name);
	us_report_place_cell(f, t->o, place);
	snprintf(interval, sizeof(interval), "%.1f-%.1f", low, high);
	fprintf(t->out, "%s%7.1f", paint(t->o, colour), self);
	if (!us_profile_is_flat(t->p))
		fprintf(t->out, " %8.1f", total);
	if (us_profile_is_calls_only(t->p))
		fprintf(t->out, " %15" PRIu64, f->calls);
	else if (us_profile_is_counted(t->p))
		fprintf(t->out, " %10" PRIu64 " %13" PRIu64, f->calls, weight);
	else
		print_numbers(t, weight, interval);
	fprintf(t->out, "%s   ", paint(t->o, *colour ? RESET : ""));
	us_two_columns_print(&t->columns, t->o, name, place, t->out);
	fputc('\n', t->out);
}

static void print_table(const struct table *t)
{
	bool by_total = us_report_by_total(t->o);
	char name[US_CELL_SIZE] = "function", place[US_CELL_SIZE] = "file:line";
	fprintf(t->out, "\n%s", paint(t->o, BOLD));
	if (us_profile_is_calls_only(t->p))
		fprintf(t->out, "%7s %15s", "%", "calls");
	else if (us_profile_is_flat(t->p))
		fprintf(t->out, "%7s %10s %13s", "%", "calls", "instr.");
	else if (us_profile_is_counted(t->p))
		fprintf(t->out, "%7s %8s %10s %13s", "self %", "total %", "calls",
			by_total ? "instr. total" : "instr. self");
	else
		fprintf(t->out, "%7s %8s", "self %", "total %");
	if (!us_profile_is_counted(t->p) && !t->no_samples)
		fprintf(t->out, " %10s", by_total ? "in total" : "samples");
	if (!us_profile_is_counted(t->p) && !t->no_interval)
		fprintf(t->out, "  %12s", by_total ? "95 % (total)" : "95 % (self)");
	fputs("   ", t->out);
	us_two_columns_print(&t->columns, t->o, name, place, t->out);
	fprintf(t->out, "%s\n", paint(t->o, RESET));
	for (size_t i = 0; i < t->n; i++)
		print_row(t, &t->func[t->row[i]]);
}

static void print_rest(const struct table *t, size_t n_all)
{
	uint64_t self = 0, calls = 0;
	for (size_t i = t->n; i < n_all; i++) {
		self += t->func[t->row[i]].self;
		calls += t->func[t->row[i]].calls;
	}
	if (t->n < n_all && us_profile_is_calls_only(t->p))
		fprintf(t->out, "%7.1f %15" PRIu64 "   %zu more functions\n",
			share(t->p, self), calls, n_all - t->n);
	else if (t->n < n_all && us_profile_is_flat(t->p))
		fprintf(t->out,
			"%7.1f %10" PRIu64 " %13" PRIu64 "   %zu more functions\n",
			share(t->p, self), calls, self, n_all - t->n);
	else if (t->n < n_all && us_profile_is_counted(t->p))
		fprintf(t->out,
			"%7.1f %8s %10" PRIu64 " %13" PRIu64 "   %zu more functions\n",
			share(t->p, self), "", calls, self, n_all - t->n);
	else if (t->n < n_all) {
		fprintf(t->out, "%7.1f %8s", share(t->p, self), "");
		print_numbers(t, self, "");
		fprintf(t->out, "   %zu more functions\n", n_all - t->n);
	}
}

static void print_summary(const struct table *t)
{
	char line[1024];
	fputc('\n', t->out);
	us_report_wrap(t->out, t->o, "", "", "  ",
		       us_report_summary_line(t->p, line, sizeof(line)));
	if (!t->o->file)
		return;
	us_printable(line, sizeof(line), t->o->file);
	bool fits = us_columns(line) + strlen(NEXT) <= us_report_columns(t->o);
	fprintf(t->out, NEXT "%s\n", fits ? line : "FILE");
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
	int rc = 0;
	fit_columns(&t);
	print_header(&t);
	if (n && o->group_by)
		rc = us_report_groups_text(p, o, out, e);
	else if (n)
		print_table(&t);
	if (!o->group_by)
		print_rest(&t, n);
	print_summary(&t);
	return rc;
}

const struct us_format us_format_text = {
	.name = "text",
	.suffix = ".txt",
	.summary = "table of functions with shares and their intervals",
	.groups = true,
	.waits = true,
	.warns = true,
	.write = write_text,
};
