/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.c: the call tree as text: from the top down, from the bottom up, or around one
 * function.  Each level of calls is one column further to the right.
 */
#include "report/columns.h"

#include "base/text.h"
#include "profile/branches.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NUMBERS	   30 /* columns of the numbers */
#define SAMPLES	   11 /* of these; left out below this width, as in text.c */
#define LEAST	   50
#define MAX_INDENT 40 /* deeper levels are shown as a number */
#define LEAST_NAME 12
#define DEPTH	   5 /* columns of that number */
#define BOLD	   "\033[1m"
#define DIM	   "\033[2m"
#define RESET	   "\033[0m"

struct tree {
	const struct us_profile *p;
	const struct us_report_opts *o;
	const struct us_profile_func *func;
	FILE *out;
	bool hidden; /* some branches were too light */
};

static double share(const struct us_profile *p, uint64_t weight)
{
	uint64_t all = us_profile_summary(p)->running;
	return all ? 100.0 * (double)weight / (double)all : 0;
}

static bool has_samples(const struct tree *t)
{
	return us_report_columns(t->o) >= LEAST;
}

static size_t numbers(const struct tree *t)
{
	return has_samples(t) ? NUMBERS : NUMBERS - SAMPLES;
}

/* A narrow terminal has room for fewer levels. */
static unsigned most_indent(const struct tree *t)
{
	size_t all = us_report_columns(t->o), used = numbers(t) + DEPTH + LEAST_NAME;
	size_t most = all > used ? all - used : 0;
	return most < MAX_INDENT ? (unsigned)most : MAX_INDENT;
}

static void print_row(const struct tree *t, const struct us_branch *b, unsigned depth,
		      bool with_self)
{
	char name[US_CELL_SIZE], number[16] = "", self[16] = "";
	size_t all = us_report_columns(t->o), left = LEAST_NAME;
	unsigned most = most_indent(t), indent = depth < most ? depth : most;
	if (depth > indent)
		snprintf(number, sizeof(number), "[%u] ", depth);
	if (with_self)
		snprintf(self, sizeof(self), "%.1f", share(t->p, b->self));
	size_t used = numbers(t) + indent + strlen(number);
	if (all > used + left)
		left = all - used;
	us_report_name_cell(&t->func[b->func], name);
	fprintf(t->out, "%7.1f %8s", share(t->p, b->total), self);
	if (has_samples(t))
		fprintf(t->out, " %10" PRIu64, b->total);
	fprintf(t->out, "   %*s%s%s\n", (int)indent, "", number,
		us_shorten_middle(name, sizeof(name), left));
}

/* Depth first; branches below the limit are left out, with all that they call. */
static void print_branches(struct tree *t, const struct us_branches *b, bool with_self)
{
	unsigned depth = 0;
	for (uint32_t i = b->v[0].child; i;) {
		bool shown = share(t->p, b->v[i].total) >= t->o->least_percent;
		if (shown)
			print_row(t, &b->v[i], depth, with_self);
		else
			t->hidden = true;
		if (shown && b->v[i].child) {
			i = b->v[i].child;
			depth++;
			continue;
		}
		while (i && !b->v[i].next) {
			i = b->v[i].parent;
			depth -= depth > 0;
		}
		i = i ? b->v[i].next : 0;
	}
}

static void print_title(const struct tree *t, const char *what, bool with_self)
{
	size_t all = us_report_columns(t->o), n = strlen(what);
	if (numbers(t) + n > all)
		n = strcspn(what, ",");
	fprintf(t->out, "\n%s%7s %8s", t->o->colour ? BOLD : "", "total %",
		with_self ? "self %" : "");
	if (has_samples(t))
		fprintf(t->out, " %10s", us_profile_unit(t->p));
	fprintf(t->out, "   %.*s%s\n", (int)n, what, t->o->colour ? RESET : "");
}

static int print_around(struct tree *t, struct us_err *e)
{
	struct us_branches up = { 0 }, down = { 0 };
	const struct us_profile_func *f;
	int r = us_profile_named(t->p, t->o->around, &f, e);
	if (r < 0)
		return r;
	uint32_t func = (uint32_t)(f - t->func);
	r = us_profile_callers(t->p, func, &up);
	if (r == 0)
		r = us_profile_callees(t->p, func, &down);
	if (r == 0) {
		print_title(t, "it, its callers below it, theirs below them", false);
		print_branches(t, &up, false);
		print_title(t, "it, and what it calls", true);
		print_branches(t, &down, true);
	}
	us_branches_fini(&up);
	us_branches_fini(&down);
	return r;
}

static int print_whole(struct tree *t)
{
	struct us_branches b;
	bool bottom_up = t->o->bottom_up;
	int r = bottom_up ? us_profile_callers(t->p, US_EACH_FUNCTION, &b)
			  : us_profile_call_tree(t->p, &b);
	if (r < 0)
		return r;
	print_title(t,
		    bottom_up ? "function, and its callers below it"
			      : "function, and what it calls below it",
		    !bottom_up);
	print_branches(t, &b, !bottom_up);
	us_branches_fini(&b);
	return 0;
}

static void print_header(const struct tree *t)
{
	char line[1024];
	for (unsigned i = 0; us_report_header_line(t->p, i, line, sizeof(line)); i++)
		us_report_wrap(t->out, t->o, DIM, "# ", "#   ", line);
	us_report_warnings(t->out, t->o, t->p);
}

static int write_tree(const struct us_profile *p, const struct us_report_opts *o,
		      FILE *out, struct us_err *e)
{
	size_t n_func;
	struct tree t = { p, o, us_profile_funcs(p, &n_func), out, false };
	char line[1024];
	print_header(&t);
	int r = o->around ? print_around(&t, e) : print_whole(&t);
	if (r == -ENOMEM)
		return us_fail(e, r, "report: out of memory for the tree");
	if (r < 0)
		return r;
	if (t.hidden) {
		snprintf(line, sizeof(line),
			 "not shown: branches below %g %% (--percent-limit)",
			 o->least_percent);
		fputc('\n', out);
		us_report_wrap(out, o, "", "", "  ", line);
	}
	fputc('\n', out);
	us_report_wrap(out, o, "", "", "  ",
		       us_report_summary_line(p, line, sizeof(line)));
	return 0;
}

const struct us_format us_format_tree = {
	.name = "tree",
	.summary = "who calls whom, as text",
	.waits = true,
	.warns = true,
	.write = write_tree,
};
