/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top.c: `uniscope top`: what a guest, or each guest of this host, does now. */
#include "cmd/record/live_options.h"
#include "cmd/options.h"
#include "cmd/record/recording.h"
#include "cmd/top/keys.h"
#include "cmd/top/watch.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define WINDOW_NS (5 * US_NS_PER_SEC)
#define LEAST_NS  (100 * US_NS_PER_MS) /* between two renewals */

enum {
	OPT_SORT = US_OPTION_LONG,
	OPT_LIMIT,
	OPT_FILTER,
	OPT_PID,
	OPT_COMM,
};

static bool set_sort(struct us_top_settings *s, const char *value)
{
	static const char *const names[] = { [US_SORT_SELF] = "self",
					     [US_SORT_TOTAL] = "total",
					     [US_SORT_NAME] = "name" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(value, names[i])) {
			s->sort = (enum us_sort)i;
			return true;
		}
	for (enum us_profile_by by = US_BY_NONE; by < US_N_BY; by++)
		if (us_profile_by_owner(by) && !strcmp(value, us_profile_by_name(by))) {
			s->rows = by;
			return true;
		}
	us_usage(&us_cmd_top,
		 "--sort %s: must be self, total or name; or " US_TOP_ROWS
		 " (of a Linux guest, a row for each)",
		 value);
	return false;
}

static bool set_filter(struct us_top_settings *s, const char *value)
{
	struct us_top_state trial = { 0 };
	if (!us_top_filter(&trial, value)) {
		us_usage(&us_cmd_top, "--filter %s", trial.message);
		return false;
	}
	us_top_state_fini(&trial);
	s->filter = value;
	return true;
}

static bool set_option(void *settings, int c, const char *value)
{
	struct us_top_settings *s = settings;
	double number;
	switch (c) {
	case 'w':
		if (!strcmp(value, "all")) {
			s->window_ns = 0;
			return true;
		}
		if (!us_parse_duration("--window", value, &s->window_ns))
			return false;
		if (s->window_ns)
			return true;
		us_usage(&us_cmd_top, "--window %s: must be more than 0, or all",
			 value);
		return false;
	case OPT_SORT:
		return set_sort(s, value);
	case OPT_FILTER:
		return set_filter(s, value);
	case OPT_PID:
		return us_recording_pid(&us_cmd_top, value, &s->only);
	case OPT_COMM:
		return us_recording_owner(&us_cmd_top, US_BY_COMM, value, &s->only);
	case OPT_LIMIT:
		if (!us_parse_double("--limit", value, 0, 1e9, &number))
			return false;
		s->limit = (size_t)number;
		s->limited = true;
		return true;
	}
	return us_live_set(&s->record, c, value);
}

static int check_usage(const struct us_top_settings *s)
{
	const struct us_record_settings *r = &s->record;
	struct us_err e;
	if (r->argc > 1)
		return us_usage(&us_cmd_top, "one TARGET, not %s as well", r->argv[1]);
	if (r->all && r->argc)
		return us_usage(&us_cmd_top, "--all takes no target such as %s",
				r->argv[0]);
	if (r->all && (s->only.n_pid || s->only.n_filter))
		return us_usage(&us_cmd_top, "%s is of one guest, not of all (--all)",
				s->only.n_pid ? "--pid" : "--comm");
	if (r->out && (!strcmp(r->out, "-") || us_format_by_suffix(r->out)))
		return us_usage(&us_cmd_top, "-o names %s, not %s",
				r->all ? "a folder for the recordings" : "a recording",
				r->out);
	if (s->interval_ns < LEAST_NS)
		return us_usage(&us_cmd_top, "--interval: at least 0.1s");
	if (r->backend && us_backend_check(r->backend, &e) < 0)
		return us_usage(&us_cmd_top, "%s (%s)", e.msg, e.hint);
	return US_EXIT_OK;
}

static bool parse(struct us_top_settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_top,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	if (!us_options_read(&o, ret_exit))
		return false;
	s->record.argc = o.n_rest;
	s->record.argv = o.rest;
	if (s->record.all) {
		s->record.schedule.pause_ns = US_LIVE_PAUSE_ALL_NS;
		if (!s->record.rate_given)
			s->record.schedule.hz = US_LIVE_HZ_ALL;
	}
	*ret_exit = check_usage(s);
	return *ret_exit == US_EXIT_OK;
}

static int run_top(int argc, char **argv)
{
	struct us_top_settings s = { .record = { .schedule = { .hz = US_LIVE_HZ } },
				     .window_ns = WINDOW_NS,
				     .interval_ns = US_NS_PER_SEC,
				     .sort = US_SORT_SELF };
	struct us_err e = { 0 };
	int code;
	if (getrandom(&s.record.schedule.seed, 4, 0) < 0)
		s.record.schedule.seed = us_now_ns() & UINT32_MAX;
	if (!parse(&s, argc, argv, &code))
		return code;
	int ret = us_top_watch(&s, &e);
	if (ret < 0)
		us_complain(&e);
	return us_exit_code(ret);
}

#define SETTINGS struct us_top_settings

static const struct us_option options[] = {
	{ 0, "all", NULL, "all guests of this host, also those that start later",
	  US_FLAG(SETTINGS, record.all) },
	{ 'w', "window", "TIME",
	  "shares of this much time before now; all: since the start (5s)", US_OWN },
	{ 'i', "interval", "TIME", "time between two updates (1s)",
	  US_TIME(SETTINGS, interval_ns) },
	{ OPT_SORT, "sort", "KEY",
	  "self, total or name (self); or rows: process, thread, comm, container",
	  US_OWN },
	{ OPT_FILTER, "filter", "REGEX", "only rows whose name matches", US_OWN },
	{ OPT_PID, "pid", "N",
	  "only this process or thread of a Linux guest; repeatable", US_OWN },
	{ OPT_COMM, "comm", "REGEX", "only threads whose name matches", US_OWN },
	US_LIVE_TASKS_ROW(": key b"),
	{ OPT_LIMIT, "limit", "N",
	  "at most N functions, without a terminal (10; JSON: all)", US_OWN },
	{ 'F', "frequency", "HZ",
	  "samples per second of each vCPU (997; with --all 99)", US_OWN },
	{ 'd', "duration", "TIME",
	  "stop after this time: 5, 2.5s, 300ms ... (until q or Ctrl-C)",
	  US_TIME(SETTINGS, record.duration_ns) },
	{ 'o', "output", "FILE", "keep the recording in FILE; with --all a folder",
	  US_TEXT(SETTINGS, record.out) },
	US_SYMBOL_ROWS(SETTINGS, record.symbols),
	US_PROGRAM_ROWS(SETTINGS, record.symbols),
	US_LIVE_ROWS(SETTINGS, record),
	{ 0, "no-demangle", NULL, "show names as the symbol file has them",
	  US_FLAG(SETTINGS, record.raw_names) },
	{ 0, "json", NULL, "print a JSON object each second, in one line",
	  US_FLAG(SETTINGS, record.json) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope top\0the one guest on this host, now",
	"uniscope top -w all web\0the guest named web, since the start",
	"uniscope top --sort process web\0which programs of a Linux guest are busy",
	"uniscope top --tasks 4 web\0and what its tasks wait for: key b",
	"uniscope top --all\0every guest of this host; Enter opens one",
	"uniscope top --json -d 60 web | jq '.functions[0].name'\0for scripts",
	NULL,
};

const struct us_cmd us_cmd_top = {
	.name = "top",
	.args = "[OPTIONS] [TARGET | --all]",
	.summary = "show what a guest does now, in a terminal",
	.options = options,
	.examples = examples,
	.run = run_top,
};
