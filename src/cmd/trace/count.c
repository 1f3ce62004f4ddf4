/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count.c: `uniscope count`: every call and every instruction of an emulated guest. */
#include "cmd/trace/count_list.h"
#include "cmd/options.h"
#include "cmd/record/output.h"
#include "cmd/trace/plugin_names.h"
#include "cmd/trace/plugin_run.h"
#include "report/report.h"
#include "trace/counts_read.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 30

enum {
	OPT_NODES = US_OPTION_LONG,
	OPT_FUNCTIONS,
};

struct settings {
	struct us_plugin_asked asked;
	const char *out;
	struct us_symbol_files symbols;
	const char *functions; /* NULL: all */
	bool calls_only, flat;
	bool raw_names, full_paths;
};

struct counting {
	const struct settings *set;
	struct us_plugin_run run;
	struct us_output output;
	struct us_counts_sums sums;
	struct us_count_list list;
	char path[US_STORE_MAX_PATH]; /* of the plugin's file */
};

/* ---- What the user asks for ---- */

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	double number;
	switch (c) {
	case OPT_NODES:
		if (!us_parse_double("--nodes", value, 16, US_COUNTS_MAX_NODE, &number))
			return false;
		s->asked.nodes = (uint32_t)number;
		return true;
	case OPT_FUNCTIONS:
		s->functions = value;
		s->calls_only = true;
		return true;
	}
	return false;
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_count,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	if (!us_options_read(&o, ret_exit))
		return false;
	s->asked.argv = o.rest;
	s->asked.symbols = &s->symbols;
	if (s->asked.attached && o.n_rest)
		*ret_exit = us_usage(o.cmd, "--attach takes no command such as %s",
				     o.rest[0]);
	else if (s->flat && s->calls_only)
		*ret_exit = us_usage(o.cmd, "--flat counts all functions, and their "
					    "calls: leave out --functions");
	else if (!s->asked.attached && !o.command && o.n_rest)
		*ret_exit = us_usage(
			o.cmd,
			"%s: QEMU takes the plugin only when it starts: give a command "
			"after --, or start QEMU with $(uniscope record --prepare DIR "
			"-e ELF) and use --attach DIR/counts",
			o.rest[0]);
	else if (!s->asked.attached && (!o.command || !o.n_rest))
		*ret_exit = us_usage(
			o.cmd, "-- and a command that starts QEMU, or --attach FILE");
	else
		return true;
	return false;
}

/* ---- While the guest runs ---- */

static void tell_start(const struct counting *n)
{
	const struct us_plugin_run *r = &n->run;
	if (n->set->functions)
		fprintf(stderr,
			"uniscope: counting the calls of functions that match\n");
	else if (r->n_function)
		fprintf(stderr, "uniscope: counting the calls of %zu functions\n",
			r->n_function);
	else
		fprintf(stderr,
			"uniscope: %s; functions are known by their addresses\n",
			us_plugin_run_why_unnamed(r));
}

static int check_mixed(void *ctx, struct us_err *e)
{
	const struct counting *n = ctx;
	return us_plugin_run_check_mixed(&n->run, "count", e);
}

/* ---- What becomes of it ---- */

static int write_facts(const struct counting *n, const struct us_counts *c,
		       struct us_writer *w, struct us_err *e)
{
	static const char *const unit[] = {
		[US_COUNTS_PATHS] = "",
		[US_COUNTS_CALLS] = "calls",
		[US_COUNTS_FUNCTIONS] = "functions",
	};
	static const char *const how[] = {
		[US_COUNTS_PATHS] = "QEMU's plugin: each call, each instruction",
		[US_COUNTS_CALLS] = "QEMU's plugin: each call, not who calls",
		[US_COUNTS_FUNCTIONS] =
			"QEMU's plugin: each call, each instruction, not who calls",
	};
	char caution[US_PLUGIN_CAUTION] = "";
	if (c->head.n_unforeseen)
		us_plugin_caution(
			caution,
			"code outside the images: %" PRIu64
			" jumps of functions to their own beginning count as calls",
			c->head.n_unforeseen);
	us_plugin_caution_of_trees(caution, &n->sums, n->set->asked.deterministic);
	us_plugin_caution_of_programs(caution, &n->run.images);
	if (n->run.n_function)
		us_plugin_caution_of_places(caution, &n->sums);
	const struct us_plugin_facts f = {
		.backend = "count",
		.how = how[c->head.flat],
		.unit = unit[c->head.flat],
		.caution = caution,
		.n_vcpu = n->sums.n_vcpu,
		.arch = c->head.target,
		.match = us_counts_match(c),
	};
	return us_plugin_run_facts(&n->run, &f, w, e);
}

static int write_recording(struct counting *n, struct us_err *e)
{
	struct us_counts c;
	struct us_writer *w = NULL;
	int r = us_counts_open(n->path, &c, e);
	if (r < 0)
		return r;
	r = us_writer_open(n->output.fd, &w, e);
	if (r == 0)
		r = us_counts_record(&c, w, &n->sums, e);
	if (r == 0)
		r = write_facts(n, &c, w, e);
	if (r == 0)
		r = us_plugin_names_write(&n->run, &c, NULL, w, e);
	struct us_record_stats stats = { .elapsed_ns = n->run.elapsed_ns };
	if (r == 0)
		r = us_writer_end(w, &stats, n->run.end, n->run.end_words, e);
	us_writer_close(w);
	us_counts_close(&c);
	return r;
}

/* Show a table at once unless another format was asked for. */
static int show(struct counting *n, struct us_err *e)
{
	char file[US_STORE_MAX_PATH];
	us_shell_word(file, sizeof(file), n->output.path);
	struct us_profile_opts all = { .raw_names = n->set->raw_names,
				       .dirs = n->set->symbols.dirs };
	struct us_report_opts plain = { .sort = US_SORT_SELF,
					.limit = ROWS,
					.colour = us_output_colour(stdout),
					.width = us_output_columns(stdout),
					.full_paths = n->set->full_paths,
					.file = file };
	struct us_profile *p = NULL;
	if (n->output.format || n->output.is_stdout)
		return us_output_convert(&n->output, false, e);
	int r = us_output_keep(&n->output, e);
	if (r == 0 && lseek(n->output.fd, 0, SEEK_SET) < 0)
		r = us_fail(e, -errno, "rewind %s: %s", n->output.path,
			    strerror(errno));
	if (r == 0)
		r = us_profile_read(n->output.fd, &all, &p, e);
	if (r == 0)
		r = us_report(p, us_format_by_name("text"), &plain, stdout, e);
	us_profile_free(p);
	return r;
}

/* The plugin must know the functions before the guest executes them. */
static int check_list(const struct counting *n, struct us_err *e)
{
	return n->run.n_function
		       ? us_count_list_check(&n->list, e)
		       : us_plugin_run_fail_unnamed(
				 &n->run, n->set->flat ? "--flat" : "--functions", e);
}

static int attach(struct counting *n, struct us_err *e)
{
	snprintf(n->path, sizeof(n->path), "%s", n->set->asked.attached);
	n->run.end = US_RECORD_DONE;
	int r = us_plugin_run_check_images(&n->run, n->path, e);
	r = r ? r : write_recording(n, e);
	if (r == -ENOENT)
		us_hint(e, "the file that the command of a running QEMU names: -plugin "
			   "uniscope-plugin.so,counts=FILE");
	return r;
}

static int count(struct counting *n, struct us_err *e)
{
	struct us_plugin_command c = { .verb = "count",
				       .nodes = n->set->asked.nodes,
				       .only = n->set->flat	    ? "functions"
					       : n->set->calls_only ? "calls"
								    : NULL };
	int r = us_output_open(&n->output, n->set->out, e);
	if (r == 0)
		r = us_plugin_run_prepare(&n->run, &n->set->asked, e);
	if (r < 0)
		return r;
	if (n->set->asked.attached)
		return attach(n, e);
	if (c.only)
		r = check_list(n, e);
	if (r < 0)
		return r;
	us_plugin_run_path(&n->run, "counts", n->path);
	tell_start(n);
	us_other_names_tell(&n->list.others);
	r = us_plugin_run_start(&n->run, &c, e);
	if (r == 0)
		r = us_plugin_run_wait(&n->run, check_mixed, n, e);
	if (r == 0)
		r = check_mixed(n, e);
	if (r == 0)
		r = us_plugin_run_check(&n->run, e);
	return r < 0 ? r : write_recording(n, e);
}

static int run_count(int argc, char **argv)
{
	static struct counting n; /* large: paths and tables */
	struct settings s = { 0 };
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	n.set = &s;
	us_plugin_run_catch_signals();
	int r = us_count_list_init(&n.list, s.functions, &e);
	if (s.calls_only || s.flat)
		s.asked.chooser = &n.list.chooser;
	if (r == 0)
		r = count(&n, &e);
	n.output.raw_names = s.raw_names;
	n.output.full_paths = s.full_paths;
	n.output.dirs = &s.symbols.dirs;
	if (r == 0)
		r = show(&n, &e);
	if (r == 0)
		r = us_plugin_run_verdict(&n.run, &e);
	us_output_close(&n.output);
	us_plugin_run_fini(&n.run);
	us_count_list_fini(&n.list);
	if (r < 0)
		us_complain(&e);
	return us_exit_code(r);
}

static const struct us_option options[] = {
	{ 'd', "duration", "TIME",
	  "stop after this time: 5, 2.5s, 300ms ... (until Ctrl-C)",
	  US_TIME(struct settings, asked.duration_ns) },
	{ 'o', "output", "FILE",
	  "where to write (uniscope.data); .html, .callgrind ... convert at once",
	  US_TEXT(struct settings, out) },
	US_SYMBOL_ROWS(struct settings, symbols),
	{ OPT_FUNCTIONS, "functions", "[LIST]",
	  "count only calls: of all functions, or of 'work,tcp_.*'", US_OWN },
	{ 0, "flat", NULL,
	  "count calls and instructions of each function, not who calls",
	  US_FLAG(struct settings, flat) },
	{ 0, "deterministic", NULL,
	  "make instructions the guest's clock: two runs are the same",
	  US_FLAG(struct settings, asked.deterministic) },
	{ 0, "attach", "FILE",
	  "read what the plugin of a running QEMU has counted in FILE so far",
	  US_TEXT(struct settings, asked.attached) },
	{ OPT_NODES, "nodes", "N",
	  "number of call paths that each vCPU can have (524288)", US_OWN },
	{ 0, "full-paths", NULL, "show sources with their whole paths",
	  US_FLAG(struct settings, full_paths) },
	{ 0, "no-demangle", NULL, "show names as the symbol file has them",
	  US_FLAG(struct settings, raw_names) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope count -- qemu-system-x86_64 -kernel k.elf\0"
	"each call and instruction until the guest ends, or Ctrl-C",
	"uniscope count -d 10 -o calls.html -- qemu-system-x86_64 -kernel k.elf\0"
	"ten seconds, as a flame graph",
	"uniscope count -o calls.callgrind -- qemu-system-x86_64 -kernel k.elf\0"
	"for KCachegrind and callgrind_annotate",
	"uniscope count --functions='malloc,free,tcp_.*' -- qemu-system-x86_64 -kernel "
	"k.elf\0"
	"how often these functions are called, at nearly the speed of QEMU alone",
	"uniscope count --flat -- qemu-system-x86_64 -kernel k.elf\0"
	"calls and instructions of each function, at nearly that speed",
	"uniscope count --deterministic -- qemu-system-x86_64 -kernel k.elf\0"
	"a second run counts the same",
	NULL,
};

const struct us_cmd us_cmd_count = {
	.name = "count",
	.args = "[OPTIONS] {-- QEMU ARGS... | --attach FILE}",
	.summary = "count each call and instruction of an emulated guest",
	.options = options,
	.examples = examples,
	.run = run_count,
};
