/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c: `uniscope report`: a recording as text, JSON, flame graph, ... */
#include "cmd/options.h"
#include "cmd/record/output.h"
#include "cmd/record/recording.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum {
	OPT_SORT = US_OPTION_LONG,
	OPT_CHILDREN,
	OPT_NO_CHILDREN,
	OPT_GROUP_BY,
	OPT_BY,
	OPT_LIMIT,
	OPT_JSON,
	OPT_EXITS,
	OPT_TREE,
	OPT_BOTTOM_UP,
	OPT_CALLERS,
	OPT_PERCENT,
	OPT_SOURCE,
	OPT_SOURCE_PREFIX,
};

/* An option that asks for a text of its own; the formats named in `also` show the same
 * in another way. */
struct view {
	const char *option, *is; /* "--tree": it is "a tree" */
	const char *format;
	const char *also[3]; /* NULL-terminated */
};

static const struct view tree_view = { "--tree", "a tree", "tree", { "json", "html" } },
			 bottom_up_view = { "--bottom-up", "a tree", "tree", { NULL } },
			 callers_view = { "--callers", "a tree", "tree", { NULL } },
			 exits_view = { "--exits", "a table", "exits", { "json" } };

struct settings {
	const char *const *in; /* recordings */
	size_t n_in;
	char names[1024]; /* of all recordings */
	const char *out;
	const struct us_format *format; /* until it is chosen: --format */
	const struct view *view;	/* or NULL */
	struct us_profile_opts profile;
	struct us_report_opts report;
	enum us_profile_by rows; /* from --sort: a table of these */
	struct us_symbol_files symbols;
	struct us_source_places places;
	struct us_annotate_opts sources;
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
	for (int by = US_BY_PROCESS; by <= US_BY_IMAGE; by++)
		if (!strcmp(value, us_profile_by_name((enum us_profile_by)by))) {
			s->rows = (enum us_profile_by)by;
			return true;
		}
	us_usage(&us_cmd_report,
		 "--sort %s: must be self, total, name or file; or process, thread, "
		 "comm, container or image, for a table of these",
		 value);
	return false;
}

static bool set_roots(struct settings *s, const char *value)
{
	for (int by = US_BY_PROCESS; by <= US_BY_CONTAINER; by++)
		if (!strcmp(value, us_profile_by_name((enum us_profile_by)by))) {
			s->profile.roots = (enum us_profile_by)by;
			return true;
		}
	us_usage(
		&us_cmd_report,
		"--by %s: must be process, thread, comm or container (a table of each: "
		"--group-by)",
		value);
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

static bool set_view(struct settings *s, const struct view *v)
{
	if (s->view && strcmp(s->view->format, v->format) != 0) {
		us_usage(&us_cmd_report, "%s is %s, %s is %s: choose one",
			 s->view->option, s->view->is, v->option, v->is);
		return false;
	}
	if (!s->view || !v->also[0]) /* --tree says no more than --bottom-up */
		s->view = v;
	return true;
}

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	double number;
	switch (c) {
	case 'f':
		return set_format(s, value);
	case OPT_JSON:
		return set_format(s, "json");
	case OPT_EXITS:
		return set_view(s, &exits_view);
	case OPT_TREE:
		return set_view(s, &tree_view);
	case OPT_BOTTOM_UP:
		s->report.bottom_up = true;
		return set_view(s, &bottom_up_view);
	case OPT_CALLERS:
		s->report.around = value;
		return set_view(s, &callers_view);
	case OPT_PERCENT:
		return us_parse_percent("--percent-limit", value, 0, 100,
					&s->report.least_percent);
	case OPT_SORT:
		return set_sort(s, value);
	case OPT_CHILDREN:
	case OPT_NO_CHILDREN:
		s->report.children = c == OPT_CHILDREN;
		return true;
	case OPT_SOURCE:
		return us_source_dir(&us_cmd_report, &s->places, value);
	case OPT_SOURCE_PREFIX:
		return us_source_prefix(&us_cmd_report, &s->places, value);
	case OPT_BY:
		return set_roots(s, value);
	case OPT_GROUP_BY:
		return us_recording_by(&us_cmd_report, "--group-by", value,
				       &s->report.group_by);
	case OPT_LIMIT:
		if (!us_parse_double("--limit", value, 0, 1e9, &number))
			return false;
		s->report.limit = (size_t)number;
		return true;
	}
	return us_recording_select(&us_cmd_report, c, value, &s->profile);
}

static bool of_processes(const struct settings *s)
{
	return us_profile_by_owner(s->report.group_by) ||
	       us_recording_of_owners(&s->profile);
}

static int choose_groups(struct settings *s)
{
	const char *option = s->rows ? "--sort" : "--group-by";
	if (s->rows && s->report.group_by)
		return us_usage(&us_cmd_report,
				"--sort %s prints a table of these alone, --group-by "
				"%s a table with the functions of each: choose one",
				us_profile_by_name(s->rows),
				us_profile_by_name(s->report.group_by));
	if (s->rows) {
		s->report.group_by = s->rows;
		s->report.groups_only = true;
	}
	if (s->report.group_by && !s->format->groups)
		return us_usage(&us_cmd_report,
				"%s %s: the formats text and json have such a table, "
				"not %s",
				option, us_profile_by_name(s->report.group_by),
				s->format->name);
	return US_EXIT_OK;
}

static int check_waits(const struct settings *s)
{
	if (!s->profile.waits)
		return US_EXIT_OK;
	if (s->n_in > 1)
		return us_usage(&us_cmd_report,
				"--waits takes one recording only: tasks of several "
				"cannot be told apart");
	if (!s->format->waits)
		return us_usage(&us_cmd_report,
				"--waits: the format %s shows samples of vCPUs only",
				s->format->name);
	if (s->profile.vcpu_mask || s->profile.host)
		return us_usage(&us_cmd_report, "--waits: %s is of vCPUs",
				s->profile.host ? "--host" : "--vcpu");
	if (s->profile.roots)
		return us_usage(&us_cmd_report,
				"--waits: leave out --by: stacks already begin with "
				"their process and thread");
	return US_EXIT_OK;
}

/* The tree has no rows to sort or to limit. */
static int check_tree(const struct settings *s)
{
	const struct us_report_opts *o = &s->report;
	if (!strcmp(s->format->name, "tree") && (o->limit || o->sort != US_SORT_SELF))
		return us_usage(&us_cmd_report,
				"%s: the tree has the heaviest branches first; "
				"--percent-limit leaves out the light ones",
				o->limit ? "--limit" : "--sort");
	return US_EXIT_OK;
}

static bool shows_too(const struct view *v, const char *format)
{
	for (size_t i = 0; v->also[i]; i++)
		if (!strcmp(v->also[i], format))
			return true;
	return false;
}

/* Known only after all options: none of them counts less for coming first. */
static int choose_view(struct settings *s, bool by_suffix)
{
	const struct view *v = s->view;
	const char *format = s->format ? s->format->name : "text";
	if (!v || shows_too(v, format))
		return US_EXIT_OK;
	if (strcmp(format, "text") != 0 && strcmp(format, v->format) != 0)
		return us_usage(&us_cmd_report, "%s is %s: not with --format %s%s%s%s",
				v->option, v->is, format,
				by_suffix ? ", which the suffix of " : "",
				by_suffix ? s->out : "",
				by_suffix ? " names: use .txt" : "");
	s->format = us_format_by_name(v->format);
	return US_EXIT_OK;
}

static int choose_format(struct settings *s)
{
	bool by_suffix = !s->format && s->out && strcmp(s->out, "-") != 0;
	if (by_suffix) {
		s->format = us_format_by_suffix(s->out);
		if (!s->format && !s->view)
			return us_usage(
				&us_cmd_report,
				"-o %s: the suffix names no format: .txt, .html, "
				".json, "
				".folded, .callgrind, .pb.gz, .speedscope.json, "
				".json.gz, "
				".trace.json and .perf.data do, or --format",
				s->out);
	}
	int code = choose_view(s, by_suffix);
	if (code != US_EXIT_OK)
		return code;
	if (!s->format)
		s->format = us_format_by_name("text");
	if (s->format->binary && (!s->out || !strcmp(s->out, "-")) &&
	    isatty(STDOUT_FILENO))
		return us_usage(
			&us_cmd_report,
			"%s is binary and cannot go to a terminal: name a file with -o",
			s->format->name);
	code = choose_groups(s);
	if (code == US_EXIT_OK)
		code = check_tree(s);
	if (code != US_EXIT_OK)
		return code;
	s->profile.processes = of_processes(s);
	s->profile.if_known = !s->profile.processes && s->format->owners &&
			      s->n_in == 1;
	s->profile.processes |= s->profile.if_known;
	s->profile.by_vcpu = s->format->by_vcpu || s->report.group_by;
	s->profile.by_time = s->format->by_time;
	s->profile.timeline = s->format->timeline;
	s->profile.timeline_most = s->format->timeline_most;
	if (s->profile.waits) { /* these stacks begin with their process already */
		s->profile.processes = false;
		s->report.no_code = true;
	}
	return check_waits(s);
}

/* Names for the command to type next. */
static void name_files(struct settings *s)
{
	char word[sizeof(s->names)];
	s->report.file = s->names;
	for (size_t i = 0; i < s->n_in; i++) {
		if (!strcmp(s->in[i], "-"))
			s->report.file = NULL;
		us_shell_word(word, sizeof(word), s->in[i]);
		us_append(s->names, sizeof(s->names), "%s%s", i ? " " : "", word);
	}
	if (strlen(s->names) + 1 == sizeof(s->names))
		s->report.file = "FILE...";
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_report,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	if (!us_options_read(&o, ret_exit))
		return false;
	if (o.n_rest) {
		s->in = (const char *const *)o.rest;
		s->n_in = (size_t)o.n_rest;
	}
	us_recording_symbols(&s->symbols, &s->profile);
	s->sources = us_source_opts(&s->places);
	s->report.sources = &s->sources;
	name_files(s);
	*ret_exit = choose_format(s);
	if (*ret_exit == US_EXIT_OK && s->n_in > 1 && s->profile.processes)
		*ret_exit = us_usage(&us_cmd_report, US_PROCESSES_OF_ONE);
	return *ret_exit == US_EXIT_OK;
}

/* A page also shows waits, if the recording is a file that can be read again. */
static int read_waits(const struct settings *s, const struct us_profile *p,
		      struct us_profile **ret, struct us_err *e)
{
	struct us_profile_opts o = s->profile;
	const struct us_profile_waits *w = us_profile_waits(p);
	if (!s->format->both || !w->n || w->shown || s->n_in > 1 || o.vcpu_mask ||
	    !strcmp(s->in[0], "-"))
		return 0;
	o.waits = true;
	o.by_time = o.host = o.processes = false;
	o.roots = US_BY_NONE;
	return us_recordings_read(s->in, s->n_in, &o, ret, e);
}

/* Read it again with processes as the roots of stacks, if they are known. */
static int read_owners(const struct settings *s, const struct us_profile *p,
		       struct us_profile **ret, struct us_err *e)
{
	struct us_profile_opts o = s->profile;
	if (!s->format->both || !us_profile_owners_known(p) || o.roots || o.waits ||
	    s->n_in > 1 || !strcmp(s->in[0], "-"))
		return 0;
	o.roots = US_BY_PROCESS;
	return us_recordings_read(s->in, s->n_in, &o, ret, e);
}

/* Where the format has no place for warnings. */
static void warn(const struct us_profile *p)
{
	char text[1024];
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		fprintf(stderr, "uniscope: warning: %s\n",
			us_printable(text, sizeof(text), us_profile_warning(p, i)));
}

static int run(struct settings *s, struct us_err *e)
{
	_cleanup_(us_profile_freep) struct us_profile *p = NULL;
	_cleanup_(us_profile_freep) struct us_profile *waits = NULL;
	_cleanup_(us_profile_freep) struct us_profile *owners = NULL;
	struct us_result out;
	int r = us_new_file_is_none_of(s->out, s->in, s->n_in, e);
	if (r == 0)
		r = us_recordings_read(s->in, s->n_in, &s->profile, &p, e);
	if (r == 0)
		r = read_waits(s, p, &waits, e);
	s->report.waits = waits;
	if (r == 0)
		r = read_owners(s, p, &owners, e);
	s->report.owners = owners;
	if (r == 0)
		r = us_result_open(&out, s->out, e);
	if (r != 0)
		return r;
	s->report.colour = us_output_colour(out.f);
	s->report.width = us_output_columns(out.f);
	r = us_report(p, s->format, &s->report, out.f, e);
	if (r == 0 && !s->format->warns)
		warn(p);
	if (r == 0)
		us_output_caution(s->format, p);
	return us_result_close(&out, r, e);
}

static int run_report(int argc, char **argv)
{
	static const char *const usual[] = { "uniscope.data" };
	struct settings s = { .in = usual,
			      .n_in = 1,
			      .report = { .sort = US_SORT_SELF,
					  .least_percent = 0.5 } };
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	if (run(&s, &e) == 0)
		return US_EXIT_OK;
	us_complain(&e);
	return US_EXIT_FAILED;
}

static const struct us_option options[] = {
	{ 'f', "format", "NAME",
	  "text, html, json, folded, callgrind, pprof, speedscope, firefox,"
	  "\n                               chrome, perf, qprofiler, exits, phases or "
	  "tree",
	  US_OWN },
	{ 'o', "output", "FILE", "write to FILE; the suffix names the format",
	  US_TEXT(struct settings, out) },
	US_INPUT_ROW,
	US_RECORDED_SYMBOL_ROWS(struct settings, symbols),
	US_PROGRAM_ROWS(struct settings, symbols),
	{ OPT_SORT, "sort", "KEY",
	  "self, total, name or file (self); or a table of process, thread,"
	  "\n                               comm, container or image",
	  US_OWN },
	{ OPT_CHILDREN, "children", NULL, "sort by total, which includes callees",
	  US_OWN },
	{ OPT_NO_CHILDREN, "no-children", NULL, "sort by self (the default)", US_OWN },
	{ 0, "vcpu", "LIST", "only these vCPUs, such as 0,2-3",
	  US_VCPUS(struct settings, profile.vcpu_mask) },
	US_SELECT_ROWS("the recording"),
	{ OPT_GROUP_BY, "group-by", "KEY",
	  "tables with sums for each guest, recording, vcpu, state, process,"
	  "\n                               thread, comm, container, image or file",
	  US_OWN },
	{ OPT_BY, "by", "KEY",
	  "make process, thread, comm or container the root of each stack", US_OWN },
	US_SELECT_PART_ROWS,
	{ OPT_LIMIT, "limit", "N", "at most N rows (all)", US_OWN },
	{ OPT_TREE, "tree", NULL, "the call tree as text: --format tree", US_OWN },
	{ OPT_BOTTOM_UP, "bottom-up", NULL,
	  "the call tree with callers below their callees", US_OWN },
	{ OPT_CALLERS, "callers", "FUNC",
	  "the callers of one function, and what it calls", US_OWN },
	{ OPT_PERCENT, "percent-limit", "P",
	  "for a tree: only branches of P percent or more (0.5)", US_OWN },
	{ 0, "no-demangle", NULL, "show names as the symbol file has them",
	  US_FLAG(struct settings, profile.raw_names) },
	{ 0, "full-paths", NULL, "show sources with their whole paths",
	  US_FLAG(struct settings, report.full_paths) },
	{ OPT_SOURCE, "source", "DIR", "for a page: search DIR for sources; repeatable",
	  US_OWN },
	{ OPT_SOURCE_PREFIX, "source-prefix", "OLD=NEW",
	  "for a page: paths that begin with OLD are at NEW; repeatable", US_OWN },
	{ 0, "no-code", NULL, "for a page: leave out source and instructions",
	  US_FLAG(struct settings, report.no_code) },
	{ OPT_JSON, "json", NULL, "the same as --format json", US_OWN },
	{ OPT_EXITS, "exits", NULL,
	  "what caused exits, and where they were handled: --format exits", US_OWN },
	{ 0, "waits", NULL,
	  "what a Linux guest's tasks wait for, not what runs (record --tasks)",
	  US_FLAG(struct settings, profile.waits) },
	{ 0, "host", NULL,
	  "also the host's functions, as called by the guest's (record --host)",
	  US_FLAG(struct settings, profile.host) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope report\0the functions of uniscope.data, the hottest first",
	"uniscope report -o web.html web.data\0a flame graph in one file",
	"uniscope report --focus 'copy|move' --vcpu 0\0only a part of it",
	"uniscope report --format folded | flamegraph.pl\0for other tools",
	"uniscope report --exits\0which functions cause exits to the host",
	"uniscope report --group-by process\0the CPU time of each process of a Linux "
	"guest",
	"uniscope report --sort thread\0the busiest threads, one row each",
	"uniscope report --by process -o web.html\0"
	"processes as roots of the flame graph",
	"uniscope report --waits --group-by process\0"
	"what each process of a Linux guest waits for (record --tasks)",
	"uniscope report --root /mnt\0with the guest's files, to name its programs",
	"uniscope report --group-by guest a.data b.data\0several recordings as one",
	NULL,
};

const struct us_cmd us_cmd_report = {
	.name = "report",
	.args = "[OPTIONS] [FILE]...",
	.summary = "show a recording as text, flame graph, JSON, ...",
	.options = options,
	.examples = examples,
	.run = run_report,
};
