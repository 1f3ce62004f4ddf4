/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay.c: `uniscope replay`: a trace as text, or for other viewers. */
#include "cmd/options.h"
#include "cmd/record/recording.h"
#include "report/report.h"
#include "report/trace_format.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OPT_FORMAT = US_OPTION_LONG,
	OPT_DEPTH,
	OPT_TIME,
};

struct settings {
	const char *in, *out;
	bool summary; /* -c */
	struct us_trace_report_opts trace;
	struct us_profile_opts profile;
	struct us_symbol_files symbols;
};

static bool set_format(struct settings *s, const char *value)
{
	s->trace.format = us_trace_format_by_name(value);
	if (s->trace.format)
		return true;
	struct us_nearest near = us_nearest_to(value);
	char question[64];
	for (const struct us_trace_format *const *f = us_trace_formats; *f; f++)
		us_nearest_try(&near, (*f)->name);
	us_usage(&us_cmd_replay, "--format %s: no such format%s; formats are: %s",
		 value, us_nearest_question(&near, question, sizeof(question)),
		 near.list);
	return false;
}

static bool set_depth(struct settings *s, const char *value)
{
	double n;
	if (!us_parse_double("--depth", value, 1, UINT16_MAX, &n))
		return false;
	s->trace.replay.max_depth = (uint32_t)n;
	return true;
}

/* Show this part of the trace, not of samples. */
static bool set_time(struct settings *s, const char *value)
{
	struct us_profile_opts part = { 0 };
	bool ok = us_recording_time(&us_cmd_replay, value, &part);
	s->trace.replay.from_ns = part.from_ns;
	s->trace.replay.to_ns = part.to_ns;
	return ok;
}

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	switch (c) {
	case 'c':
		s->summary = true;
		return true;
	case OPT_FORMAT:
		return set_format(s, value);
	case OPT_DEPTH:
		return set_depth(s, value);
	case OPT_TIME:
		return set_time(s, value);
	}
	return false;
}

/* -c is a table in text, wherever it is among the options: .txt names that, too. */
static int choose_summary(struct settings *s, bool by_suffix)
{
	const struct us_trace_format *calls = us_trace_format_by_name("calls"),
				     *f = s->trace.format;
	if (f && f != calls && !(by_suffix && !strcmp(f->suffix, ".txt")))
		return us_usage(
			&us_cmd_replay, "-c is a table: not with --format %s%s%s%s",
			f->name, by_suffix ? ", which the suffix of " : "",
			by_suffix ? s->out : "", by_suffix ? " names: use .txt" : "");
	s->trace.format = calls;
	return US_EXIT_OK;
}

/* ".txt, .html, ... and .functions" */
static const char *suffixes(char *dst, size_t size)
{
	dst[0] = '\0';
	for (const struct us_trace_format *const *f = us_trace_formats; *f; f++)
		us_append(dst, size, "%s%s", *dst ? f[1] ? ", " : " and " : "",
			  (*f)->suffix);
	return dst;
}

/* "x.speedscope.json": the last part of the suffix names a format of traces, but the
 * whole suffix one that only profiles have, and readers go by it. */
static const struct us_format *names_profile(const struct us_trace_format *f,
					     const char *path)
{
	const struct us_format *of = us_format_by_suffix(path);
	bool longer = f && of && strlen(of->suffix) > strlen(f->suffix);
	return longer && !us_trace_format_by_name(of->name) ? of : NULL;
}

static int choose_format(struct settings *s)
{
	char list[160];
	bool by_suffix = !s->trace.format && s->out && strcmp(s->out, "-") != 0;
	if (by_suffix) {
		s->trace.format = us_trace_format_by_suffix(s->out);
		if (!s->trace.format && !s->summary)
			return us_usage(&us_cmd_replay,
					"-o %s: the suffix names no format: %s do, or "
					"--format",
					s->out, suffixes(list, sizeof(list)));
		const struct us_format *of = names_profile(s->trace.format, s->out);
		if (of)
			return us_usage(&us_cmd_replay,
					"-o %s: traces cannot be written as %s; name "
					"the file .trace.json for the Trace Event "
					"Format, which speedscope opens, too",
					s->out, of->name);
	}
	if (s->summary && choose_summary(s, by_suffix) != US_EXIT_OK)
		return US_EXIT_USAGE;
	if (s->trace.format && s->trace.format->binary &&
	    (!s->out || !strcmp(s->out, "-")) && isatty(STDOUT_FILENO))
		return us_usage(
			&us_cmd_replay,
			"%s is binary and cannot go to a terminal: name a file with -o",
			s->trace.format->name);
	if (s->trace.format && s->trace.format->is_folder &&
	    (!s->out || !strcmp(s->out, "-")))
		return us_usage(&us_cmd_replay, "%s is a folder: name it with -o",
				s->trace.format->name);
	return US_EXIT_OK;
}

static bool are_regexes(const struct us_trace_report_opts *o)
{
	return (!o->filter || us_is_regex(&us_cmd_replay, "-f", o->filter)) &&
	       (!o->hide || us_is_regex(&us_cmd_replay, "--notrace", o->hide));
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_replay,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	s->in = "uniscope.data";
	if (!us_options_read(&o, ret_exit) ||
	    !us_options_one(&o, "recording", &s->in, ret_exit))
		return false;
	us_recording_symbols(&s->symbols, &s->profile);
	*ret_exit = are_regexes(&s->trace) ? choose_format(s) : US_EXIT_USAGE;
	return *ret_exit == US_EXIT_OK;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* A new folder, or an empty one: do not mix the output with other files. */
static int open_folder(struct settings *s, bool *ret_new, int *ret, struct us_err *e)
{
	*ret_new = mkdir(s->out, 0700) == 0;
	if (!*ret_new && errno != EEXIST)
		return us_fail(e, -errno, "create the folder %s: %s", s->out,
			       strerror(errno));
	*ret = open(s->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *dir = *ret < 0 ? NULL : opendir(s->out);
	if (!dir)
		return us_fail(e, -errno, "open the folder %s: %s", s->out,
			       strerror(errno));
	for (const struct dirent *d; (d = readdir(dir));)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			return us_fail(e, -ENOTEMPTY,
				       "write to the folder %s: it is not empty",
				       s->out);
	s->trace.folder = *ret;
	return 0;
}

/* What was begun must not make the next attempt fail. */
static void remove_folder(const struct settings *s, int folder, bool is_new)
{
	s->trace.format->remove(folder);
	if (is_new)
		rmdir(s->out);
}

/* The recording is read twice: a pipe goes to a file first. */
static int open_twice(const struct settings *s, struct us_profile **ret, int *ret_fd,
		      struct us_err *e)
{
	int r = us_recording_open(s->in, ret_fd, e);
	if (r < 0)
		return r;
	if (lseek(*ret_fd, 0, SEEK_CUR) < 0) {
		FILE *copy = tmpfile();
		struct us_reader_result result;
		static const struct us_reader_ops none;
		int fd = copy ? dup(fileno(copy)) : -1;
		if (copy)
			fclose(copy);
		if (fd < 0)
			return us_fail(e, -errno, "keep a recording to read it twice");
		r = us_read_copy(*ret_fd, fd, &none, NULL, &result, e);
		close(*ret_fd);
		*ret_fd = fd;
	}
	if (r == 0 && lseek(*ret_fd, 0, SEEK_SET) < 0)
		r = us_fail(e, -errno, "rewind %s: %s", s->in, strerror(errno));
	if (r == 0)
		r = us_profile_read(*ret_fd, &s->profile, ret, e);
	if (r == 0 && lseek(*ret_fd, 0, SEEK_SET) < 0)
		r = us_fail(e, -errno, "rewind %s: %s", s->in, strerror(errno));
	return r;
}

static void tell_none(const struct us_trace_report_opts *o)
{
	char safe[512];
	if (o->filter)
		fprintf(stderr, "uniscope: no function of the trace matches -f %s%s\n",
			us_printable(safe, sizeof(safe), o->filter),
			o->hide ? " and is left by --notrace" : "");
	else
		fputs("uniscope: --notrace leaves no function of the trace\n", stderr);
}

static void tell(const struct us_profile *p, const struct us_trace_report_opts *o,
		 const struct us_trace_report_result *t)
{
	if (t->none_passes && (o->filter || o->hide))
		tell_none(o);
	if (t->no_vcpu)
		fputs("uniscope: no vCPU of --vcpu has a part in the trace\n", stderr);
	const char *caution = us_profile_fact(p, "caution");
	if (caution)
		fprintf(stderr, "uniscope: %s\n", caution);
	if (t->n_call_unknown)
		fputs("uniscope: ? stands for values that this QEMU does not report on "
		      "this host: QEMU 9.0 and later give registers to plugins\n",
		      stderr);
	if (t->cut)
		fputs("uniscope: the recording has no end: it was cut\n", stderr);
}

static int run(struct settings *s, struct us_err *e)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(us_profile_freep) struct us_profile *p = NULL;
	struct us_trace_report_result result;
	_cleanup_close_ int folder = -1;
	bool is_new = false;
	struct us_result out = { .path = s->out };
	int r = us_new_file_is_none_of(s->out, &s->in, 1, e);
	if (r == 0)
		r = open_twice(s, &p, &fd, e);
	if (r < 0)
		return r;
	const char *from = us_profile_fact(p, "trace_from_ns");
	const char *calls = us_profile_fact(p, "trace_syscalls");
	if (!s->trace.format)
		s->trace.format = us_trace_format_by_name(
			calls && !strcmp(calls, "alone") ? "strace" : "graph");
	if (from && !s->trace.replay.from_ns)
		s->trace.replay.from_ns = strtoull(from, NULL, 10);
	if (s->trace.format->is_folder)
		r = open_folder(s, &is_new, &folder, e);
	else
		r = us_result_open(&out, s->out, e);
	if (r < 0)
		return r;
	r = us_trace_report(fd, p, &s->trace, out.f, &result, e);
	if (r < 0 && s->trace.format->is_folder) {
		remove_folder(s, folder, is_new);
		return r;
	}
	if (is_new)
		us_new_file_give_back_folder(folder);
	if (r == 0)
		tell(p, &s->trace, &result);
	return us_result_close(&out, r, e);
}

static int run_replay(int argc, char **argv)
{
	struct settings s = { 0 };
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
	US_INPUT_ROW,
	{ OPT_FORMAT, "format", "NAME",
	  "graph, html, perfetto, chrome, csv, uftrace, strace, calls, functions",
	  US_OWN },
	{ 'c', "summary", NULL, "the table of system calls: the same as --format calls",
	  US_OWN },
	{ 'o', "output", "FILE",
	  "where to write: .txt, .html, .pftrace, .json, .csv, .uftrace,"
	  "\n                               .strace, .calls, .functions",
	  US_TEXT(struct settings, out) },
	{ 'f', "filter", "REGEX", "only functions whose name matches",
	  US_TEXT(struct settings, trace.filter) },
	{ 0, "notrace", "REGEX", "leave out functions whose name matches",
	  US_TEXT(struct settings, trace.hide) },
	{ OPT_DEPTH, "depth", "N", "at most N levels of nested functions", US_OWN },
	{ 0, "vcpu", "LIST", "only these vCPUs, such as 0,2-3",
	  US_VCPUS(struct settings, trace.replay.vcpu_mask) },
	{ OPT_TIME, "time", "FROM,TO", "only functions entered in this time: 1s,2.5s",
	  US_OWN },
	US_RECORDED_SYMBOL_ROWS(struct settings, symbols),
	{ 0, "no-demangle", NULL, "show names as the symbol file has them",
	  US_FLAG(struct settings, profile.raw_names) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope replay | less\0"
	"what uniscope trace recorded, as Linux's function_graph tracer shows it",
	"uniscope replay -f '^tcp_' --time 1s,1.5s\0"
	"these functions, in half a second",
	"uniscope replay -o trace.html\0"
	"the time in each function, by vCPU and on a timeline",
	"uniscope replay -o trace.pftrace\0"
	"for ui.perfetto.dev and Perfetto's trace_processor",
	"uniscope replay -o trace.json\0"
	"for speedscope or Chrome",
	"uniscope replay --format functions\0"
	"a table of functions: calls, self, total, mean and longest time",
	"uniscope replay -o trace.csv\0"
	"a line for each call, for a spreadsheet or a script",
	"uniscope replay -o trace.uftrace && uftrace graph -d trace.uftrace\0"
	"a folder for uftrace's commands",
	NULL,
};

const struct us_cmd us_cmd_replay = {
	.name = "replay",
	.args = "[OPTIONS] [FILE]",
	.summary = "print or convert a trace",
	.options = options,
	.examples = examples,
	.run = run_replay,
};
