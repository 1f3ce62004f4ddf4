/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/print.c: see cmd/top/print.h. */
#include "cmd/top/print.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "report/columns.h"

#include <inttypes.h>
#include <string.h>

static void print_guests(const struct us_top_picture *p, FILE *out)
{
	char text[US_CELL_SIZE];
	fprintf(out, "%7s %7s %7s  %s\n", "CPU %", "idle %", "self %",
		"guest: hottest function");
	for (size_t i = 0; i < p->n_guest; i++) {
		const struct us_top_guest_row *g = &p->guest[i];
		us_printable(text, sizeof(text), g->name);
		if (g->words) {
			fprintf(out, "%7s %7s %7s  %s: ", "", "", "", text);
			fprintf(out, "%s\n",
				us_printable(text, sizeof(text), g->words));
			continue;
		}
		fprintf(out, "%7.1f %7.1f %7.1f  %s", g->cpu >= 0 ? 100 * g->cpu : 0,
			g->idle >= 0 ? 100 * g->idle : 0, 100 * g->hottest_share, text);
		if (g->hottest)
			fprintf(out, ": %s",
				us_printable(text, sizeof(text), g->hottest));
		fputc('\n', out);
	}
	fputc('\n', out);
}

static void print_group(const struct us_top_row *r, FILE *out)
{
	char name[US_CELL_SIZE], interval[32];
	snprintf(interval, sizeof(interval), "%.1f-%.1f", 100 * r->low, 100 * r->high);
	fprintf(out, "%7.1f %10" PRIu64 "  %12s   %s\n", 100 * r->self, r->weight,
		interval, us_printable(name, sizeof(name), r->group->name));
}

static void print_row(const struct us_top_row *r, FILE *out)
{
	const struct us_report_opts o = { 0 };
	char name[US_CELL_SIZE], place[US_CELL_SIZE], interval[32];
	if (r->group) {
		print_group(r, out);
		return;
	}
	us_report_name_cell(r->func, name);
	us_report_place_cell(r->func, &o, place);
	snprintf(interval, sizeof(interval), "%.1f-%.1f", 100 * r->low, 100 * r->high);
	fprintf(out, "%7.1f %8.1f %10" PRIu64 "  %12s   %s%s%s\n", 100 * r->self,
		100 * r->total, r->weight, interval, name, *place ? "  " : "", place);
}

static bool warns(const struct us_profile *p, const char *text)
{
	for (size_t i = 0; p && i < us_profile_n_warning(p); i++)
		if (!strcmp(us_profile_warning(p, i), text))
			return true;
	return false;
}

/* Leave out warnings of the other profile, which were printed already. */
static void print_warnings(const struct us_profile *p, const struct us_profile *other,
			   FILE *out)
{
	char line[1024];
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		if (!warns(other, us_profile_warning(p, i)))
			fprintf(out, "# warning: %s\n",
				us_printable(line, sizeof(line),
					     us_profile_warning(p, i)));
}

static void print_head(const struct us_top_picture *p, FILE *out)
{
	char line[1024];
	fprintf(out, "# %s by %s at %.1f s, ",
		us_printable(line, sizeof(line), p->name), p->how,
		(double)p->now_ns / US_NS_PER_SEC);
	if (p->state->window_ns)
		fprintf(out, "last %g s\n",
			(double)p->state->window_ns / US_NS_PER_SEC);
	else
		fprintf(out, "since the start\n");
	for (unsigned i = 0; i < p->n_vcpu; i++)
		fprintf(out, "# vCPU %u: %s\n", i,
			us_top_vcpu_line(&p->vcpu[i], line, sizeof(line)));
	us_top_cost_line(p->stats, p->own_cpu, line, sizeof(line));
	if (p->tasks)
		us_top_append_tasks(p->tasks, p->stats->elapsed_ns, line, sizeof(line));
	fprintf(out, "# %s\n", line);
	if (p->profile && us_top_is_filtered(p->state))
		fprintf(out, "# %s\n",
			us_printable(line, sizeof(line),
				     us_profile_filters(p->profile)));
	if (p->profile)
		print_warnings(p->profile, NULL, out);
	if (p->over)
		fprintf(out, "# ended: %s\n",
			us_printable(line, sizeof(line), p->over));
}

static void print_table(const struct us_top_picture *p, const struct us_top_rows *rows,
			size_t limit, FILE *out)
{
	bool by_total = us_top_by_total(p->state);
	if (p->state->rows != US_BY_NONE)
		fprintf(out, "%7s %10s  %12s   %s\n", "self %", "samples", "95 %",
			us_profile_by_name(p->state->rows));
	else
		fprintf(out, "%7s %8s %10s  %12s   %s\n", "self %", "total %",
			by_total ? "in total" : "samples",
			by_total ? "95 % (total)" : "95 % (self)",
			"function  file:line");
	for (size_t i = 0; i < rows->n && i < limit; i++)
		print_row(&rows->v[i], out);
	fputc('\n', out);
}

static void print_waits(const struct us_top_picture *p, size_t limit, FILE *out)
{
	char line[1024];
	fprintf(out, "# what tasks wait for: %s\n",
		us_report_waits_line(p->waits, line, sizeof(line)));
	print_warnings(p->waits, p->profile, out);
	print_table(p, p->waits_rows, limit, out);
}

void us_top_print(const struct us_top_picture *p, size_t limit, FILE *out)
{
	if (p->state->page == US_TOP_GUESTS) {
		print_guests(p, out);
		return;
	}
	print_head(p, out);
	print_table(p, p->rows, limit, out);
	if (p->waits)
		print_waits(p, limit, out);
}

/* --- JSON --- */

static void json_vcpu(struct us_json *j, const struct us_live_vcpu *v, unsigned number)
{
	static const char *const states[US_N_VCPU_STATE] = {
		[US_VCPU_GUEST] = "guest",   [US_VCPU_EXIT] = "exit",
		[US_VCPU_READY] = "waiting", [US_VCPU_HALTED] = "idle",
		[US_VCPU_OFF] = "off",
	};
	us_json_object(j, NULL);
	us_json_u64(j, "vcpu", number);
	us_json_str(j, "state",
		    v->seen && (unsigned)v->state < US_N_VCPU_STATE ? states[v->state]
								    : NULL);
	us_json_u64(j, "guest", v->guest);
	us_json_u64(j, "idle", v->idle);
	us_json_u64(j, "waiting", v->ready);
	us_json_u64(j, "off", v->off);
	us_json_u64(j, "exit", v->exit);
	us_json_object(j, "exits");
	for (unsigned i = 0; i < US_N_EXIT; i++) {
		uint64_t sum = 0;
		for (unsigned k = 0; k < US_N_PLACE; k++)
			sum += v->exit_for[i][k];
		if (sum)
			us_json_u64(j, us_exit_reason_name((enum us_exit_reason)i),
				    sum);
	}
	us_json_end(j);
	us_json_end(j);
}

static void json_function(struct us_json *j, const struct us_top_row *r)
{
	const struct us_profile_func *f = r->func;
	us_json_object(j, NULL);
	us_json_str(j, "name", f->name);
	us_json_str(j, "file", f->file);
	us_json_u64(j, "line", f->line);
	us_json_str(j, "module", f->module);
	us_json_u64(j, "self", f->self);
	us_json_u64(j, "total", f->total);
	us_json_array(j, "self_interval");
	us_json_double(j, NULL, f->self_low, 6);
	us_json_double(j, NULL, f->self_high, 6);
	us_json_end(j);
	us_json_array(j, "total_interval");
	us_json_double(j, NULL, f->total_low, 6);
	us_json_double(j, NULL, f->total_high, 6);
	us_json_end(j);
	us_json_end(j);
}

/* The functions of a process or thread, the hottest first. */
static void json_group(struct us_json *j, const struct us_profile_group *g,
		       enum us_profile_by by, const struct us_profile *p, size_t limit)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	us_json_object(j, NULL);
	us_json_str(j, "name", g->name);
	us_json_str(j, "process", g->has_owner ? g->owner.process : NULL);
	if (g->has_owner)
		us_json_u64(j, "pid", g->owner.tgid);
	if (g->has_owner && by == US_BY_THREAD && g->owner.comm)
		us_json_u64(j, "tid", g->owner.pid);
	us_json_u64(j, "samples", g->weight);
	us_json_array(j, "interval");
	us_json_double(j, NULL, g->low, 6);
	us_json_double(j, NULL, g->high, 6);
	us_json_end(j);
	us_json_array(j, "functions");
	for (size_t i = 0; i < g->n && i < limit; i++) {
		us_json_object(j, NULL);
		us_json_str(j, "name", f[g->row[i].func].name);
		us_json_u64(j, "self", g->row[i].self);
		us_json_u64(j, "total", g->row[i].total);
		us_json_end(j);
	}
	us_json_end(j);
	us_json_end(j);
}

static void json_rows(struct us_json *j, enum us_profile_by by,
		      const struct us_profile *p, const struct us_top_rows *rows,
		      size_t limit)
{
	bool groups = by != US_BY_NONE;
	if (groups)
		us_json_str(j, "group_by", us_profile_by_name(by));
	us_json_array(j, groups ? "groups" : "functions");
	for (size_t i = 0; i < rows->n && i < limit; i++)
		if (rows->v[i].group)
			json_group(j, rows->v[i].group, by, p, limit);
		else
			json_function(j, &rows->v[i]);
	us_json_end(j);
}

static void json_warnings(struct us_json *j, const struct us_profile *p)
{
	us_json_array(j, "warnings");
	for (size_t i = 0; p && i < us_profile_n_warning(p); i++)
		us_json_str(j, NULL, us_profile_warning(p, i));
	us_json_end(j);
}

static void json_waits(struct us_json *j, const struct us_top_picture *p, size_t limit)
{
	us_json_object(j, "waits");
	us_report_json_waits(j, p->waits);
	json_rows(j, p->state->rows, p->waits, p->waits_rows, limit);
	json_warnings(j, p->waits);
	us_json_end(j);
}

static void json_cost(struct us_json *j, const struct us_top_picture *p)
{
	us_json_object(j, "cost");
	us_json_u64(j, "stolen_ns", p->stats->stolen_ns);
	us_json_u64(j, "vcpu_ns", p->stats->vcpu_ns);
	us_json_u64(j, "held_p50_ns", p->stats->held_p50_ns);
	us_json_u64(j, "lost", p->stats->lost);
	if (p->own_cpu >= 0)
		us_json_double(j, "host_cpu", p->own_cpu, 4);
	us_json_end(j);
}

static void json_guests(struct us_json *j, const struct us_top_picture *p)
{
	us_json_array(j, "guests");
	for (size_t i = 0; i < p->n_guest; i++) {
		const struct us_top_guest_row *g = &p->guest[i];
		us_json_object(j, NULL);
		us_json_str(j, "guest", g->name);
		us_json_str(j, "note", g->words);
		if (g->cpu >= 0)
			us_json_double(j, "host_cpu", g->cpu, 4);
		if (g->idle >= 0)
			us_json_double(j, "idle", g->idle, 4);
		us_json_str(j, "hottest", g->hottest);
		if (g->hottest)
			us_json_double(j, "hottest_self", g->hottest_share, 4);
		us_json_end(j);
	}
	us_json_end(j);
	if (p->own_cpu >= 0)
		us_json_double(j, "own_cpu", p->own_cpu, 4);
}

static void json_guest(struct us_json *j, const struct us_top_picture *p, size_t limit)
{
	const struct us_profile_summary *s = p->profile ? us_profile_summary(p->profile)
							: NULL;
	us_json_str(j, "guest", p->name);
	us_json_str(j, "how", p->how);
	us_json_str(j, "ended", p->over);
	us_json_double(j, "time_s", (double)p->now_ns / US_NS_PER_SEC, 3);
	us_json_double(j, "window_s", (double)p->state->window_ns / US_NS_PER_SEC, 3);
	us_json_u64(j, "running", s ? s->running : 0);
	us_json_u64(j, "idle", s ? s->idle : 0);
	us_json_array(j, "vcpus");
	for (unsigned i = 0; i < p->n_vcpu; i++)
		json_vcpu(j, &p->vcpu[i], i);
	us_json_end(j);
	us_json_double(j, "functions_until_s",
		       s ? (double)s->last_ns / US_NS_PER_SEC : 0, 3);
	json_rows(j, p->state->rows, p->profile, p->rows, limit);
	json_warnings(j, p->profile);
	if (p->waits)
		json_waits(j, p, limit);
	json_cost(j, p);
}

void us_top_print_json(const struct us_top_picture *p, size_t limit, FILE *out)
{
	struct us_json j = us_json_to(out);
	us_json_object(&j, NULL);
	us_json_u64(&j, "version", 1);
	if (p->state->page == US_TOP_GUESTS)
		json_guests(&j, p);
	else
		json_guest(&j, p, limit);
	us_json_end(&j);
}
