/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c: `uniscope report`: a recording as text, JSON, flame graph, ... */
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/recording.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

enum {
	OPT_SORT = US_OPTION_LONG,
	OPT_SYMBOLS,
	OPT_CHILDREN,
	OPT_NO_CHILDREN,
	OPT_VCPU,
	OPT_TIME,
	OPT_FOCUS,
	OPT_LIMIT,
	OPT_KERNEL_ONLY,
	OPT_USER_ONLY,
	OPT_NO_DEMANGLE,
	OPT_JSON,
	OPT_EXITS,
	OPT_HOST,
	OPT_FULL_PATHS,
};

struct settings {
	const char *in, *out;
	const struct us_format *format;
	struct us_profile_opts profile;
	struct us_report_opts report;
	const char *image[US_RECORDING_IMAGES];
	const char *dir[US_MAX_DIRS];
};

static bool set_sort(struct settings *s, const char *value)
{
	static const char *const names[] = { [US_SORT_SELF] = "self",
					     [US_SORT_TOTAL] = "total",
					     [US_SORT_NAME] = "name",
					     [US_SORT_FILE] = "file" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(value, names[i])) {
			s->report.sort = (enum us_sort)i;
			return true;
		}
	us_usage(&us_cmd_report, "--sort %s: must be self, total, name or file", value);
	return false;
}

static bool set_focus(struct settings *s, const char *value)
{
	regex_t re;
	char why[128];
	int r = regcomp(&re, value, REG_EXTENDED | REG_NOSUB);
	if (r == 0) {
		regfree(&re);
		s->profile.focus = value;
		return true;
	}
	regerror(r, &re, why, sizeof(why));
	us_usage(&us_cmd_report, "--focus %s: %s", value, why);
	return false;
}

static void no_such_format(const char *value)
{
	struct us_nearest near = us_nearest_to(value);
	char question[64];
	for (const struct us_format *const *f = us_formats; *f; f++)
		us_nearest_try(&near, (*f)->name);
	us_usage(&us_cmd_report, "--format %s: no such format%s; formats are: %s",
		 value, us_nearest_question(&near, question, sizeof(question)),
		 near.list);
}

static bool set_format(struct settings *s, const char *value)
{
	s->format = us_format_by_name(value);
	if (!s->format)
		no_such_format(value);
	return s->format != NULL;
}

static bool set_option(struct settings *s, int c, const char *value)
{
	double number;
	switch (c) {
	case 'o':
		s->out = value;
		return true;
	case 'f':
		return set_format(s, value);
	case 'e':
		return us_recording_image(&us_cmd_report, value, &s->profile, s->image);
	case OPT_SYMBOLS:
		return us_parse_dir(&us_cmd_report, value, s->dir, &s->profile.dirs);
	case OPT_JSON:
		return set_format(s, "json");
	case OPT_EXITS:
		return set_format(s, "exits");
	case OPT_SORT:
		return set_sort(s, value);
	case OPT_CHILDREN:
	case OPT_NO_CHILDREN:
		s->report.children = c == OPT_CHILDREN;
		return true;
	case OPT_VCPU:
		return us_parse_vcpus(value, &s->profile.vcpu_mask);
	case OPT_TIME:
		return us_recording_time(&us_cmd_report, value, &s->profile);
	case OPT_FOCUS:
		return set_focus(s, value);
	case OPT_KERNEL_ONLY:
	case OPT_USER_ONLY:
		s->profile.part = c == OPT_USER_ONLY ? US_PART_USER : US_PART_KERNEL;
		return true;
	case OPT_HOST:
		s->profile.host = true;
		return true;
	case OPT_FULL_PATHS:
		s->report.full_paths = true;
		return true;
	case OPT_NO_DEMANGLE:
		s->profile.raw_names = true;
		return true;
	case OPT_LIMIT:
		if (!us_parse_double("--limit", value, 0, 1e9, &number))
			return false;
		s->report.limit = (size_t)number;
		return true;
	}
	return false;
}

static int choose_format(struct settings *s)
{
	if (!s->format && s->out && strcmp(s->out, "-")) {
		s->format = us_format_by_suffix(s->out);
		if (!s->format)
			return us_usage(
				&us_cmd_report,
				"-o %s: the suffix names no format: .txt, .html, .json "
				"and .folded do, or --format",
				s->out);
	}
	if (!s->format)
		s->format = us_format_by_name("text");
	return US_EXIT_OK;
}

static int parse(struct settings *s, int argc, char **argv, bool *ret_go)
{
	struct us_options o = { .cmd = &us_cmd_report, .argc = argc, .argv = argv };
	int c;
	*ret_go = false;
	s->profile.images = s->image;
	while ((c = us_options_next(&o)) > 0)
		if (!set_option(s, c, o.value))
			return US_EXIT_USAGE;
	if (c < 0)
		return o.help ? US_EXIT_OK : US_EXIT_USAGE;
	if (argc - o.rest > 1)
		return us_usage(&us_cmd_report, "one recording, not %s",
				argv[o.rest + 1]);
	s->in = argc > o.rest ? argv[o.rest] : "uniscope.data";
	s->report.file = strcmp(s->in, "-") ? s->in : NULL;
	int code = choose_format(s);
	*ret_go = code == US_EXIT_OK;
	return code;
}

static int open_result(const struct settings *s, FILE **ret, struct us_err *e)
{
	if (!s->out || !strcmp(s->out, "-")) {
		*ret = stdout;
		return 0;
	}
	_cleanup_close_ int fd = open(
		s->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	*ret = fd < 0 ? NULL : fdopen(fd, "w");
	if (!*ret)
		return us_fail(e, -errno, "create %s: %s", s->out, strerror(errno));
	fd = -1; /* the stream's now */
	return 0;
}

static void profile_freep(struct us_profile **p)
{
	us_profile_free(*p);
}

static int run(struct settings *s, struct us_err *e)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(profile_freep) struct us_profile *p = NULL;
	FILE *out = NULL;
	int r = us_recording_open(s->in, &fd, e);
	if (r == 0)
		r = us_profile_read(fd, &s->profile, &p, e);
	if (r == 0)
		r = open_result(s, &out, e);
	if (r < 0)
		return r;
	s->report.colour = isatty(fileno(out)) && !getenv("NO_COLOR");
	s->report.width = us_output_columns(out);
	r = us_report(p, s->format, &s->report, out, e);
	if (out == stdout)
		return r;
	if (fclose(out) && r == 0)
		r = us_fail(e, -errno, "write %s: %s", s->out, strerror(errno));
	else if (r == 0)
		printf("wrote %s\n", s->out);
	return r;
}

static int run_report(int argc, char **argv)
{
	struct settings s = { .report = { .sort = US_SORT_SELF } };
	struct us_err e = { 0 };
	bool go;
	int code = parse(&s, argc, argv, &go);
	if (!go)
		return code;
	if (run(&s, &e) == 0)
		return US_EXIT_OK;
	us_complain(&e);
	return US_EXIT_FAILED;
}

static const struct us_option options[] = {
	{ 'f', "format", "NAME",
	  "text, json, folded, html, qprofiler or exits (text)" },
	{ 'o', "output", "FILE", "write there; the suffix names the format" },
	{ 'e', "elf", "ELF[@BIAS]", "symbol file instead of the recorded; repeatable" },
	{ OPT_SYMBOLS, "symbols", "DIR",
	  "search it for images and debug files; repeatable" },
	{ OPT_SORT, "sort", "KEY", "self, total, name or file (self)" },
	{ OPT_CHILDREN, "children", NULL, "count callees in: sort by total" },
	{ OPT_NO_CHILDREN, "no-children", NULL, "sort by self (the default)" },
	{ OPT_VCPU, "vcpu", "LIST", "only these, such as 0,2-3" },
	{ OPT_TIME, "time", "FROM,TO", "only this part of the recording: 1s,2.5s" },
	{ OPT_FOCUS, "focus", "REGEX", "only stacks with such a function" },
	{ OPT_KERNEL_ONLY, "kernel-only", NULL, "only what ran in the kernel" },
	{ OPT_USER_ONLY, "user-only", NULL, "only what ran in programs, in ring 3" },
	{ OPT_LIMIT, "limit", "N", "rows at most (all)" },
	{ OPT_NO_DEMANGLE, "no-demangle", NULL, "names as the symbol file has them" },
	{ OPT_FULL_PATHS, "full-paths", NULL,
	  "of sources: with the folders that all share" },
	{ OPT_JSON, "json", NULL, "the same as --format json" },
	{ OPT_EXITS, "exits", NULL,
	  "what was left the guest for, and where: --format exits" },
	{ OPT_HOST, "host", NULL,
	  "the host's functions too, as called by the guest's (record --host)" },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope report\0the functions of uniscope.data, the hottest first",
	"uniscope report -o web.html web.data\0a flame graph in one file",
	"uniscope report --focus 'copy|move' --vcpu 0\0a part of it",
	"uniscope report --format folded | flamegraph.pl\0for other tools",
	"uniscope report --exits\0which functions cause exits to the host",
	NULL,
};

const struct us_cmd us_cmd_report = {
	.name = "report",
	.args = "[OPTIONS] [FILE]",
	.summary = "show a recording as text, flame graph, JSON, ...",
	.options = options,
	.examples = examples,
	.run = run_report,
};
