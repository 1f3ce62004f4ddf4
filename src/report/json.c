/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.c: everything that is known of a profile, as JSON (docs/report-json.md). */
#include "report/report.h"
#include "profile/time_split.h"
#include "report/groups.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <errno.h>

/* A row is one line, whatever members it has. */
static void row_begin(struct us_json *j)
{
	us_json_object(j, NULL);
	j->pretty = false;
}

static void row_end(struct us_json *j)
{
	us_json_end(j);
	j->pretty = true;
}

static void interval(struct us_json *j, const char *key, double low, double high)
{
	bool pretty = j->pretty;
	us_json_array(j, key);
	j->pretty = false;
	us_json_double(j, NULL, low, 6);
	us_json_double(j, NULL, high, 6);
	us_json_end(j);
	j->pretty = pretty;
}

static void str_or_null(struct us_json *j, const char *key, const char *value)
{
	us_json_str(j, key, value && *value ? value : NULL);
}

static void facts(struct us_json *j, const struct us_profile *p)
{
	const char *key, *value;
	us_json_object(j, "facts");
	for (size_t i = 0; us_profile_fact_at(p, i, &key, &value); i++)
		us_json_str(j, key, value);
	us_json_end(j);
}

static void warnings(struct us_json *j, const struct us_profile *p)
{
	us_json_array(j, "warnings");
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		us_json_str(j, NULL, us_profile_warning(p, i));
	us_json_end(j);
}

static const char *end_name(enum us_record_end end)
{
	static const char *const name[US_N_RECORD_END] = {
		[US_RECORD_CUT] = "cut",
		[US_RECORD_DONE] = "done",
		[US_RECORD_INTERRUPTED] = "interrupted",
		[US_RECORD_GUEST_GONE] = "guest gone",
		[US_RECORD_LOST_TOUCH] = "lost touch",
	};
	return (unsigned)end < US_N_RECORD_END ? name[end] : "unknown";
}

static void stats(struct us_json *j, const struct us_record_stats *s)
{
	us_json_object(j, "recording");
	us_json_u64(j, "elapsed_ns", s->elapsed_ns);
	us_json_u64(j, "due", s->due);
	us_json_u64(j, "running", s->running);
	us_json_u64(j, "idle", s->idle);
	us_json_u64(j, "off", s->off);
	us_json_u64(j, "late", s->late);
	us_json_u64(j, "backed_off", s->backed_off);
	us_json_u64(j, "failed", s->failed);
	us_json_u64(j, "lost", s->lost);
	us_json_u64(j, "truncated", s->truncated);
	us_json_u64(j, "stolen_ns", s->stolen_ns);
	us_json_u64(j, "vcpu_ns", s->vcpu_ns);
	us_json_u64(j, "held_p50_ns", s->held_p50_ns);
	us_json_u64(j, "held_p99_ns", s->held_p99_ns);
	us_json_u64(j, "held_max_ns", s->held_max_ns);
	us_json_end(j);
}

static void summary(struct us_json *j, const struct us_profile *p)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	us_json_object(j, "summary");
	us_json_u64(j, "running", s->running);
	if (us_profile_is_counted(p)) {
		us_json_str(j, "unit", us_profile_unit(p));
		us_json_u64(j, "calls", s->calls);
	}
	us_json_u64(j, "exit", s->exit);
	us_json_u64(j, "ready", s->ready);
	us_json_u64(j, "late", s->late);
	us_json_u64(j, "idle", s->idle);
	interval(j, "idle_interval", s->idle_low, s->idle_high);
	interval(j, "idle_long_run", s->idle_long_low, s->idle_long_high);
	if (s->idle_told)
		us_json_u64(j, "idle_by_stack", s->idle_told);
	us_json_u64(j, "off", s->off);
	us_json_u64(j, "unfocused", s->unfocused);
	us_json_u64(j, "other_part", s->other_part);
	us_json_u64(j, "first_ns", s->first_ns);
	us_json_u64(j, "last_ns", s->last_ns);
	us_json_u64(j, "slices", s->slices);
	us_json_u64(j, "slice_ns", s->slice_ns);
	us_json_object(j, "stack_ends");
	for (int i = 0; i < US_N_END; i++)
		us_json_u64(j, us_unwind_end_name(i), s->ends[i]);
	us_json_end(j);
	us_json_str(j, "end", end_name(s->end));
	us_json_str(j, "end_words", s->end_words);
	us_json_bool(j, "cut", s->file.cut);
	us_json_end(j);
	if (s->has_stats)
		stats(j, &s->stats);
	else
		us_json_str(j, "recording", NULL);
}

static void exits(struct us_json *j, const struct us_profile *p)
{
	static const char *const places[US_N_PLACE] = { "kvm", "vmm", "host_kernel" };
	const struct us_profile_time *t = &us_profile_summary(p)->time;
	us_json_array(j, "exits");
	for (int r = 0; r < US_N_EXIT; r++)
		for (int place = 0; place < US_N_PLACE; place++) {
			if (!t->exit[r][place])
				continue;
			row_begin(j);
			us_json_str(j, "reason",
				    us_exit_reason_name((enum us_exit_reason)r));
			us_json_str(j, "place", places[place]);
			us_json_u64(j, "samples", t->exit[r][place]);
			row_end(j);
		}
	us_json_end(j);
}

static void time_split(struct us_json *j, const struct us_profile *p)
{
	static const char *const keys[US_N_TIME] = {
		"guest_ns", "kvm_ns",  "vmm_ns", "host_kernel_ns", "exit_untold_ns",
		"ready_ns", "idle_ns", "off_ns", "unseen_ns",
	};
	struct us_time_split t;
	us_time_split(p, &t);
	us_json_object(j, "time");
	us_json_double(j, "sample_ns", t.unit_ns, 3);
	for (int i = 0; i < US_N_TIME; i++)
		us_json_double(j, keys[i], t.part_ns[i], 0);
	us_json_double(j, "sum_ns", t.sum_ns, 0);
	if (t.wall_ns > 0)
		us_json_double(j, "observed_ns", t.wall_ns, 0);
	else
		us_json_str(j, "observed_ns", NULL);
	exits(j, p);
	us_json_end(j);
}

void us_report_json_waits(struct us_json *j, const struct us_profile *p)
{
	const struct us_profile_waits *w = us_profile_waits(p);
	const struct us_wait_stats *s = &w->stats;
	us_json_bool(j, "shown", w->shown);
	if (w->shown) {
		us_json_u64(j, "looks_shown", w->shown_looks);
		us_json_u64(j, "sleeps", w->state[US_WAIT_SLEEPS]);
		us_json_u64(j, "blocked", w->state[US_WAIT_BLOCKED]);
		us_json_u64(j, "ready", w->state[US_WAIT_READY]);
	}
	us_json_u64(j, "looks", s->looks);
	us_json_u64(j, "late", s->late);
	us_json_u64(j, "torn", s->torn);
	us_json_u64(j, "tasks", s->tasks);
	us_json_u64(j, "running", s->running);
	us_json_u64(j, "idle", s->idle);
	us_json_u64(j, "other", s->other);
	us_json_u64(j, "due", s->due);
	us_json_u64(j, "taken", s->taken);
	us_json_u64(j, "moved", s->moved);
	us_json_u64(j, "failed", s->failed);
	us_json_u64(j, "skipped", s->skipped);
	us_json_u64(j, "lost", s->lost);
	us_json_u64(j, "truncated", s->truncated);
	us_json_u64(j, "cost_ns", s->cost_ns);
	us_json_u64(j, "cost_max_ns", s->cost_max_ns);
}

/* Written if tasks were looked at. */
static void waits(struct us_json *j, const struct us_profile *p)
{
	if (!us_profile_waits(p)->stats.looks)
		return;
	us_json_object(j, "waits");
	us_report_json_waits(j, p);
	us_json_end(j);
}

static void modules(struct us_json *j, const struct us_profile *p)
{
	static const char *const match[] = { "unknown", "yes", "no" };
	size_t n;
	const struct us_profile_module *m = us_profile_modules(p, &n);
	us_json_array(j, "modules");
	for (size_t i = 0; i < n; i++) {
		char id[2 * US_BUILD_ID_MAX + 1] = "";
		for (size_t k = 0; k < m[i].m.build_id_len && k < US_BUILD_ID_MAX; k++)
			snprintf(id + 2 * k, 3, "%02x", m[i].m.build_id[k]);
		row_begin(j);
		us_json_str(j, "path", m[i].m.path);
		us_json_hex(j, "start", m[i].m.start);
		us_json_hex(j, "end", m[i].m.end);
		us_json_hex(j, "bias", m[i].m.bias);
		str_or_null(j, "build_id", id);
		us_json_str(j, "match", m[i].m.match < 3 ? match[m[i].m.match] : NULL);
		us_json_bool(j, "used", m[i].used);
		if (m[i].m.root)
			us_json_hex(j, "root", m[i].m.root);
		if (m[i].m.from_ns || m[i].m.until_ns)
			us_json_u64(j, "from_ns", m[i].m.from_ns);
		if (m[i].m.until_ns)
			us_json_u64(j, "until_ns", m[i].m.until_ns);
		row_end(j);
	}
	us_json_end(j);
}

/* Written if there are several. */
static void recordings(struct us_json *j, const struct us_profile *p)
{
	size_t n;
	const struct us_profile_recording *r = us_profile_recordings(p, &n);
	if (n < 2)
		return;
	us_json_array(j, "recordings");
	for (size_t i = 0; i < n; i++) {
		row_begin(j);
		us_json_str(j, "name", r[i].name);
		us_json_str(j, "guest", r[i].guest);
		us_json_u64(j, "running", r[i].running);
		us_json_u64(j, "idle", r[i].idle);
		us_json_double(j, "scale", r[i].scale, 6);
		us_json_str(j, "end", end_name(r[i].end));
		us_json_bool(j, "cut", r[i].file.cut);
		row_end(j);
	}
	us_json_end(j);
}

static void function(struct us_json *j, const struct us_profile *p,
		     const struct us_profile_func *f, uint32_t id)
{
	row_begin(j);
	us_json_u64(j, "id", id);
	us_json_str(j, "name", f->name);
	us_json_str(j, "raw", f->known ? f->raw : NULL);
	us_json_bool(j, "known", f->known);
	us_json_str(j, "file", f->file);
	us_json_str(j, "dir", f->dir);
	us_json_u64(j, "line", f->line);
	us_json_str(j, "module", f->module);
	us_json_hex(j, "start", f->start);
	us_json_bool(j, "inlined", f->inlined);
	us_json_u64(j, "self", f->self);
	us_json_u64(j, "total", f->total);
	if (us_profile_is_counted(p))
		us_json_u64(j, "calls", f->calls);
	interval(j, "self_interval", f->self_low, f->self_high);
	interval(j, "total_interval", f->total_low, f->total_high);
	interval(j, "self_long_run", f->self_long_low, f->self_long_high);
	interval(j, "total_long_run", f->total_long_low, f->total_long_high);
	row_end(j);
}

static int functions(struct us_json *j, const struct us_profile *p,
		     const struct us_report_opts *o)
{
	_cleanup_free_ uint32_t *row = NULL;
	size_t n, n_func;
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	int rc = us_report_rows(p, o, &row, &n);
	if (rc)
		return rc;
	us_json_array(j, "functions");
	for (size_t i = 0; i < n; i++)
		function(j, p, &f[row[i]], row[i]);
	us_json_end(j);
	return 0;
}

static void tree(struct us_json *j, const struct us_profile *p)
{
	size_t n;
	const struct us_profile_node *node = us_profile_nodes(p, &n);
	us_json_array(j, "tree");
	for (size_t i = 1; i < n; i++) {
		row_begin(j);
		us_json_u64(j, "id", i);
		us_json_u64(j, "parent", node[i].parent);
		us_json_u64(j, "function", node[i].func);
		us_json_u64(j, "line", node[i].line);
		us_json_u64(j, "self", node[i].self);
		us_json_u64(j, "total", node[i].total);
		if (us_profile_is_counted(p))
			us_json_u64(j, "calls", node[i].calls);
		interval(j, "interval", (double)node[i].low, (double)node[i].high);
		interval(j, "long_run", (double)node[i].long_low,
			 (double)node[i].long_high);
		row_end(j);
	}
	us_json_end(j);
}

static void lines(struct us_json *j, const struct us_profile *p)
{
	size_t n;
	const struct us_profile_line *l = us_profile_lines(p, &n);
	us_json_array(j, "lines");
	for (size_t i = 0; i < n; i++) {
		row_begin(j);
		us_json_str(j, "function", l[i].func);
		us_json_str(j, "file", l[i].file);
		us_json_u64(j, "line", l[i].line);
		us_json_hex(j, "address", l[i].pc);
		us_json_u64(j, "self", l[i].self);
		row_end(j);
	}
	us_json_end(j);
}

static int write_json(const struct us_profile *p, const struct us_report_opts *o,
		      FILE *out, struct us_err *e)
{
	struct us_json j = us_json_to(out);
	j.pretty = true;
	us_json_object(&j, NULL);
	us_json_str(&j, "format", "uniscope-report");
	us_json_u64(&j, "version", 1);
	facts(&j, p);
	str_or_null(&j, "filters", us_profile_filters(p));
	warnings(&j, p);
	summary(&j, p);
	waits(&j, p);
	time_split(&j, p);
	modules(&j, p);
	recordings(&j, p);
	if (functions(&j, p, o) || (o->group_by && us_report_groups_json(p, o, &j)))
		return us_fail(e, -ENOMEM, "report: out of memory");
	tree(&j, p);
	lines(&j, p);
	us_json_end(&j);
	return 0;
}

const struct us_format us_format_json = {
	.name = "json",
	.suffix = ".json",
	.summary = "everything, for programs",
	.groups = true,
	.waits = true,
	.warns = true,
	.write = write_json,
};
