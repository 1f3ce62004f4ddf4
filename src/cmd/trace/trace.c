/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.c: `uniscope trace`: which functions an emulated guest enters and leaves. */
#include "cmd/options.h"
#include "cmd/serving.h"
#include "cmd/record/output.h"
#include "cmd/trace/plugin_names.h"
#include "cmd/trace/plugin_run.h"
#include "cmd/trace/choice.h"
#include "cmd/trace/server.h"
#include "cmd/trace/syscalls.h"
#include "cmd/trace/traced.h"
#include "report/report.h"
#include "trace/counts_read.h"
#include "trace/events_last.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_RING  (32U << 20) /* bytes a vCPU */
#define ROUNDS	      16	  /* in a row, while events come fast */
#define NEXT_ROUND    0.1	  /* of a ring, to be worth another round */
#define SERVE_POLL_US 20000
#define INSN_NS	      8 /* with --deterministic: icount shift=3 */

enum {
	OPT_DEPTH = US_OPTION_LONG,
	OPT_RING,
	OPT_ON,
	OPT_OFF,
	OPT_SNAPSHOT,
	OPT_SYSCALLS,
};

enum action { RUN, SWITCH_ON, SWITCH_OFF, SNAPSHOT, SERVE };

struct settings {
	struct us_plugin_asked asked;
	struct us_trace_choice choice;
	struct us_trace_syscalls syscalls;
	const char *out;
	struct us_symbol_files symbols;
	uint64_t last_ns; /* keep this much in memory; 0: write all to the file */
	unsigned depth;	  /* 0: any */
	enum action action;
	const char *target; /* for an action; NULL: the only traced guest */
	const char *listen; /* the address to serve on; NULL: do not serve */
};

struct tracing {
	const struct settings *set;
	struct us_plugin_asked asked; /* for a snapshot */
	struct us_plugin_run run;
	struct us_output output;
	struct us_writer *writer;
	struct us_events_file file;
	char counts[US_STORE_MAX_PATH], trace[US_STORE_MAX_PATH];
	char options[1024];	    /* for the plugin */
	struct us_events_last last; /* with last_ns: what is kept */
	struct us_counts_sums sums;
	struct us_trace_served served;
	struct us_trace_server *server;
};

/* ---- What the user asks for ---- */

/* Rounded to a power of two. */
static bool set_ring(struct settings *s, const char *value)
{
	uint64_t n;
	if (!us_parse_size("--ring", value, 8 * US_EVENTS_MIN_RECORD,
			   8ULL * US_EVENTS_MAX_RECORD, &n))
		return false;
	for (s->asked.ring = 8; s->asked.ring <= n / 2; s->asked.ring *= 2)
		;
	return true;
}

static bool set_depth(struct settings *s, const char *value)
{
	double n;
	if (!us_parse_double("--depth", value, 1, UINT16_MAX, &n))
		return false;
	s->depth = (unsigned)n;
	return true;
}

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	switch (c) {
	case 's':
		return us_trace_syscalls_set_text(&s->syscalls, value);
	case OPT_SYSCALLS:
		return us_trace_syscalls_set(&s->syscalls, value);
	case OPT_DEPTH:
		return set_depth(s, value);
	case OPT_RING:
		return set_ring(s, value);
	case OPT_ON:
	case OPT_OFF:
	case OPT_SNAPSHOT:
		s->action = c == OPT_ON	   ? SWITCH_ON
			    : c == OPT_OFF ? SWITCH_OFF
					   : SNAPSHOT;
		return true;
	}
	return false;
}

static int check_usage(struct settings *s, bool command)
{
	const struct us_format *f = s->out ? us_format_by_suffix(s->out) : NULL;
	if (f)
		return us_usage(&us_cmd_trace,
				"-o %s: trace writes a recording; uniscope replay -o "
				"converts it to other formats",
				s->out);
	if (s->action == SERVE && s->out)
		return us_usage(
			&us_cmd_trace,
			"-o: the uniscope that traces this guest writes the recording");
	if (s->action == RUN && (!command || !s->asked.argv[0]))
		return us_usage(&us_cmd_trace,
				"-- and a command that starts QEMU, or --on, --off, "
				"--snapshot, --listen");
	if (s->action != RUN && (command || (s->asked.argv[0] && s->asked.argv[1])))
		return us_usage(&us_cmd_trace,
				"--on, --off, --snapshot, and --listen without a "
				"command are for one guest that is already traced");
	return us_serving_is_address(&us_cmd_trace, "--listen", s->listen)
		       ? US_EXIT_OK
		       : US_EXIT_USAGE;
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	static char *none[] = { NULL };
	struct us_options o = { .cmd = &us_cmd_trace,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	s->asked.ring = DEFAULT_RING;
	s->syscalls.text = -1;
	if (!us_options_read(&o, ret_exit))
		return false;
	/* Options about functions ask for functions, too. */
	s->syscalls.alone = s->syscalls.on && !s->choice.filter && !s->choice.hide &&
			    !s->choice.from && !s->choice.until && !s->depth;
	s->asked.argv = o.rest;
	s->asked.symbols = &s->symbols;
	if (s->listen && !o.command && s->action == RUN)
		s->action = SERVE;
	*ret_exit = check_usage(s, o.command);
	if (s->action != RUN) {
		s->target = o.rest[0];
		s->asked.argv = none;
	}
	return *ret_exit == US_EXIT_OK;
}

/* ---- The recording ---- */

static int write_facts(struct tracing *t, enum us_match match, struct us_err *e)
{
	char caution[US_PLUGIN_CAUTION] = "", insn_ns[16] = "", from[24] = "";
	if (t->file.n_lost)
		us_plugin_caution(
			caution,
			"%" PRIu64
			" events came too fast to be written (--filter, --ring)",
			t->file.n_lost);
	us_plugin_caution_of_trees(caution, &t->sums, t->set->asked.deterministic);
	if (t->run.n_function && t->sums.insns)
		us_plugin_caution_of_places(caution, &t->sums);
	if (!t->file.head.has_time)
		snprintf(insn_ns, sizeof(insn_ns), "%d", INSN_NS);
	if (t->last.from_ns)
		snprintf(from, sizeof(from), "%" PRIu64, t->last.from_ns);
	const struct us_plugin_facts f = {
		.backend = "trace",
		.how = "QEMU's plugin: each entry and exit of a function",
		.caution = caution,
		.n_vcpu = t->sums.n_vcpu,
		.match = match,
	};
	int r = us_plugin_run_facts(&t->run, &f, t->writer, e);
	if (r == 0 && t->set->syscalls.on)
		r = us_writer_fact(t->writer, "trace_syscalls",
				   t->set->syscalls.alone ? "alone" : "on", e);
	if (r == 0 && insn_ns[0])
		r = us_writer_fact(t->writer, "trace_insn_ns", insn_ns, e);
	if (r == 0 && from[0])
		r = us_writer_fact(t->writer, "trace_from_ns", from, e);
	return r;
}

/* Also write how often each function was called, and for how long. */
static int write_counts(struct tracing *t, enum us_match *ret_match, struct us_err *e)
{
	struct us_counts c;
	int r = us_counts_open(t->counts, &c, e);
	if (r < 0)
		return r;
	*ret_match = us_counts_match(&c);
	if (t->set->syscalls.alone) /* nothing was counted */
		t->sums = us_counts_sums_of(&c);
	else
		r = us_counts_record(&c, t->writer, &t->sums, e);
	if (r == 0)
		r = us_plugin_names_write(&t->run, &c, &t->file, t->writer, e);
	us_counts_close(&c);
	return r;
}

static int open_trace(struct tracing *t, struct us_err *e)
{
	int r = us_events_open(t->trace, &t->file, e);
	if (r == 0)
		r = us_writer_open(t->output.fd, &t->writer, e);
	if (r == 0)
		r = write_facts(t, US_MATCH_UNKNOWN, e);
	return r ? r : us_output_keep(&t->output, e);
}

/* Called every 20 ms for a stream. */
static int take_events(void *ctx, struct us_err *e)
{
	struct tracing *t = ctx;
	int r = us_plugin_run_check_mixed(&t->run, "trace", e);
	if (r < 0)
		return r;
	if (!t->file.map) {
		struct us_err why = { 0 };
		/* Until then QEMU may refuse its command: keep earlier recordings. */
		if (!us_plugin_run_has_begun(&t->run))
			return 0;
		r = us_events_open(t->trace, &t->file, &why);
		if (r) /* not made yet, or incomplete */
			return 0;
		us_events_close(&t->file);
		r = open_trace(t, e);
	}
	if (t->set->last_ns)
		us_events_beat(&t->file);
	for (int i = 0; i < ROUNDS && !r && !t->set->last_ns; i++) {
		r = us_events_record(&t->file, t->writer, e);
		if (us_events_fill(&t->file) < NEXT_ROUND)
			break;
	}
	return r;
}

static int record_last(struct tracing *t, struct us_err *e)
{
	uint64_t insn_ns = t->file.head.has_time ? 0 : INSN_NS;
	uint64_t from = us_events_last_from(&t->file, insn_ns, t->set->last_ns);
	t->last = (struct us_events_last){ .insn_ns = insn_ns, .from_ns = from };
	return us_events_last_record(&t->file, t->writer, &t->last, e);
}

static int finish(struct tracing *t, struct us_err *e)
{
	enum us_match match = US_MATCH_UNKNOWN;
	struct us_record_stats stats = { .elapsed_ns = t->run.elapsed_ns };
	int r = t->file.map ? 0 : open_trace(t, e);
	if (r == 0 && t->set->last_ns)
		r = record_last(t, e);
	else if (r == 0)
		r = us_events_record(&t->file, t->writer, e);
	if (r == 0)
		r = write_counts(t, &match, e);
	if (r == 0)
		r = write_facts(t, match, e);
	return r ? r
		 : us_writer_end(t->writer, &stats, t->run.end, t->run.end_words, e);
}

/* ---- What is to be done ---- */

static void plugin_options(struct tracing *t)
{
	const struct settings *s = t->set;
	char depth[24] = "", calls[600];
	if (s->depth)
		snprintf(depth, sizeof(depth), ",depth=%u", s->depth);
	us_trace_syscalls_options(&s->syscalls, calls, sizeof(calls));
	snprintf(t->options, sizeof(t->options), ",records=%" PRIu64 "%s%s%s%s%s",
		 s->asked.ring / 8, depth, s->last_ns ? "" : ",stream=on",
		 s->asked.deterministic ? ",clock=insns" : "",
		 s->choice.from ? ",begin=off" : "", calls);
}

static void tell_start(const struct tracing *t)
{
	const struct us_plugin_run *r = &t->run;
	const struct us_trace_choice *c = &t->set->choice;
	if (t->set->syscalls.alone)
		fputs("uniscope: tracing system calls\n", stderr);
	else if (r->n_function)
		fprintf(stderr, "uniscope: tracing %u of %zu functions\n", c->n_traced,
			r->n_function);
	else
		fprintf(stderr,
			"uniscope: %s; functions are known by their addresses\n",
			us_plugin_run_why_unnamed(r));
}

static void tell_end(const struct tracing *t)
{
	char path[US_STORE_MAX_PATH];
	bool last = t->set->last_ns;
	uint64_t calls = last ? t->last.n_call : t->file.n_call;
	uint64_t syscalls = last ? t->last.n_syscall : t->file.n_syscall;
	us_shell_word(path, sizeof(path), t->output.path);
	if (!syscalls && t->set->syscalls.alone) {
		fputs("uniscope: no system call was made\n", stderr);
		return;
	}
	fputs("uniscope: ", stderr);
	if (!t->set->syscalls.alone)
		fprintf(stderr, "%" PRIu64 " calls of functions%s", calls,
			t->set->syscalls.on ? ", " : "");
	if (t->set->syscalls.on)
		fprintf(stderr, "%" PRIu64 " system calls", syscalls);
	if (t->file.n_lost)
		fprintf(stderr, ", %" PRIu64 " events lost", t->file.n_lost);
	if (t->set->syscalls.alone) {
		fprintf(stderr, "; next: uniscope replay %s, or with -c\n", path);
		return;
	}
	fprintf(stderr,
		"; next: uniscope replay %s, or uniscope report %s for calls and "
		"instructions\n",
		path, path);
}

/* ---- Over HTTP ---- */

static int open_server(struct tracing *t, struct us_err *e)
{
	t->served = (struct us_trace_served){ .path = t->trace,
					      .insn_ns = INSN_NS,
					      .title = t->run.guest.name };
	return us_trace_server_open(t->set->listen, &t->served, &t->server, e);
}

static int run_server(struct tracing *t, struct us_err *e)
{
	t->served.symbols = t->run.images.symbols;
	if (!t->served.title[0])
		t->served.title = "a guest";
	int r = us_trace_server_run(t->server, e);
	if (r < 0)
		return r;
	fprintf(stderr, "uniscope: %s/ftrace/trace and trace_pipe have it as text\n",
		us_trace_server_url(t->server));
	if (!us_trace_server_is_loopback(t->server))
		fputs("uniscope: whoever reaches this address can read the trace, and "
		      "switch it on and off\n",
		      stderr);
	return 0;
}

/* Call it before the images are closed. */
static void close_server(struct tracing *t)
{
	us_trace_server_close(t->server);
	t->server = NULL;
}

/* ---- What is done ---- */

static int run(struct tracing *t, struct us_err *e)
{
	struct us_plugin_command c = { .verb = "trace", .trace = t->options };
	int r = us_plugin_run_prepare(&t->run, &t->set->asked, e);
	if (r == 0)
		r = us_trace_choice_check(&t->set->choice, &t->run, e);
	if (r == 0 && t->set->listen)
		r = open_server(t, e);
	if (r < 0)
		return r;
	us_plugin_run_path(&t->run, "counts", t->counts);
	us_plugin_run_path(&t->run, "trace", t->trace);
	plugin_options(t);
	tell_start(t);
	us_other_names_tell(&t->set->choice.others);
	r = us_plugin_run_start(&t->run, &c, e);
	if (r == 0 && t->server)
		r = run_server(t, e);
	if (r == 0)
		r = us_plugin_run_wait(&t->run, take_events, t, e);
	close_server(t);
	if (r == 0)
		r = us_plugin_run_check_mixed(&t->run, "trace", e);
	if (r == 0)
		r = us_plugin_run_check(&t->run, e);
	return r < 0 ? r : finish(t, e);
}

/* Prepare names and files of a guest that another uniscope traces. */
static int prepare_attached(struct tracing *t, struct us_traced *d, struct us_err *e)
{
	t->asked = t->set->asked;
	t->asked.argv = d->argv;
	t->asked.attached = d->trace;
	snprintf(t->counts, sizeof(t->counts), "%s", d->counts);
	snprintf(t->trace, sizeof(t->trace), "%s", d->trace);
	t->run.end = US_RECORD_DONE;
	t->run.pid = d->pid;
	int r = us_plugin_run_prepare(&t->run, &t->asked, e);
	return r ? r : us_plugin_run_check_images(&t->run, t->counts, e);
}

static int snapshot(struct tracing *t, struct us_traced *d, struct us_err *e)
{
	int r = prepare_attached(t, d, e);
	if (r == 0)
		r = us_events_open(t->trace, &t->file, e);
	if (r < 0)
		return r;
	bool stream = t->file.head.stream;
	t->run.begun_ns = t->file.head.start_ns;
	t->run.elapsed_ns = us_now_ns() - t->run.begun_ns;
	us_events_close(&t->file);
	if (stream) {
		us_fail(e, -EBUSY,
			"take a snapshot: this trace is written to a file already");
		us_hint(e, "read that file, or trace with --last TIME");
		return -EBUSY;
	}
	return finish(t, e);
}

static bool is_there(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* Serve until the guest ends, the duration is over or the user presses Ctrl-C. */
static int serve(struct tracing *t, struct us_traced *d, struct us_err *e)
{
	uint64_t duration = t->set->asked.duration_ns;
	uint64_t until = duration ? us_now_ns() + duration : UINT64_MAX;
	int r = prepare_attached(t, d, e);
	if (r == 0)
		r = open_server(t, e);
	if (r == 0)
		r = run_server(t, e);
	while (r == 0 && !us_plugin_run_is_stopped() && us_now_ns() < until &&
	       is_there(d->pid))
		usleep(SERVE_POLL_US);
	close_server(t);
	return r;
}

static int switch_it(const struct us_traced *d, bool on, struct us_err *e)
{
	struct us_events_file f;
	int r = us_events_open(d->trace, &f, e);
	if (r < 0)
		return r;
	us_events_switch(f.map, on);
	us_events_close(&f);
	printf("tracing of %d is %s\n", (int)d->pid, on ? "on" : "off");
	return 0;
}

static int act(struct tracing *t, struct us_err *e)
{
	static struct us_traced d; /* large: a command line */
	const struct settings *s = t->set;
	int r = us_traced_find(s->target, &d, e);
	if (r < 0)
		return r;
	if (s->action == SERVE)
		return serve(t, &d, e);
	if (s->action != SNAPSHOT)
		return switch_it(&d, s->action == SWITCH_ON, e);
	r = us_output_open(&t->output, s->out, e);
	return r < 0 ? r : snapshot(t, &d, e);
}

static int trace(struct tracing *t, struct us_err *e)
{
	if (t->set->action != RUN)
		return act(t, e);
	int r = us_output_open(&t->output, t->set->out, e);
	return r < 0 ? r : run(t, e);
}

static int run_trace(int argc, char **argv)
{
	static struct tracing t; /* large: paths and tables */
	static struct settings s;
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	t.set = &s;
	t.output = (struct us_output){ .fd = -1, .result_fd = -1 };
	s.asked.chooser = &s.choice.chooser;
	us_plugin_run_catch_signals();
	int r = us_trace_choice_init(&s.choice, &e);
	if (r == 0)
		r = trace(&t, &e);
	if (r == 0 && (s.action == RUN || s.action == SNAPSHOT))
		tell_end(&t);
	if (r == 0)
		r = us_plugin_run_verdict(&t.run, &e);
	us_writer_close(t.writer);
	us_events_close(&t.file);
	us_output_close(&t.output);
	us_plugin_run_fini(&t.run);
	us_trace_choice_fini(&s.choice);
	if (r < 0)
		us_complain(&e);
	return us_exit_code(r);
}

static const struct us_option options[] = {
	{ 'd', "duration", "TIME",
	  "stop after this time: 5, 2.5s, 300ms ... (until Ctrl-C)",
	  US_TIME(struct settings, asked.duration_ns) },
	{ 'o', "output", "FILE", "where to write (uniscope.data)",
	  US_TEXT(struct settings, out) },
	US_SYMBOL_ROWS(struct settings, symbols),
	{ 'f', "filter", "REGEX", "only functions whose name matches",
	  US_TEXT(struct settings, choice.filter) },
	{ 0, "notrace", "REGEX", "leave out functions whose name matches",
	  US_TEXT(struct settings, choice.hide) },
	{ OPT_DEPTH, "depth", "N", "at most N levels of nested functions", US_OWN },
	{ 0, "from", "FUNCTION", "start when this function is entered",
	  US_TEXT(struct settings, choice.from) },
	{ 0, "until", "FUNCTION", "pause when this function is entered",
	  US_TEXT(struct settings, choice.until) },
	{ OPT_SYSCALLS, "syscalls", "[LIST]",
	  "trace the programs' system calls: all, or read,write ...", US_OWN },
	{ 's', "text", "N", "keep N bytes of what system calls read and write (32)",
	  US_OWN },
	{ 0, "last", "TIME", "keep only this last part of the trace, in memory",
	  US_TIME(struct settings, last_ns) },
	{ OPT_RING, "ring", "SIZE", "memory for each vCPU (32M)", US_OWN },
	{ 0, "deterministic", NULL,
	  "make instructions the guest's clock: two traces are the same",
	  US_FLAG(struct settings, asked.deterministic) },
	{ OPT_ON, "on", NULL, "resume the trace of a guest that is traced", US_OWN },
	{ OPT_OFF, "off", NULL, "pause that trace", US_OWN },
	{ OPT_SNAPSHOT, "snapshot", NULL, "write now what --last has kept", US_OWN },
	{ 0, "listen", "ADDRESS",
	  "serve the trace over HTTP as Nanos's ftrace: 127.0.0.1:9090, :0",
	  US_TEXT(struct settings, listen) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope trace -- qemu-system-x86_64 -kernel k.elf\0"
	"each entry and exit until the guest ends, or Ctrl-C; then uniscope replay",
	"uniscope trace -f '^tcp_' --depth 3 -- qemu-system-x86_64 -kernel k.elf\0"
	"only these functions, and only the outer ones of them",
	"uniscope trace --from kmain --until idle -- qemu-system-x86_64 -kernel k.elf\0"
	"only between two functions",
	"uniscope trace --syscalls -- qemu-system-x86_64 -kernel vmlinuz ...\0"
	"the programs' system calls on Linux or Nanos; then uniscope replay, or -c",
	"uniscope trace --last 10s -- qemu-system-x86_64 -kernel k.elf\0"
	"a flight recorder: the last ten seconds, at the end",
	"uniscope trace --snapshot -o now.data k\0"
	"the same, while the guest goes on",
	"uniscope trace --listen 127.0.0.1:9090 -- qemu-system-x86_64 -kernel k.elf\0"
	"and meanwhile curl http://127.0.0.1:9090/ftrace/trace_pipe",
	NULL,
};

const struct us_cmd us_cmd_trace = {
	.name = "trace",
	.args = "[OPTIONS] {-- QEMU ARGS... | --on|--off|--snapshot|--listen ADDRESS "
		"[TARGET]}",
	.summary = "trace the functions or system calls of an emulated guest",
	.options = options,
	.examples = examples,
	.run = run_trace,
};
