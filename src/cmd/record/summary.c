/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.c: see summary.h. */
#include "cmd/record/summary.h"

#include "report/report.h"

#include <inttypes.h>

static const char *const end_words[US_N_RECORD_END] = {
	[US_RECORD_CUT] = "cut",
	[US_RECORD_DONE] = "done",
	[US_RECORD_INTERRUPTED] = "interrupted",
	[US_RECORD_GUEST_GONE] = "the guest is gone",
	[US_RECORD_LOST_TOUCH] = "lost touch with the guest",
};

unsigned us_summary_vcpus(const struct us_schedule *s, const struct us_backend *b)
{
	uint64_t all = b->n_vcpu >= 64 ? UINT64_MAX : (1ULL << b->n_vcpu) - 1;
	uint64_t mask = s->vcpu_mask ? s->vcpu_mask & all : all;
	return (unsigned)__builtin_popcountll(mask);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static uint64_t taken(const struct us_record_stats *s)
{
	return s->running + s->idle + s->off;
}

/* Samples that were asked for in the time that the guest had: while QEMU's plugin runs,
 * none comes due. */
static double asked_for(const struct us_summary *s)
{
	const struct us_record_stats *t = &s->stats;
	uint64_t had = t->vcpu_ns - (t->stolen_ns < t->vcpu_ns ? t->stolen_ns : 0);
	return s->hz * (double)had / 1e9;
}

/* Of a few samples, chance alone may have left one out.  Of a guest that stood nearly
 * all the time, the rate says nothing, and no option changes it. */
static bool fell_short(const struct us_summary *s)
{
	double asked = asked_for(s), got = (double)taken(&s->stats);
	bool has_reason = s->stats.late || s->stats.backed_off;
	if (got >= 0.9 * asked || (double)s->stats.off > 0.9 * got)
		return false;
	return asked >= (has_reason ? 10 : 100);
}

/* Does a reason count beside a larger one?  Then the rate would be too low without
 * that, too. */
static bool counts(const struct us_summary *s, uint64_t n, uint64_t other)
{
	return n && (n >= other || share(n, s->stats.due) >= 10);
}

static void print_reasons(const struct us_summary *s, FILE *out)
{
	const struct us_record_stats *t = &s->stats;
	bool late = counts(s, t->late, t->backed_off);
	if (late)
		fprintf(out,
			": %.0f %% came due while the sample before was being taken, "
			"or while uniscope had no CPU, or were left out to keep busy "
			"and idle time comparable",
			share(t->late, t->due));
	if (late && counts(s, t->backed_off, t->late))
		fprintf(out,
			"; %.0f %% would have taken over %.1f %% of its time while "
			"the guest runs (--budget PERCENT allows it)",
			share(t->backed_off, t->due), s->budget_ppm / 1e4);
	else if (t->backed_off && !late)
		fprintf(out,
			": while the guest runs, more would take over %.1f %% of its "
			"time (--budget PERCENT allows it)",
			s->budget_ppm / 1e4);
	if (late)
		fputs("; try a lower -F, fewer vCPUs (--vcpu), or a less busy host",
		      out);
}

static void print_shortfall(const struct us_summary *s, FILE *out)
{
	char reached[32];
	if (!fell_short(s))
		return;
	fprintf(out, "rate: %s a vCPU, not the %g asked for",
		us_report_hz_words(reached, sizeof(reached), &s->stats), s->hz);
	print_reasons(s, out);
	putc('\n', out);
}

/* Without this line a paused guest looks like a slow recording. */
static void print_off(const struct us_summary *s, FILE *out)
{
	double part = share(s->stats.off, taken(&s->stats));
	if (part >= 1)
		fprintf(out,
			"off: %.1f %% of the samples found the guest paused, or the "
			"vCPU off\n",
			part);
}

static void print_tasks(const struct us_summary *s, FILE *out)
{
	const struct us_wait_stats *t = &s->waits;
	if (s->tasks_hz <= 0)
		return;
	if (!t->looks) {
		fprintf(out, "tasks: none was looked at: %s\n",
			s->no_tasks ? s->no_tasks
				    : "the recording was over before that");
		return;
	}
	fprintf(out,
		"tasks: %" PRIu64 " looks, %.1f a second of %g, at %" PRIu64
		" that waited: %" PRIu64 " taken, %" PRIu64 " ran meanwhile",
		t->looks,
		s->stats.elapsed_ns
			? (double)t->looks * 1e9 / (double)s->stats.elapsed_ns
			: 0,
		s->tasks_hz, t->due, t->taken, t->moved);
	if (t->failed + t->skipped)
		fprintf(out, ", %" PRIu64 " not read", t->failed + t->skipped);
	fprintf(out,
		", %" PRIu64 " lost, %" PRIu64
		" truncated; %.2f %% of a host CPU, %.1f ms the longest\n",
		t->lost, t->truncated, share(t->cost_ns, s->stats.elapsed_ns),
		(double)t->cost_max_ns / 1e6);
}

static bool limit_words(const struct us_summary *s, enum us_limit k, char *ret,
			size_t size)
{
	char value[64];
	us_limit_value(&s->limits, k, value, sizeof(value));
	return us_limit_words(k, value, ret, size);
}

static void print_limits(const struct us_summary *s, FILE *out)
{
	char text[512];
	for (unsigned k = 0; k < US_N_LIMITS; k++)
		if (limit_words(s, k, text, sizeof(text)))
			fprintf(out, "limit: %s\n", text);
}

void us_summary_print(const struct us_summary *s, FILE *out)
{
	char line[512];
	fputs(us_report_stats_line(line, sizeof(line), &s->stats), out);
	if (s->end != US_RECORD_DONE)
		fprintf(out, "; %s",
			s->words && s->words[0] ? s->words : end_words[s->end]);
	putc('\n', out);
	print_off(s, out);
	print_shortfall(s, out);
	print_tasks(s, out);
	print_limits(s, out);
}

static void tasks_json(const struct us_summary *s, struct us_json *j)
{
	const struct us_wait_stats *t = &s->waits;
	us_json_object(j, "tasks");
	us_json_double(j, "hz_asked", s->tasks_hz, 3);
	us_json_u64(j, "looks", t->looks);
	us_json_u64(j, "late", t->late);
	us_json_u64(j, "torn", t->torn);
	us_json_u64(j, "tasks", t->tasks);
	us_json_u64(j, "running", t->running);
	us_json_u64(j, "idle", t->idle);
	us_json_u64(j, "other", t->other);
	us_json_u64(j, "due", t->due);
	us_json_u64(j, "taken", t->taken);
	us_json_u64(j, "moved", t->moved);
	us_json_u64(j, "failed", t->failed);
	us_json_u64(j, "skipped", t->skipped);
	us_json_u64(j, "lost", t->lost);
	us_json_u64(j, "truncated", t->truncated);
	us_json_u64(j, "cost_ns", t->cost_ns);
	us_json_u64(j, "cost_max_ns", t->cost_max_ns);
	if (s->no_tasks)
		us_json_str(j, "note", s->no_tasks);
	us_json_end(j);
}

/* The cost of reading processes and their mappings. */
static void scans_json(const struct us_scan_stats *s, struct us_json *j)
{
	us_json_object(j, "scans");
	us_json_u64(j, "scans", s->scans);
	us_json_u64(j, "tasks", s->tasks);
	us_json_u64(j, "cost_ns", s->cost_ns);
	us_json_u64(j, "cost_first_ns", s->cost_first_ns);
	us_json_u64(j, "cost_max_ns", s->cost_max_ns);
	us_json_u64(j, "feeds", s->feeds);
	us_json_u64(j, "feed_ns", s->feed_ns);
	us_json_u64(j, "feed_max_ns", s->feed_max_ns);
	us_json_end(j);
}

static void limits_json(const struct us_summary *s, struct us_json *j)
{
	char text[512];
	us_json_array(j, "limits");
	for (unsigned k = 0; k < US_N_LIMITS; k++) {
		if (!limit_words(s, k, text, sizeof(text)))
			continue;
		us_json_object(j, NULL);
		us_json_str(j, "limit", us_limit_key(k));
		us_json_u64(j, "times", s->limits.hit[k].n);
		us_json_u64(j, "bound", s->limits.hit[k].bound);
		us_json_str(j, "note", text);
		us_json_end(j);
	}
	us_json_end(j);
}

void us_summary_json_members(const struct us_summary *s, struct us_json *j)
{
	const struct us_record_stats *t = &s->stats;
	us_json_str(j, "recording", s->path);
	us_json_str(j, "backend", s->backend);
	us_json_str(j, "end", end_words[s->end]);
	us_json_str(j, "end_words", s->words);
	us_json_u64(j, "bytes", s->bytes);
	us_json_u64(j, "vcpus", s->n_vcpu);
	us_json_double(j, "hz_asked", s->hz, 3);
	us_json_double(j, "hz_reached", us_report_hz(t), 3);
	us_json_double(j, "budget_percent", s->budget_ppm / 1e4, 4);
	us_json_double(j, "seconds", (double)t->elapsed_ns / 1e9, 6);
	us_json_u64(j, "attach_ns", s->attach_ns);
	us_json_u64(j, "due", t->due);
	us_json_u64(j, "running", t->running);
	us_json_u64(j, "idle", t->idle);
	us_json_u64(j, "off", t->off);
	us_json_u64(j, "late", t->late);
	us_json_u64(j, "backed_off", t->backed_off);
	us_json_u64(j, "failed", t->failed);
	us_json_u64(j, "lost", t->lost);
	us_json_u64(j, "truncated", t->truncated);
	us_json_u64(j, "stolen_ns", t->stolen_ns);
	us_json_u64(j, "vcpu_ns", t->vcpu_ns);
	us_json_double(j, "stolen_percent", share(t->stolen_ns, t->vcpu_ns), 4);
	us_json_u64(j, "held_p50_ns", t->held_p50_ns);
	us_json_u64(j, "held_p99_ns", t->held_p99_ns);
	us_json_u64(j, "held_max_ns", t->held_max_ns);
	if (s->tasks_hz > 0)
		tasks_json(s, j);
	if (s->scans.scans)
		scans_json(&s->scans, j);
	limits_json(s, j);
}

void us_summary_json(const struct us_summary *s, FILE *out)
{
	struct us_json j = us_json_to(out);
	j.pretty = true;
	us_json_object(&j, NULL);
	us_summary_json_members(s, &j);
	us_json_end(&j);
}
