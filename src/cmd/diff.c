/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff.c: `uniscope diff`: what has changed between recordings, and is it chance? */
#include "cmd/options.h"
#include "cmd/record/output.h"
#include "cmd/record/recording.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "report/diff.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	OPT_BY = US_OPTION_LONG,
	OPT_PER,
	OPT_LIMIT,
	OPT_FAIL,
	OPT_JSON,
	OPT_BEFORE,
	OPT_AFTER,
};

enum form { TEXT, JSON, HTML };

struct settings {
	const char *file[2][US_COMPARE_MAX]; /* before, after */
	size_t n_file[2];
	const char *out;
	struct us_profile_opts profile;
	struct us_report_opts report;
	struct us_compare_opts compare;
	struct us_symbol_files symbols;
	double fail_above; /* points; below 0: never */
	enum form form;
	bool form_given;
};

static bool add_file(struct settings *s, unsigned side, const char *path)
{
	if (s->n_file[side] == US_COMPARE_MAX) {
		us_usage(&us_cmd_diff, "at most %d recordings a side", US_COMPARE_MAX);
		return false;
	}
	s->file[side][s->n_file[side]++] = path;
	return true;
}

static bool set_by(struct settings *s, const char *value)
{
	bool time = !strcmp(value, "time");
	s->compare.by = time ? US_COMPARE_TIME : US_COMPARE_SHARE;
	if (time || !strcmp(value, "share"))
		return true;
	us_usage(&us_cmd_diff, "--by %s: must be share or time", value);
	return false;
}

static bool set_form(struct settings *s, const char *value)
{
	s->form_given = true;
	static const char *const names[] = {
		[TEXT] = "text", [JSON] = "json", [HTML] = "html"
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(value, names[i])) {
			s->form = (enum form)i;
			return true;
		}
	us_usage(&us_cmd_diff, "--format %s: must be text, json or html", value);
	return false;
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = path ? strlen(path) : 0, len = strlen(suffix);
	return n > len && !strcmp(path + n - len, suffix);
}

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	double number;
	switch (c) {
	case OPT_BY:
		return set_by(s, value);
	case OPT_PER:
		s->compare.by = US_COMPARE_PER;
		s->compare.per = value;
		return true;
	case OPT_LIMIT:
		if (!us_parse_double("--limit", value, 1, 1e9, &number))
			return false;
		s->report.limit = (size_t)number;
		return true;
	case OPT_FAIL:
		return us_parse_percent("--fail-above", value, 0, 100, &s->fail_above);
	case OPT_JSON:
		return set_form(s, "json");
	case 'f':
		return set_form(s, value);
	case OPT_BEFORE:
	case OPT_AFTER:
		return add_file(s, c == OPT_AFTER, value);
	}
	return us_recording_select(&us_cmd_diff, c, value, &s->profile);
}

/* Turn "--before a b c --after x y" into "--before a --before b ...", which getopt
 * reads. */
static int spread_lists(int argc, char **argv, char ***ret)
{
	char **v = calloc(2 * (size_t)argc + 1, sizeof(*v)), *list = NULL;
	int n = 0;
	if (!v)
		return 0;
	for (int i = 0; i < argc; i++) {
		bool is_option = argv[i][0] == '-' && argv[i][1];
		if (is_option)
			list = NULL;
		else if (list)
			v[n++] = list;
		if (!strcmp(argv[i], "--before") || !strcmp(argv[i], "--after"))
			list = argv[i];
		else
			v[n++] = argv[i];
	}
	*ret = v;
	return n;
}

static int check_files(struct settings *s, const struct us_options *o)
{
	if (s->n_file[0] || s->n_file[1]) {
		if (o->n_rest || !s->n_file[0] || !s->n_file[1])
			return us_usage(&us_cmd_diff,
					"--before FILE... and --after FILE... go "
					"together, and no other file with them");
		return US_EXIT_OK;
	}
	if (o->n_rest != 2)
		return us_usage(&us_cmd_diff, "two recordings: BEFORE and AFTER");
	add_file(s, 0, o->rest[0]);
	add_file(s, 1, o->rest[1]);
	return US_EXIT_OK;
}

/* By the suffix; a name without one has text. */
static int choose_form(struct settings *s)
{
	const char *slash = s->out ? strrchr(s->out, '/') : NULL;
	const char *name = slash ? slash + 1 : s->out;
	if (has_suffix(s->out, ".json"))
		s->form = JSON;
	else if (has_suffix(s->out, ".html"))
		s->form = HTML;
	else if (name && strchr(name, '.') && !has_suffix(name, ".txt") &&
		 strncmp(s->out, "/dev/", 5) != 0)
		return us_usage(&us_cmd_diff,
				"-o %s: the suffix names no format: .txt, .html and "
				".json do, or --format",
				s->out);
	return US_EXIT_OK;
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_diff,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	if (!us_options_read(&o, ret_exit))
		return false;
	us_recording_symbols(&s->symbols, &s->profile);
	s->profile.processes = us_recording_of_owners(&s->profile);
	*ret_exit = check_files(s, &o);
	if (*ret_exit == US_EXIT_OK && !s->form_given)
		*ret_exit = choose_form(s);
	return *ret_exit == US_EXIT_OK;
}

static int read_side(const struct settings *s, unsigned side,
		     struct us_compare_side *ret, struct us_err *e)
{
	int rc = us_new_file_is_none_of(s->out, s->file[side], s->n_file[side], e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < s->n_file[side]; i++) {
		_cleanup_close_ int fd = -1;
		struct us_profile *p = NULL;
		int r = us_recording_open(s->file[side][i], &fd, e);
		if (r == 0)
			r = us_profile_read(fd, &s->profile, &p, e);
		if (r < 0)
			return us_wrap(e, "%s", s->file[side][i]);
		ret->v[ret->n++] = p;
	}
	return 0;
}

static void free_side(struct us_compare_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		us_profile_free((struct us_profile *)side->v[i]);
}

/* The function that grew most, for sure and by more than is allowed. */
static const struct us_compare_row *too_much(const struct settings *s,
					     const struct us_comparison *c)
{
	for (size_t i = 0; i < c->n_changed; i++) {
		const struct us_compare_row *r = &c->row[i];
		double grown = r->diff;
		if (c->exact || s->compare.by == US_COMPARE_PER)
			grown = r->before > 0 ? r->diff / r->before : 1;
		if (grown * 100 > s->fail_above)
			return r;
	}
	return NULL;
}

static void warn_of(const char *file, const struct us_profile *p)
{
	char name[512], text[1024];
	us_printable(name, sizeof(name), file);
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		fprintf(stderr, "uniscope: %s: warning: %s\n", name,
			us_printable(text, sizeof(text), us_profile_warning(p, i)));
}

/* Where the form has no place for warnings. */
static void warn(const struct settings *s, const struct us_diff *d)
{
	for (unsigned side = 0; s->form == HTML && side < 2; side++)
		for (size_t i = 0; i < d->side[side]->n; i++)
			warn_of(s->file[side][i], d->side[side]->v[i]);
}

static int show(const struct settings *s, const struct us_diff *d, struct us_err *e)
{
	struct us_report_opts o = s->report;
	struct us_result out;
	int r = us_result_open(&out, s->out, e);
	if (r < 0)
		return r;
	o.colour = us_output_colour(out.f);
	o.width = us_output_columns(out.f);
	switch (s->form) {
	case JSON:
		r = us_diff_json(d, out.f, e);
		break;
	case HTML:
		r = us_diff_html(d, &o, out.f, e);
		break;
	default:
		r = us_diff_text(d, &o, out.f, e);
	}
	if (r == 0)
		warn(s, d);
	return us_result_close(&out, r, e);
}

/* Runs that are compared are independent.  But what comparing a recording with itself
 * says may be asked for. */
static int check_twice(const struct settings *s, struct us_err *e)
{
	const char *all[2 * US_COMPARE_MAX];
	size_t n = 0;
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < s->n_file[side]; i++)
			all[n++] = s->file[side][i];
	return n > 2 ? us_recordings_are_different(all, n, e) : 0;
}

/* The exit code: has something grown by more than is allowed? */
static int judge(const struct settings *s, const struct us_diff *d)
{
	char name[256];
	const struct us_compare_row *worse = NULL;
	if (s->fail_above < 0)
		return US_EXIT_OK;
	worse = too_much(s, d->result);
	bool hidden = !worse && us_diff_hidden(d);
	if (hidden)
		worse = too_much(s, d->totals);
	if (!worse)
		return US_EXIT_OK;
	fprintf(stderr,
		"uniscope: %s has grown%s by more than --fail-above %g allows\n",
		us_printable(name, sizeof(name), worse->name),
		hidden ? ", with its callees," : "", s->fail_above);
	return US_EXIT_CHANGED;
}

/* The comparison that was asked for, and for sampled profiles that of totals, too. */
static int compare_both(const struct settings *s, const struct us_compare_side side[2],
			struct us_comparison c[2], struct us_err *e)
{
	struct us_compare_opts total = s->compare;
	total.total = true;
	int r = us_compare(&side[0], &side[1], &s->compare, &c[0], e);
	if (r == 0 && !s->compare.total && !c[0].exact)
		r = us_compare(&side[0], &side[1], &total, &c[1], e);
	return r;
}

/* An exit code, or -errno with *e filled. */
static int compare(const struct settings *s, struct us_compare_side side[2],
		   struct us_comparison c[2], struct us_err *e)
{
	const struct us_diff d = { { &side[0], &side[1] }, &s->compare, &c[0], &c[1] };
	int r = check_twice(s, e);
	if (r == 0)
		r = read_side(s, 0, &side[0], e);
	if (r == 0)
		r = read_side(s, 1, &side[1], e);
	if (r == 0)
		r = compare_both(s, side, c, e);
	if (r == 0)
		r = show(s, &d, e);
	return r < 0 ? r : judge(s, &d);
}

static int run_diff(int argc, char **argv)
{
	struct settings s = { .fail_above = -1 };
	struct us_compare_side side[2] = { 0 };
	struct us_comparison c[2] = { 0 };
	struct us_err e = { 0 };
	_cleanup_free_ char **words = NULL;
	int n = spread_lists(argc, argv, &words), code;
	if (!words || !parse(&s, n, words, &code))
		return words ? code : US_EXIT_FAILED;
	code = compare(&s, side, c, &e);
	us_comparison_fini(&c[0]);
	us_comparison_fini(&c[1]);
	free_side(&side[0]);
	free_side(&side[1]);
	if (code >= 0)
		return code;
	us_complain(&e);
	return US_EXIT_FAILED;
}

static const struct us_option options[] = {
	{ OPT_BY, "by", "WHAT",
	  "share: of what ran (the default); time: of all time, idle too", US_OWN },
	{ OPT_PER, "per", "FUNCTION",
	  "relative to this function, which did the same work in each", US_OWN },
	{ 0, "children", NULL, "compare totals, with callees, instead of self",
	  US_FLAG(struct settings, compare.total) },
	{ OPT_BEFORE, "before", "FILE...", "several recordings from before the change",
	  US_OWN },
	{ OPT_AFTER, "after", "FILE...",
	  "and from after it; the spread between them counts", US_OWN },
	{ OPT_FAIL, "fail-above", "PERCENT",
	  "exit with 4 if a function has grown by more than this many points", US_OWN },
	{ 'f', "format", "NAME", "text, json, or html (a flame graph of both sides)",
	  US_OWN },
	{ 'o', "output", "FILE", "write to FILE; .json and .html name the format",
	  US_TEXT(struct settings, out) },
	{ OPT_JSON, "json", NULL, "the same as --format json", US_OWN },
	{ OPT_LIMIT, "limit", "N", "at most N rows", US_OWN },
	US_RECORDED_SYMBOL_ROWS(struct settings, symbols),
	US_PROGRAM_ROWS(struct settings, symbols),
	{ 0, "vcpu", "LIST", "only these vCPUs, such as 0,2-3",
	  US_VCPUS(struct settings, profile.vcpu_mask) },
	US_SELECT_ROWS("each recording"),
	US_SELECT_PART_ROWS,
	{ 0, "full-paths", NULL, "show sources with their whole paths",
	  US_FLAG(struct settings, report.full_paths) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope diff before.data after.data\0what changed, and what is chance",
	"uniscope diff --before a1 a2 a3 --after b1 b2 b3\0using the spread between "
	"runs",
	"uniscope diff -o change.html before.data after.data\0a flame graph of both",
	"uniscope diff --focus '^tcp_' before.data after.data\0only what ran below "
	"these",
	"uniscope diff --fail-above 5 good.data new.data\0for CI: exit code 4 if one "
	"grew by more",
	NULL
};

const struct us_cmd us_cmd_diff = {
	.name = "diff",
	.args = "[OPTIONS] BEFORE AFTER",
	.summary = "show what differs between recordings, and whether it is chance",
	.options = options,
	.examples = examples,
	.run = run_diff,
};
