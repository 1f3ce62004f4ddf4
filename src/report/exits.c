/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exits.c: which guest functions caused exits, for what reasons, and what that cost. */
#include "report/columns.h"
#include "profile/time_split.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WORDS	      512
#define NUMBERS	      31 /* columns of the numbers */
#define NUMBER	      11 /* of these, each but the first */
#define LEAST_NAME    17 /* with the space before it */
#define LEAST_REASON  14
#define WIDEST_REASON 36

/* Samples of one exit reason in one function, with what the host did then. */
struct row {
	uint32_t reason, at; /* indices of functions; at is UINT32_MAX: not known */
	uint64_t samples;
};

struct exits {
	const struct us_profile *p;
	const struct us_profile_func *func;
	const struct us_profile_node *node;
	struct row *row;
	size_t n;
	uint64_t all; /* samples */
	struct us_time_split time;
	const struct us_report_opts *o;
	size_t numbers, reason, widest; /* columns; widest: a reason may have */
	bool no_ms, no_samples;		/* the terminal has no room for them */
	struct us_two_columns columns;
};

static bool is_told(const struct us_profile_func *f)
{
	return !strncmp(f->name, US_FRAME_EXIT_FOR, strlen(US_FRAME_EXIT_FOR));
}

static bool is_exit(const struct us_profile_func *f)
{
	return !f->known && (!strcmp(f->name, US_FRAME_EXIT) || is_told(f));
}

/* The enclosing function that is not inlined: inlined code has no name of its own in
 * the guest. */
static uint32_t function_of(const struct exits *x, uint32_t node)
{
	uint32_t at = x->node[node].parent;
	while (at && x->func[x->node[at].func].inlined && x->node[at].parent)
		at = x->node[at].parent;
	return at ? x->node[at].func : UINT32_MAX;
}

static int by_kind(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int by_cost(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return x->samples > y->samples	 ? -1
	       : x->samples < y->samples ? 1
					 : by_kind(a, b);
}

static int collect(struct exits *x, size_t n_node)
{
	x->row = calloc(n_node + 1, sizeof(*x->row));
	if (!x->row)
		return -ENOMEM;
	for (uint32_t i = 1; i < n_node; i++) {
		const struct us_profile_node *n = &x->node[i];
		if (!n->total || !is_exit(&x->func[n->func]))
			continue;
		x->row[x->n++] = (struct row){ n->func, function_of(x, i), n->total };
		x->all += n->total;
	}
	qsort(x->row, x->n, sizeof(*x->row), by_kind);
	size_t kept = 0;
	for (size_t i = 0; i < x->n; i++) {
		if (kept && !by_kind(&x->row[kept - 1], &x->row[i]))
			x->row[kept - 1].samples += x->row[i].samples;
		else
			x->row[kept++] = x->row[i];
	}
	x->n = kept;
	qsort(x->row, x->n, sizeof(*x->row), by_cost);
	return 0;
}

static double share(const struct exits *x, uint64_t samples)
{
	uint64_t running = us_profile_summary(x->p)->running;
	return running ? 100.0 * (double)samples / (double)running : 0;
}

/* "[vm exit: port I/O, in the VMM]" without brackets and prefix. */
static void reason_text(const struct exits *x, const struct row *r,
			char dst[static WORDS])
{
	const char *name = x->func[r->reason].name;
	if (!is_told(&x->func[r->reason])) {
		snprintf(dst, WORDS, "not reported by this backend");
		return;
	}
	us_printable(dst, WORDS, name + strlen(US_FRAME_EXIT_FOR));
	dst[strcspn(dst, "]")] = '\0';
}

static void reason_cell(const struct exits *x, const struct row *r,
			char dst[static WORDS])
{
	reason_text(x, r, dst);
	us_shorten_middle(dst, WORDS, x->widest);
}

static void at_cells(const struct exits *x, const struct row *r,
		     char name[static US_CELL_SIZE], char place[static US_CELL_SIZE])
{
	if (r->at != UINT32_MAX) {
		us_printable(name, US_CELL_SIZE, x->func[r->at].name);
		us_report_place_cell(&x->func[r->at], x->o, place);
	} else {
		snprintf(name, US_CELL_SIZE, "[no stack]");
		place[0] = '\0';
	}
}

static void fit_numbers(struct exits *x)
{
	size_t all = us_report_columns(x->o), names = LEAST_REASON + LEAST_NAME;
	x->numbers = NUMBERS;
	x->no_ms = all < x->numbers + names;
	x->numbers -= x->no_ms ? NUMBER : 0;
	x->no_samples = all < x->numbers + names;
	x->numbers -= x->no_samples ? NUMBER : 0;
	size_t left = all > x->numbers + names ? all - x->numbers - LEAST_NAME
					       : LEAST_REASON;
	x->widest = left < WIDEST_REASON ? left : WIDEST_REASON;
}

static const char *reason_title(const struct exits *x)
{
	const char *whole = "left the guest for";
	return strlen(whole) <= x->widest ? whole : "left for";
}

static void fit_columns(struct exits *x, size_t n)
{
	char reason[WORDS], name[US_CELL_SIZE], place[US_CELL_SIZE];
	fit_numbers(x);
	x->reason = strlen(reason_title(x));
	for (size_t i = 0; i < n; i++) {
		reason_cell(x, &x->row[i], reason);
		size_t wide = us_columns(reason);
		x->reason = wide > x->reason ? wide : x->reason;
		at_cells(x, &x->row[i], name, place);
		us_two_columns_measure(&x->columns, name, place);
	}
	us_two_columns_measure(&x->columns, "in function", "file:line");
	us_two_columns_fit(&x->columns, x->o, x->numbers + x->reason + 1);
}

static void print_row(const struct exits *x, const struct row *r, FILE *out)
{
	char reason[WORDS], name[US_CELL_SIZE], place[US_CELL_SIZE];
	reason_cell(x, r, reason);
	at_cells(x, r, name, place);
	fprintf(out, "%7.2f ", share(x, r->samples));
	if (!x->no_ms)
		fprintf(out, "%10.1f ",
			(double)r->samples * x->time.unit_ns / US_NS_PER_MS);
	if (!x->no_samples)
		fprintf(out, "%10" PRIu64 " ", r->samples);
	fprintf(out, " %s%*s", reason, (int)(x->reason - us_columns(reason) + 1), "");
	us_two_columns_print(&x->columns, x->o, name, place, out);
	fputc('\n', out);
}

static void print_rows(struct exits *x, size_t limit, FILE *out)
{
	char name[US_CELL_SIZE] = "in function", place[US_CELL_SIZE] = "file:line";
	size_t shown = limit && limit < x->n ? limit : x->n;
	fit_columns(x, shown);
	fprintf(out, "\n%7s ", "%");
	if (!x->no_ms)
		fprintf(out, "%10s ", "ms");
	if (!x->no_samples)
		fprintf(out, "%10s ", "samples");
	fprintf(out, " %-*s ", (int)x->reason, reason_title(x));
	us_two_columns_print(&x->columns, x->o, name, place, out);
	fputc('\n', out);
	for (size_t i = 0; i < shown; i++)
		print_row(x, &x->row[i], out);
	if (shown < x->n)
		fprintf(out, "%*s%zu more\n", (int)x->numbers, "", x->n - shown);
}

#define PART_NUMBERS 22 /* columns */

static void print_part(const char *name, double ns, double whole_ns,
		       const struct exits *x, FILE *out)
{
	char cell[WORDS];
	size_t all = us_report_columns(x->o);
	snprintf(cell, sizeof(cell), "%s", name);
	if (all > PART_NUMBERS + LEAST_NAME)
		us_shorten_middle(cell, sizeof(cell), all - PART_NUMBERS);
	fprintf(out, "%7.2f %12.1f  %s\n", 100 * ns / whole_ns, ns / US_NS_PER_MS,
		cell);
}

static void print_part_title(const struct exits *x, const char *title,
			     const char *narrow, FILE *out)
{
	bool fits = PART_NUMBERS + strlen(title) <= us_report_columns(x->o);
	fprintf(out, "\n%7s %12s  %s\n", "%", "ms", fits ? title : narrow);
}

/* The whole table; the parts add up to its last row. */
static void print_time(const struct exits *x, FILE *out)
{
	const struct us_time_split *t = &x->time;
	double whole = t->wall_ns > 0 ? t->wall_ns : t->sum_ns;
	if (whole <= 0)
		return;
	print_part_title(x, "where the time of all vCPUs went", "all vCPUs' time", out);
	for (int i = 0; i < US_N_TIME; i++)
		if (t->part_ns[i] > 0 || i == US_TIME_GUEST)
			print_part(us_time_part_name((enum us_time_part)i),
				   t->part_ns[i], whole, x, out);
	if (t->wall_ns > 0)
		print_part("not accounted for", t->wall_ns - t->sum_ns, whole, x, out);
	print_part(t->wall_ns > 0 ? "wall time x vCPUs" : "all samples", whole, whole,
		   x, out);
}

static void print_reasons(const struct exits *x, FILE *out)
{
	const struct us_time_split *t = &x->time;
	double whole = t->wall_ns > 0 ? t->wall_ns : t->sum_ns;
	if (!t->told)
		return;
	print_part_title(x, "of it outside of the guest for", "outside for", out);
	for (int i = 0; i < US_N_EXIT; i++)
		if (t->exit_ns[i] > 0)
			print_part(us_exit_reason_name((enum us_exit_reason)i),
				   t->exit_ns[i], whole, x, out);
}

static int write_exits(const struct us_profile *p, const struct us_report_opts *o,
		       FILE *out, struct us_err *e)
{
	char line[1024];
	size_t n_func, n_node;
	struct us_report_opts plain = *o;
	plain.colour = false;
	struct exits x = { .p = p,
			   .o = &plain,
			   .func = us_profile_funcs(p, &n_func),
			   .node = us_profile_nodes(p, &n_node) };
	if (collect(&x, n_node))
		return us_fail(e, -ENOMEM, "report: out of memory");
	_cleanup_free_ struct row *owned = x.row;
	(void)owned;
	for (unsigned i = 0; us_report_header_line(p, i, line, sizeof(line)); i++)
		us_report_wrap(out, &plain, "", "# ", "#   ", line);
	us_report_warnings(out, &plain, p);
	us_time_split(p, &x.time);
	print_time(&x, out);
	print_reasons(&x, out);
	snprintf(line, sizeof(line),
		 "%.2f %% of the samples that ran were outside of the guest, on its "
		 "behalf (%" PRIu64 ")",
		 share(&x, x.all), x.all);
	fputc('\n', out);
	us_report_wrap(out, &plain, "", "", "", line);
	if (x.n)
		print_rows(&x, o->limit, out);
	return 0;
}

const struct us_format us_format_exits = {
	.name = "exits",
	.summary = "table of the guest's functions that cause exits, by reason",
	.positions = true,
	.warns = true,
	.write = write_exits,
};
