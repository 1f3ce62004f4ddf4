/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups.c: see groups.h. */
#include "report/groups.h"

#include "base/text.h"
#include "profile/groups.h"
#include "report/columns.h"

#include <errno.h>
#include <inttypes.h>

#define NUMBERS	     44 /* columns of the numbers, as in text.c */
#define INTERVAL     14 /* of these */
#define SAMPLES	     11
#define LEAST	     20 /* columns for names */
#define DEFAULT_ROWS 10
#define BOLD	     "\033[1m"
#define RESET	     "\033[0m"

struct tables {
	const struct us_profile *p;
	const struct us_report_opts *o;
	const struct us_profile_func *func;
	struct us_two_columns columns;
	FILE *out;
	size_t numbers; /* columns of the numbers that there is room for */
	bool no_interval, no_samples;
};

/* A narrow terminal has no room for all numbers, as in text.c. */
static void fit_numbers(struct tables *t)
{
	size_t all = us_report_columns(t->o);
	t->numbers = NUMBERS;
	t->no_interval = all < t->numbers + LEAST;
	t->numbers -= t->no_interval ? INTERVAL : 0;
	t->no_samples = all < t->numbers + LEAST;
	t->numbers -= t->no_samples ? SAMPLES : 0;
}

static void print_rest_of_numbers(const struct tables *t, const char *weight,
				  const char *interval)
{
	if (!t->no_samples)
		fprintf(t->out, " %10s", weight);
	if (!t->no_interval)
		fprintf(t->out, "  %12s", interval);
	fputs("   ", t->out);
}

static void print_numbers(const struct tables *t, double self, const char *total,
			  uint64_t weight, const char *interval)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, weight);
	fprintf(t->out, "%7.1f %8s", self, total);
	print_rest_of_numbers(t, text, interval);
}

static double percent(const struct tables *t, uint64_t weight)
{
	uint64_t all = us_profile_summary(t->p)->running;
	return all ? 100.0 * (double)weight / (double)all : 0;
}

static size_t shown(const struct tables *t, const struct us_profile_group *g)
{
	size_t most = t->o->limit ? t->o->limit : DEFAULT_ROWS, n = 0;
	while (n < most && n < g->n && (g->row[n].self || us_report_by_total(t->o)))
		n++;
	return n;
}

static void cells(const struct tables *t, uint32_t func, char name[static US_CELL_SIZE],
		  char place[static US_CELL_SIZE])
{
	us_report_name_cell(&t->func[func], name);
	us_report_place_cell(&t->func[func], t->o, place);
}

/* What the group is.  Where all numbers fit, its name is never cut. */
static void print_key(const struct tables *t, const struct us_profile_group *g)
{
	char name[US_CELL_SIZE], idle[48] = "";
	size_t all = us_report_columns(t->o);
	if (g->idle)
		snprintf(idle, sizeof(idle), ", and %" PRIu64 " idle", g->idle);
	us_printable(name, sizeof(name), g->name);
	size_t used = t->numbers + strlen(idle);
	if (t->no_interval && all > used + LEAST / 2)
		us_shorten_middle(name, sizeof(name), all - used);
	else if (t->no_interval) {
		us_shorten_middle(name, sizeof(name), all - t->numbers);
		idle[0] = '\0';
	}
	fprintf(t->out, "%s%s%s\n", name, t->o->colour ? RESET : "", idle);
}

static void print_group(const struct tables *t, const struct us_profile_group *g)
{
	char name[US_CELL_SIZE], place[US_CELL_SIZE], interval[32], total[16];
	bool counted = us_profile_is_counted(t->p);
	size_t n = shown(t, g);
	uint64_t rest = 0;
	snprintf(interval, sizeof(interval), "%.1f-%.1f", 100 * g->low, 100 * g->high);
	fprintf(t->out, "%s%s", t->o->groups_only ? "" : "\n",
		t->o->colour ? BOLD : "");
	print_numbers(t, percent(t, g->weight), "", g->weight, counted ? "" : interval);
	print_key(t, g);
	if (t->o->groups_only)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct us_profile_group_row *r = &g->row[i];
		snprintf(total, sizeof(total), "%.1f", percent(t, r->total));
		print_numbers(t, percent(t, r->self), total, r->self, "");
		cells(t, r->func, name, place);
		us_two_columns_print(&t->columns, t->o, name, place, t->out);
		fputc('\n', t->out);
	}
	for (size_t i = n; i < g->n; i++)
		rest += g->row[i].self;
	if (n == g->n)
		return;
	print_numbers(t, percent(t, rest), "", rest, "");
	fprintf(t->out, "%zu more functions\n", g->n - n);
}

/* Each group as a row of its own; there may be as many as functions. */
static void print_keys(const struct tables *t, const struct us_profile_groups *all)
{
	size_t n = t->o->limit && t->o->limit < all->n ? t->o->limit : all->n;
	uint64_t rest = 0;
	fprintf(t->out, "\n%s%7s %8s", t->o->colour ? BOLD : "", "self %", "");
	print_rest_of_numbers(t, us_profile_unit(t->p),
			      us_profile_is_counted(t->p) ? "" : "95 %");
	fprintf(t->out, "%s%s\n", us_profile_by_name(t->o->group_by),
		t->o->colour ? RESET : "");
	for (size_t i = 0; i < n; i++)
		print_group(t, &all->v[i]);
	for (size_t i = n; i < all->n; i++)
		rest += all->v[i].weight;
	if (n == all->n)
		return;
	print_numbers(t, percent(t, rest), "", rest, "");
	fprintf(t->out, "%zu more\n", all->n - n);
}

/* How the owners of samples are known, and the part without an owner. */
static void print_owners(const struct tables *t)
{
	char line[512] = "";
	if (us_profile_waits(t->p)->shown) /* they were looked at one by one */
		return;
	struct us_profile_owners s = us_profile_owners(t->p);
	const struct {
		uint64_t n;
		const char *words;
	} part[] = {
		{ s.current, "from the CPU's current task at the sample" },
		{ s.stack, "from its kernel stack" },
		{ s.tables, "from page tables (process only)" },
		{ s.kernel, "in the kernel, called by no program" },
		{ s.nobody, "not known" },
	};
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++)
		if (part[i].n || i + 1 == sizeof(part) / sizeof(*part))
			us_append(line, sizeof(line), "%s%.1f %% %s",
				  line[0] ? ", " : "how owners are known: ",
				  percent(t, part[i].n), part[i].words);
	fputc('\n', t->out);
	us_report_wrap(t->out, t->o, "", "", "  ", line);
}

static void measure(struct tables *t, const struct us_profile_groups *all)
{
	char name[US_CELL_SIZE], place[US_CELL_SIZE];
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < shown(t, &all->v[i]); k++) {
			cells(t, all->v[i].row[k].func, name, place);
			us_two_columns_measure(&t->columns, name, place);
		}
	if (t->columns.widest_place)
		us_two_columns_measure(&t->columns, "function", "file:line");
	us_two_columns_fit(&t->columns, t->o, t->numbers);
}

int us_report_groups_text(const struct us_profile *p, const struct us_report_opts *o,
			  FILE *out, struct us_err *e)
{
	struct us_profile_groups all;
	size_t n;
	struct tables t = {
		.p = p, .o = o, .func = us_profile_funcs(p, &n), .out = out
	};
	char name[US_CELL_SIZE] = "function", place[US_CELL_SIZE] = "file:line";
	if (us_profile_groups(p, o->group_by, &all))
		return us_fail(e, -ENOMEM, "report: out of memory for the groups");
	fit_numbers(&t);
	if (o->groups_only) {
		print_keys(&t, &all);
		if (us_profile_by_owner(o->group_by))
			print_owners(&t);
		us_profile_groups_fini(&all);
		return 0;
	}
	measure(&t, &all);
	fprintf(out, "\n%s%7s %8s", o->colour ? BOLD : "", "self %", "total %");
	print_rest_of_numbers(&t, us_profile_unit(p),
			      us_profile_is_counted(p) ? "" : "95 %");
	us_two_columns_print(&t.columns, o, name, place, out);
	fprintf(out, "%s\n", o->colour ? RESET : "");
	for (size_t i = 0; i < all.n; i++)
		print_group(&t, &all.v[i]);
	if (us_profile_by_owner(o->group_by))
		print_owners(&t);
	us_profile_groups_fini(&all);
	return 0;
}

static void group_json(struct us_json *j, const struct us_profile_group *g,
		       bool with_functions)
{
	us_json_object(j, NULL);
	us_json_str(j, "name", g->name);
	us_json_u64(j, "samples", g->weight);
	us_json_array(j, "interval");
	us_json_double(j, NULL, g->low, 6);
	us_json_double(j, NULL, g->high, 6);
	us_json_end(j);
	if (g->has_idle)
		us_json_u64(j, "idle", g->idle);
	if (!with_functions) {
		us_json_end(j);
		return;
	}
	us_json_array(j, "functions");
	for (size_t i = 0; i < g->n; i++) {
		us_json_object(j, NULL);
		j->pretty = false;
		us_json_u64(j, "function", g->row[i].func);
		us_json_u64(j, "self", g->row[i].self);
		us_json_u64(j, "total", g->row[i].total);
		us_json_end(j);
		j->pretty = true;
	}
	us_json_end(j);
	us_json_end(j);
}

static void owners_json(const struct us_profile *p, struct us_json *j)
{
	struct us_profile_owners s = us_profile_owners(p);
	us_json_object(j, "owners");
	us_json_u64(j, "current", s.current);
	us_json_u64(j, "stack", s.stack);
	us_json_u64(j, "tables", s.tables);
	us_json_u64(j, "kernel", s.kernel);
	us_json_u64(j, "nobody", s.nobody);
	us_json_end(j);
}

int us_report_groups_json(const struct us_profile *p, const struct us_report_opts *o,
			  struct us_json *j)
{
	enum us_profile_by by = o->group_by;
	struct us_profile_groups all;
	if (us_profile_groups(p, by, &all))
		return -ENOMEM;
	us_json_str(j, "group_by", us_profile_by_name(by));
	us_json_array(j, "groups");
	for (size_t i = 0; i < all.n; i++)
		group_json(j, &all.v[i], !o->groups_only);
	us_json_end(j);
	if (us_profile_by_owner(by))
		owners_json(p, j);
	us_profile_groups_fini(&all);
	return 0;
}
