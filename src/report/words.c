/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words.c: what was recorded and what it cost, in words. */
#include "report/report.h"

#include "base/clock.h"
#include "base/text.h"
#include "profile/time_split.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

char *us_report_stats_line(char *dst, size_t size, const struct us_record_stats *s)
{
	uint64_t seen = s->running + s->idle;
	snprintf(dst, size, "%" PRIu64 " samples, %" PRIu64 " halted (%.1f %%)", seen,
		 s->idle, percent(s->idle, seen));
	us_append(dst, size, ", %" PRIu64 " lost, %" PRIu64 " truncated", s->lost,
		  s->truncated);
	if (s->held_max_ns)
		us_append(dst, size, ", %.1f us/sample p50, %.1f us p99",
			  (double)s->held_p50_ns / 1e3, (double)s->held_p99_ns / 1e3);
	if ((s->held_max_ns || s->stolen_ns) && s->vcpu_ns)
		us_append(dst, size, ", guest time taken %.2f %%",
			  percent(s->stolen_ns, s->vcpu_ns));
	return dst;
}

double us_report_hz(const struct us_record_stats *s)
{
	uint64_t taken = s->running + s->idle + s->off;
	return s->vcpu_ns ? (double)taken * 1e9 / (double)s->vcpu_ns : 0;
}

char *us_report_hz_words(char *dst, size_t size, const struct us_record_stats *s)
{
	double hz = us_report_hz(s);
	snprintf(dst, size, hz > 0 && hz < 1 ? "%.2g Hz" : "%.1f Hz", hz);
	return dst;
}

static char *counted_line(const struct us_profile *p, char *dst, size_t size)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	const struct us_profile_func *f;
	size_t n, called = 0;
	f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		called += f[i].calls > 0;
	if (us_profile_is_calls_only(p))
		dst[0] = '\0';
	else
		snprintf(dst, size, "%" PRIu64 " instructions, ", s->running);
	us_append(dst, size, "%" PRIu64 " calls of %zu functions, counted", s->calls,
		  called);
	return dst;
}

static char *waits_line(const struct us_wait_stats *s, char *dst, size_t size)
{
	snprintf(dst, size,
		 "%" PRIu64 " tasks that waited, in %" PRIu64 " looks: %" PRIu64
		 " taken, %" PRIu64 " ran meanwhile, %" PRIu64 " not read, %" PRIu64
		 " lost, %" PRIu64 " truncated; %.1f ms of CPU time the longest look",
		 s->due, s->looks, s->taken, s->moved, s->failed + s->skipped, s->lost,
		 s->truncated, (double)s->cost_max_ns / 1e6);
	return dst;
}

char *us_report_summary_line(const struct us_profile *p, char *dst, size_t size)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	if (us_profile_is_counted(p))
		return counted_line(p, dst, size);
	if (us_profile_waits(p)->shown)
		return waits_line(&us_profile_waits(p)->stats, dst, size);
	struct us_record_stats stats = s->stats;
	if (!s->has_stats) {
		stats.running = s->running + s->unfocused + s->other_part +
				s->idle_told;
		stats.idle = s->idle - s->idle_told; /* as the recorder counts */
		for (int i = US_END_DEPTH; i < US_N_END; i++)
			stats.truncated += s->ends[i];
	}
	return us_report_stats_line(dst, size, &stats);
}

static const char *fact_or(const struct us_profile *p, const char *key,
			   const char *instead)
{
	const char *value = us_profile_fact(p, key);
	return value && *value ? value : instead;
}

const char *us_report_title(const struct us_profile *p)
{
	const char *kernel = fact_or(p, "kernel", NULL), *slash = NULL;
	if (kernel)
		slash = strrchr(kernel, '/');
	const char *image = slash && slash[1] ? slash + 1 : kernel;
	return fact_or(p, "guest", image ? image : fact_or(p, "target", "a guest"));
}

uint64_t us_report_started(const struct us_profile *p)
{
	const char *started = us_profile_fact(p, "started");
	struct tm t = { 0 };
	const char *format = started && strchr(started, 'T') ? "%Y-%m-%dT%H:%M:%S%z"
							     : "%Y-%m-%d %H:%M:%S %z";
	if (!started || !strptime(started, format, &t))
		return 0;
	long east = t.tm_gmtoff; /* which timegm() sets to 0 */
	time_t at = timegm(&t);
	return at - east > 0 ? (uint64_t)(at - east) : 0;
}

static void what(const struct us_profile *p, char *dst, size_t size)
{
	const char *vmm = fact_or(p, "vmm", NULL), *pid = fact_or(p, "pid", NULL);
	const char *date = fact_or(p, "started", NULL), *n = fact_or(p, "vcpus", NULL);
	const char *host = fact_or(p, "host", NULL);
	int seen = __builtin_popcountll(us_profile_summary(p)->vcpu_mask);
	int vcpus = n ? atoi(n) : seen;
	snprintf(dst, size, "%s: ", us_report_title(p));
	if (vmm)
		us_append(dst, size, "%s, ", vmm);
	if (pid && strcmp(pid, "0"))
		us_append(dst, size, "pid %s, ", pid);
	bool differs = us_profile_fact_differs(p, "vcpus");
	if (differs)
		us_append(dst, size, "several numbers of vCPUs");
	else
		us_append(dst, size, "%d vCPU%s", vcpus, vcpus == 1 ? "" : "s");
	if (!differs && seen != vcpus && !us_profile_waits(p)->shown)
		us_append(dst, size, " (%d seen)", seen);
	if (date)
		us_append(dst, size, ", recorded %s", date);
	if (host)
		us_append(dst, size, " on %s", host);
}

/* Waiting tasks: how often they were looked at, and what that cost. */
static void how_waits(const struct us_profile *p, char *dst, size_t size)
{
	const struct us_wait_stats *t = &us_profile_waits(p)->stats;
	const struct us_record_stats *s = &us_profile_summary(p)->stats;
	snprintf(dst, size,
		 "what tasks wait for: %" PRIu64 " looks, %s a second asked, %.1f s; ",
		 t->looks, fact_or(p, "tasks_hz", "?"), (double)s->elapsed_ns / 1e9);
	us_append(dst, size, "%.2f %% of a host CPU",
		  percent(t->cost_ns, s->elapsed_ns));
}

static void how(const struct us_profile *p, char *dst, size_t size)
{
	if (us_profile_waits(p)->shown) {
		how_waits(p, dst, size);
		return;
	}
	const struct us_record_stats *s = &us_profile_summary(p)->stats;
	const char *detail = fact_or(p, "how", NULL), *hz = fact_or(p, "hz", NULL);
	char reached[32];
	snprintf(dst, size, "backend %s", fact_or(p, "backend", "not known"));
	if (detail && !us_profile_fact_differs(p, "how"))
		us_append(dst, size, " (%s)", detail);
	if (us_profile_fact_differs(p, "hz"))
		us_append(dst, size, ", several rates asked");
	else if (hz)
		us_append(dst, size, ", %s Hz asked", hz);
	if (s->vcpu_ns)
		us_append(dst, size, ", %s reached on each vCPU",
			  us_report_hz_words(reached, sizeof(reached), s));
	us_append(dst, size, ", %.1f s", (double)s->elapsed_ns / 1e9);
}

static void add_recording(const struct us_profile_recording *r, const char *before,
			  char *dst, size_t size)
{
	us_append(dst, size, "%s%.100s (%.0f samples that ran", before, r->name,
		  (double)r->running / r->scale);
	if (r->scale > 1)
		us_append(dst, size, ", each counts %.3g times", r->scale);
	us_append(dst, size, ")");
}

/* Written if there are several. */
static void recordings(const struct us_profile *p, char *dst, size_t size)
{
	size_t n, shown = 0;
	const struct us_profile_recording *r = us_profile_recordings(p, &n);
	dst[0] = '\0';
	if (n < 2)
		return;
	snprintf(dst, size, "%zu recordings as one: ", n);
	for (; shown < n && strlen(dst) < 300; shown++)
		add_recording(&r[shown], shown ? ", " : "", dst, size);
	if (shown < n)
		us_append(dst, size, " and %zu more", n - shown);
}

static void filters(const struct us_profile *p, char *dst, size_t size)
{
	snprintf(dst, size, "%s", us_profile_filters(p));
}

/* What was read from the guest's own memory. */
static void guest_tables(const struct us_profile *p, char *dst, size_t size)
{
	snprintf(dst, size, "%s", fact_or(p, "linux", ""));
}

/* How many tasks waited, on average. */
char *us_report_waits_line(const struct us_profile *p, char *dst, size_t size)
{
	const struct us_profile_waits *w = us_profile_waits(p);
	double looks = w->shown_looks ? (double)w->shown_looks : 1;
	double all = 0;
	if (!w->shown_looks && !w->stats.looks) {
		snprintf(dst, size, "no task was looked at");
		return dst;
	}
	for (int i = 0; i < US_N_WAIT_STATE; i++)
		all += (double)w->state[i];
	snprintf(dst, size,
		 "%.1f tasks waited on average: %.1f slept (S), %.1f were blocked (D), "
		 "%.1f were ready (R) without a CPU",
		 all / looks, (double)w->state[US_WAIT_SLEEPS] / looks,
		 (double)w->state[US_WAIT_BLOCKED] / looks,
		 (double)w->state[US_WAIT_READY] / looks);
	if (w->stats.looks)
		us_append(dst, size,
			  "; besides %.1f threads of the kernel without work, and %.1f "
			  "tasks on a CPU",
			  (double)w->stats.idle / (double)w->stats.looks,
			  (double)w->stats.running / (double)w->stats.looks);
	return dst;
}

/* Mention that the recording has another view. */
static void other_view(const struct us_profile *p, char *dst, size_t size)
{
	const struct us_profile_waits *w = us_profile_waits(p);
	dst[0] = '\0';
	if (w->n && !w->shown)
		snprintf(dst, size,
			 "its tasks were looked at while they waited, too: report "
			 "--waits");
}

static void states(const struct us_profile *p, char *dst, size_t size)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	uint64_t running = s->running + s->unfocused + s->other_part;
	uint64_t all = running + s->idle;
	dst[0] = '\0';
	if (us_profile_waits(p)->shown)
		us_report_waits_line(p, dst, size);
	if (us_profile_is_counted(p) || us_profile_waits(p)->shown)
		return;
	snprintf(dst, size, "running %.1f %% of the time (%" PRIu64 " samples)",
		 percent(running, all), running);
	us_append(dst, size, ", idle %.1f %% (%" PRIu64, percent(s->idle, all),
		  s->idle);
	if (all)
		us_append(dst, size, "; 95 %%: %.1f-%.1f", 100 * s->idle_low,
			  100 * s->idle_high);
	if (s->idle_told)
		us_append(dst, size, "; %" PRIu64 " of them found by their stacks",
			  s->idle_told);
	us_append(dst, size, ")");
	if (s->off)
		us_append(dst, size, ", %" PRIu64 " off", s->off);
}

static void running(const struct us_profile *p, char *dst, size_t size)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	uint64_t all = s->running + s->unfocused + s->other_part;
	bool waits = us_profile_waits(p)->shown;
	snprintf(dst, size, "shares below are of the %" PRIu64 " %s%s", s->running,
		 us_profile_unit(p),
		 waits			       ? " of tasks that waited"
		 : us_profile_is_calls_only(p) ? ""
					       : " that ran");
	if (s->unfocused)
		us_append(dst, size,
			  s->focus_only ? " and match the focus"
					: " and pass the filters");
	if (s->unfocused || s->other_part)
		us_append(dst, size, " (%.1f %% of %" PRIu64 ")",
			  percent(s->running, all), all);
	if (s->late)
		us_append(dst, size,
			  "; %" PRIu64
			  " of them came after their work had ended, and count for "
			  "the next stack of their vCPU",
			  s->late);
	if (s->other_part)
		us_append(dst, size, "; %" PRIu64 " in the other part", s->other_part);
	if (waits)
		return;
	if (s->exit)
		us_append(dst, size, "; in the VMM %.1f %%",
			  percent(s->exit, s->running));
	if (s->ready)
		us_append(dst, size, "; waiting for the host CPU %.1f %%",
			  percent(s->ready, s->running));
}

#define MUCH_WIDER  3
#define MUCH_POINTS 0.02

/* The function with the widest long-run interval, if that is much wider than the one
 * for the span; NULL: none. */
static const struct us_profile_func *slowest(const struct us_profile *p)
{
	const struct us_profile_func *worst = NULL;
	double most = MUCH_POINTS;
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++) {
		double wide = f[i].self_long_high - f[i].self_long_low;
		double here = f[i].self_high - f[i].self_low;
		if (!f[i].self || wide < MUCH_WIDER * here || wide <= most)
			continue;
		worst = &f[i];
		most = wide;
	}
	return worst;
}

char *us_report_interval_line(const struct us_profile *p, char *dst, size_t size)
{
	const struct us_profile_func *f = slowest(p);
	dst[0] = '\0';
	if (us_profile_is_counted(p))
		return dst;
	if (us_profile_waits(p)->shown) {
		snprintf(
			dst, size,
			"95 %% intervals take all tasks of a look for one observation");
		return dst;
	}
	snprintf(dst, size, "95 %% intervals are for the recorded span");
	if (!f)
		return dst;
	us_append(dst, size,
		  "; in the long run %.200s may take %.0f-%.0f %%: ", f->name,
		  100 * f->self_long_low, 100 * f->self_long_high);
	us_append(dst, size,
		  us_profile_summary(p)->slices < US_PROFILE_FEW_SLICES
			  ? "this recording is too short to know"
			  : "the guest changes slowly, record longer to compare");
	return dst;
}

char *us_report_time_line(const struct us_profile *p, char *dst, size_t size)
{
	struct us_time_split t;
	us_time_split(p, &t);
	double whole = t.wall_ns > 0 ? t.wall_ns : t.sum_ns;
	dst[0] = '\0';
	if (!t.told || whole <= 0)
		return dst;
	snprintf(dst, size, "time");
	for (int i = 0; i < US_N_TIME; i++)
		if (t.part_ns[i] > 0 || i == US_TIME_GUEST)
			us_append(dst, size, "%s %s %.1f %%", i ? "," : ":",
				  us_time_part_name((enum us_time_part)i),
				  100 * t.part_ns[i] / whole);
	if (t.wall_ns > 0)
		us_append(dst, size, ", not accounted for %.1f %%",
			  100 * (t.wall_ns - t.sum_ns) / whole);
	return dst;
}

static void time_line(const struct us_profile *p, char *dst, size_t size)
{
	us_report_time_line(p, dst, size);
}

bool us_report_header_line(const struct us_profile *p, unsigned i, char *dst,
			   size_t size)
{
	static void (*const lines[])(const struct us_profile *, char *, size_t) = {
		what,	how,	   recordings, guest_tables, filters,
		states, time_line, running,    other_view,
	};
	for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
		lines[k](p, dst, size);
		if (dst[0] && i-- == 0)
			return true;
	}
	return false;
}
