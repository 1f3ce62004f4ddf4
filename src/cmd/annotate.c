/* SPDX-License-Identifier: GPL-2.0-or-later */
/* annotate.c: `uniscope annotate`: source and code of a function with its samples. */
#include "cmd/options.h"
#include "cmd/record/output.h"
#include "cmd/record/recording.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "report/annotate.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTED 20

enum {
	OPT_SOURCE = US_OPTION_LONG,
	OPT_SOURCE_PREFIX,
	OPT_COLOR,
};

struct settings {
	const char *const *in; /* recordings */
	size_t n_in;
	const char *function;
	struct us_profile_opts profile;
	struct us_annotate_opts annotate;
	struct us_report_opts report;
	struct us_symbol_files symbols;
	struct us_source_places places;
	bool callers, json;
};

static bool set_color(struct settings *s, const char *value)
{
	bool tty = us_output_colour(stdout);
	s->report.colour = !strcmp(value, "always") || (!strcmp(value, "auto") && tty);
	if (s->report.colour || !strcmp(value, "never") || !strcmp(value, "auto"))
		return true;
	us_usage(&us_cmd_annotate, "--color %s: must be auto, always or never", value);
	return false;
}

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	switch (c) {
	case OPT_SOURCE:
		return us_source_dir(&us_cmd_annotate, &s->places, value);
	case OPT_SOURCE_PREFIX:
		return us_source_prefix(&us_cmd_annotate, &s->places, value);
	case OPT_COLOR:
		return set_color(s, value);
	}
	return us_recording_select(&us_cmd_annotate, c, value, &s->profile);
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_annotate,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	set_color(s, "auto");
	s->report.width = us_output_columns(stdout);
	if (!us_options_read(&o, ret_exit))
		return false;
	if (o.n_rest == o.n_named)
		*ret_exit = us_usage(o.cmd, "which function?");
	else
		*ret_exit = US_EXIT_OK;
	if (*ret_exit)
		return false;
	s->annotate = us_source_opts(&s->places);
	us_recording_symbols(&s->symbols, &s->profile);
	if (o.n_rest > 1) {
		s->in = (const char *const *)o.rest;
		s->n_in = (size_t)o.n_rest - 1;
	}
	s->function = o.rest[o.n_rest - 1];
	s->profile.processes = us_recording_of_owners(&s->profile);
	if (s->n_in < 2 || !s->profile.processes)
		return true;
	*ret_exit = us_usage(o.cmd, US_PROCESSES_OF_ONE);
	return false;
}

/* A function that the user may mean. */
struct match {
	const struct us_function *f;
	uint64_t samples;
};

/* By samples, then by address. */
static int hottest_first(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return (x->f > y->f) - (x->f < y->f);
}

/* *ret[n] is the caller's to free. */
static int find_samples(const struct us_profile *p, const struct us_function *f,
			size_t n, struct match **ret, struct us_err *e)
{
	_cleanup_free_ uint64_t *samples = calloc(n, sizeof(*samples));
	struct match *m = calloc(n, sizeof(*m));
	if (!samples || !m || us_annotate_samples(p, f, n, samples) < 0) {
		free(m);
		return us_fail(e, -ENOMEM, "no memory for %zu functions", n);
	}
	for (size_t i = 0; i < n; i++)
		m[i] = (struct match){ &f[i], samples[i] };
	qsort(m, n, sizeof(*m), hottest_first);
	*ret = m;
	return 0;
}

static void list(const struct settings *s, const struct match *m, size_t n)
{
	char name[US_DEMANGLED_MAX], safe[512];
	fprintf(stderr, "uniscope: annotate %s: %zu functions match:\n",
		us_printable(safe, sizeof(safe), s->function), n);
	bool same_place = false;
	for (size_t i = 0; i < n && i < MAX_LISTED; i++)
		for (size_t k = 0; k < i; k++)
			same_place |= m[i].f->start == m[k].f->start;
	for (size_t i = 0; i < n && i < MAX_LISTED; i++) {
		const struct us_function *f = m[i].f;
		const char *shown = us_demangle(f->raw, US_NAME_LONG, name,
						sizeof(name));
		fprintf(stderr, "  0x%" PRIx64 "  %s", f->start,
			us_printable(safe, sizeof(safe), shown ? shown : f->raw));
		if (same_place)
			fprintf(stderr, " (%s)",
				us_printable(safe, sizeof(safe), f->module));
		fprintf(stderr, "  (%" PRIu64 " samples)\n", m[i].samples);
	}
	if (n > MAX_LISTED)
		fprintf(stderr, "  and %zu more\n", n - MAX_LISTED);
	fputs(same_place ? "  try: uniscope annotate 'NAME (IMAGE)', as listed here\n"
			 : "  try: uniscope annotate 0xADDRESS, with one of these\n",
	      stderr);
}

/* The one that has all samples goes to *ret.  1: no single one has, and they were
 * listed; or -errno. */
static int choose(const struct us_profile *p, const struct settings *s,
		  const struct us_function *f, size_t n, const struct us_function **ret,
		  struct us_err *e)
{
	_cleanup_free_ struct match *m = NULL;
	*ret = f;
	if (n == 1)
		return 0;
	int r = find_samples(p, f, n, &m, e);
	if (r < 0 || !m)
		return r;
	if (!m[0].samples || m[1].samples) {
		list(s, m, n);
		return 1;
	}
	*ret = m[0].f;
	fprintf(stderr,
		"note: %zu functions match; the only one with samples is at 0x%" PRIx64
		"\n",
		n, m[0].f->start);
	return 0;
}

/* Annotation needs the code at the same addresses in all recordings. */
static int check_places(const struct us_profile *p, struct us_err *e)
{
	if (us_profile_one_layout(p))
		return 0;
	us_fail(e, -EINVAL,
		"annotate: these recordings have the images at different addresses");
	us_hint(e, "annotate them one by one; uniscope report adds them up");
	return -EINVAL;
}

static void annotation_freep(struct us_annotation **a)
{
	us_annotation_free(*a);
}

/* 0, -errno with *e filled, or 1 after listing the functions to choose from. */
static int run(const struct settings *s, struct us_err *e)
{
	_cleanup_(us_profile_freep) struct us_profile *p = NULL;
	_cleanup_(annotation_freep) struct us_annotation *a = NULL;
	_cleanup_free_ struct us_function *f = NULL;
	size_t n = 0;
	int r = us_recordings_read(s->in, s->n_in, &s->profile, &p, e);
	if (r == 0)
		r = check_places(p, e);
	if (r == 0)
		r = us_annotate_find(p, s->function, &f, &n, e);
	const struct us_function *chosen;
	if (r == 0)
		r = choose(p, s, f, n, &chosen, e);
	if (r == 0)
		r = us_annotate(p, chosen, &s->annotate, &a, e);
	if (r == 0)
		r = s->json ? us_annotation_json(a, stdout, e)
			    : us_annotation_text(a, &s->report, s->callers, stdout, e);
	return r;
}

static int run_annotate(int argc, char **argv)
{
	static const char *const usual[] = { "uniscope.data" };
	struct settings s = { .in = usual, .n_in = 1 };
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	int r = run(&s, &e);
	if (r < 0)
		us_complain(&e);
	return r ? US_EXIT_FAILED : US_EXIT_OK;
}

static const struct us_option options[] = {
	US_INPUT_ROW,
	US_RECORDED_SYMBOL_ROWS(struct settings, symbols),
	US_PROGRAM_ROWS(struct settings, symbols),
	{ OPT_SOURCE, "source", "DIR", "search DIR for sources; repeatable", US_OWN },
	{ OPT_SOURCE_PREFIX, "source-prefix", "OLD=NEW",
	  "source paths that begin with OLD are at NEW; repeatable", US_OWN },
	{ 0, "callers", NULL, "add a column: samples in what the instruction called",
	  US_FLAG(struct settings, callers) },
	{ 0, "vcpu", "LIST", "only these vCPUs, such as 0,2-3",
	  US_VCPUS(struct settings, profile.vcpu_mask) },
	US_SELECT_ROWS("the recording"),
	US_SELECT_PART_ROWS,
	{ 0, "no-demangle", NULL, "show names as the symbol file has them",
	  US_FLAG(struct settings, profile.raw_names) },
	{ 0, "full-paths", NULL, "show sources with their whole paths",
	  US_FLAG(struct settings, report.full_paths) },
	{ OPT_COLOR, "color", "WHEN", "auto, always or never (auto: on a terminal)",
	  US_OWN },
	{ 0, "json", NULL, "print JSON", US_FLAG(struct settings, json) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope annotate memcpy\0where in memcpy the samples of uniscope.data are",
	"uniscope annotate web.data sched.c:120\0the function that this line is in",
	"uniscope annotate --focus tcp_sendmsg memcpy\0only in stacks with tcp_sendmsg",
	"uniscope annotate --source ~/src/kernel 'net::.*send'\0"
	"a function by regular expression, with sources from there",
	NULL,
};

const struct us_cmd us_cmd_annotate = {
	.name = "annotate",
	.args = "[OPTIONS] [FILE]... FUNCTION",
	.summary = "show a function's source and code with its samples",
	.options = options,
	.examples = examples,
	.run = run_annotate,
};
