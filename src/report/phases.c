/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phases.c: the phases of a boot, and the hottest functions of each. */
#include "report/columns.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NUMBERS 36 /* columns of the numbers */
#define FEW	5  /* functions of each by default */
#define MOST	100
#define BOLD	"\033[1m"
#define DIM	"\033[2m"
#define RESET	"\033[0m"

struct phases {
	const struct us_profile *p;
	const struct us_report_opts *o;
	struct us_two_columns columns;
	size_t limit;
	struct us_profile_share row[US_PROFILE_MAX_PHASE][MOST];
	size_t n_row[US_PROFILE_MAX_PHASE];
	FILE *out;
};

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static int find_rows(struct phases *x, const struct us_profile_phase *phase, size_t n)
{
	char name[US_CELL_SIZE], place[US_CELL_SIZE];
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = us_profile_phase_functions(x->p, &phase[i], x->limit, x->row[i],
					       &x->n_row[i]);
		for (size_t k = 0; k < x->n_row[i]; k++) {
			us_report_name_cell(x->row[i][k].func, name);
			us_report_place_cell(x->row[i][k].func, x->o, place);
			us_two_columns_measure(&x->columns, name, place);
		}
	}
	us_two_columns_fit(&x->columns, x->o, NUMBERS);
	return r;
}

static void print_phase(struct phases *x, const struct us_profile_phase *phase,
			size_t i)
{
	size_t n;
	char name[US_CELL_SIZE], place[US_CELL_SIZE];
	const struct us_profile_node *node = us_profile_nodes(x->p, &n);
	uint64_t all = phase->node ? node[phase->node].total : 0, told = 0;
	us_printable(name, sizeof(name), phase->name);
	fprintf(x->out, "%s%9.1f %15" PRIu64 " %7.1f   [%s]%s\n",
		x->o->colour ? BOLD : "",
		(double)(phase->to_ns - phase->from_ns) / US_NS_PER_MS, all,
		percent(all, us_profile_summary(x->p)->running), name,
		x->o->colour ? RESET : "");
	for (size_t k = 0; k < x->n_row[i]; k++) {
		const struct us_profile_share *s = &x->row[i][k];
		us_report_name_cell(s->func, name);
		us_report_place_cell(s->func, x->o, place);
		fprintf(x->out, "%9s %15" PRIu64 " %7.1f     ", "", s->self,
			percent(s->self, all));
		us_two_columns_print(&x->columns, x->o, name, place, x->out);
		fputc('\n', x->out);
		told += s->self;
	}
	if (told < all)
		fprintf(x->out, "%9s %15" PRIu64 " %7.1f     other functions\n", "",
			all - told, percent(all - told, all));
}

static void print_warnings(const struct phases *x)
{
	const char *caution = us_profile_fact(x->p, "caution");
	us_report_warnings(x->out, x->o, x->p);
	if (caution && *caution)
		us_report_wrap(x->out, x->o, DIM, "# caution: ", "#   ", caution);
}

static int write_phases(const struct us_profile *p, const struct us_report_opts *o,
			FILE *out, struct us_err *e)
{
	size_t n;
	const struct us_profile_phase *phase = us_profile_phases(p, &n);
	struct phases x = { .p = p, .o = o, .out = out, .limit = FEW };
	if (!n) {
		fputs("no phases: this is no recording of a boot (uniscope boot "
		      "--profile -- VMM ARGS...)\n",
		      out);
		return 0;
	}
	if (o->limit)
		x.limit = o->limit < MOST ? o->limit : MOST;
	if (find_rows(&x, phase, n))
		return us_fail(e, -ENOMEM, "report: out of memory");
	print_warnings(&x);
	fprintf(out, "%9s %15s %7s   phase, and the functions that have most of it\n",
		"ms", us_profile_unit(p), "%");
	for (size_t i = 0; i < n; i++)
		print_phase(&x, &phase[i], i);
	return 0;
}

const struct us_format us_format_phases = {
	.name = "phases",
	.summary = "of a boot (boot --profile): each phase, and where it goes",
	.warns = true,
	.write = write_phases,
};
