/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c: `uniscope record`: sample a running guest, or start one and sample it. */
#include "cmd/record/live_options.h"
#include "cmd/record/all.h"
#include "cmd/record/plugin.h"
#include "cmd/end_signals.h"
#include "cmd/progress.h"
#include "cmd/serving.h"

#include "base/clock.h"
#include "base/text.h"
#include "record/record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define WAIT_LOOK_MS 1000
#define WAIT_TELL_S  3

enum {
	OPT_SEED = US_OPTION_LONG,
	OPT_SERVE,
};

/* The settings of record and, for --serve, of the server. */
struct settings {
	struct us_record_settings record; /* first, for set_option() */
	struct us_serving serving;
};

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *both = settings;
	struct us_record_settings *s = &both->record;
	double number;
	switch (c) {
	case OPT_SEED:
		if (!us_parse_double("--seed", value, 0, 9e15, &number))
			return false;
		s->schedule.seed = (uint64_t)number;
		return true;
	case OPT_SERVE:
		s->serving = &both->serving;
		both->serving.listen = value;
		return true;
	}
	return us_live_set(s, c, value);
}

/* US_EXIT_OK, or an exit code after a message about options that exclude each other. */
static int check_usage(const struct us_record_settings *s)
{
	const struct us_cmd *cmd = &us_cmd_record;
	if (s->launch && !s->argc)
		return us_usage(cmd, "-- needs a command that starts a VMM");
	if (!s->launch && s->argc > 1)
		return us_usage(cmd, "one TARGET, or -- and a command, not %s",
				s->argv[1]);
	if (s->all && s->argc)
		return us_usage(cmd, "--all takes no target such as %s", s->argv[0]);
	if (s->all && s->out && (!strcmp(s->out, "-") || us_format_by_suffix(s->out)))
		return us_usage(cmd,
				"--all: -o names a folder for the recordings, not %s",
				s->out);
	if (s->prepare && (s->argc || s->all))
		return us_usage(cmd, "--prepare takes no target: nothing is recorded");
	if (s->serving && (s->prepare || (s->out && !strcmp(s->out, "-"))))
		return us_usage(cmd, "--serve needs a recording in a file");
	struct us_err e;
	if (s->serving && !us_serving_is_address(cmd, "--serve", s->serving->listen))
		return US_EXIT_USAGE;
	if (s->backend && us_backend_check(s->backend, &e) < 0)
		return us_usage(cmd, "%s (%s)", e.msg, e.hint);
	return US_EXIT_OK;
}

static bool parse(struct settings *both, int argc, char **argv, int *ret_exit)
{
	struct us_record_settings *s = &both->record;
	struct us_options o = { .cmd = &us_cmd_record,
				.argc = argc,
				.argv = argv,
				.settings = both,
				.set = set_option };
	if (!us_options_read(&o, ret_exit))
		return false;
	s->argc = o.n_rest;
	s->argv = o.rest;
	s->launch = o.command;
	*ret_exit = check_usage(s);
	return *ret_exit == US_EXIT_OK;
}

static volatile sig_atomic_t asked_to_end;

static void on_signal(int sig)
{
	(void)sig;
	asked_to_end = 1;
	us_record_stop();
}

static void tell_waiting(const struct us_recording *r, struct us_progress *p,
			 unsigned seconds)
{
	char name[128], text[256];
	us_printable(name, sizeof(name), r->set->argv[0]);
	snprintf(text, sizeof(text),
		 "%u s: waiting for %s to start a guest; Ctrl-C ends it", seconds,
		 name);
	us_progress_wait(p, text);
	if (seconds == WAIT_TELL_S && !p->on && !r->set->json)
		fprintf(stderr,
			"note: waiting for %s to start a guest, until it ends\n", name);
}

/*
 * As long as the command runs: a script may build what it starts, and a host may be
 * slow.  That a command is no VMM is not known before it ends.
 */
static int wait_for_guest(struct us_recording *r, struct us_err *e)
{
	struct us_progress p = { .on = isatty(STDERR_FILENO) };
	int ret = -ETIMEDOUT;
	for (unsigned n = 1; ret == -ETIMEDOUT; n++) {
		struct us_err why = { 0 };
		ret = us_launch_wait(r->launch, WAIT_LOOK_MS, &r->found.guest, &why);
		if (ret == -ETIMEDOUT && asked_to_end)
			ret = us_fail(&why, -EINTR,
				      "wait for a guest of %s: interrupted",
				      r->set->argv[0]);
		if (ret == -ETIMEDOUT && n >= WAIT_TELL_S)
			tell_waiting(r, &p, n);
		else if (ret < 0)
			*e = why;
	}
	us_progress_wait(&p, "");
	return ret;
}

static int start_guest(struct us_recording *r, char *const argv[], struct us_err *e)
{
	int ret = us_launch_start(argv, &r->launch, e);
	if (ret == 0)
		ret = wait_for_guest(r, e);
	if (ret == 0)
		us_target_of_guest(&r->found);
	return ret;
}

static void tell_no_plugin(const struct us_record_settings *s, const char *why)
{
	if (why[0] && !s->json)
		fprintf(stderr, "note: recording without QEMU's plugin: %s\n", why);
}

static int launch_guest(struct us_recording *r, struct us_record_plugin *p,
			struct us_err *e)
{
	const struct us_record_settings *s = r->set;
	int with = us_record_plugin_prepare(p, s, e);
	if (with <= 0) {
		tell_no_plugin(s, e->msg);
		return with < 0 ? with : start_guest(r, s->argv, e);
	}
	int ret = start_guest(r, p->command.argv, e);
	if (ret != -ECHILD || !us_record_plugin_refused(p) || s->backend)
		return ret;
	/* The guest has not run at all. */
	us_launch_close(r->launch);
	r->launch = NULL;
	us_record_plugin_fini(p);
	tell_no_plugin(s, "QEMU did not start with it");
	return start_guest(r, s->argv, e);
}

static int find_guest(struct us_recording *r, struct us_record_plugin *p,
		      struct us_err *e)
{
	const struct us_record_settings *s = r->set;
	if (s->launch)
		return launch_guest(r, p, e);
	return us_target_resolve(s->argc ? s->argv[0] : NULL, &r->found, e);
}

static int open_server(const struct us_record_settings *s, struct us_err *e)
{
	const struct us_serve_opts o = { .live = true, .full_paths = s->full_paths };
	return s->serving ? us_serving_open(s->serving, &o, e) : 0;
}

/* The recording goes on if serving fails, after a message. */
static struct us_serve_guest *begin_server(const struct us_recording *r)
{
	struct us_serving *s = r->set->serving;
	struct us_err e = { 0 };
	if (!s)
		return NULL;
	if (us_serving_begin(s, &e) == 0)
		return us_serving_add(s, r);
	us_complain(&e);
	return NULL;
}

/* Keep the page in the browser until the user presses Ctrl-C. */
static void serve_on(const struct us_record_settings *s)
{
	sigset_t mask, old;
	us_end_signals(&mask);
	sigprocmask(SIG_BLOCK, &mask, &old);
	if (!asked_to_end)
		fputs("the page stays until Ctrl-C\n", stderr);
	while (s->serving && !asked_to_end)
		sigsuspend(&old);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static int run(struct us_recording *r, struct us_record_plugin *p, struct us_err *e)
{
	int ret = open_server(r->set, e);
	if (ret == 0)
		ret = us_output_open(&r->output, r->set->out, e);
	if (ret == 0)
		ret = find_guest(r, p, e);
	if (ret == 0)
		ret = us_recording_attach(r, e);
	if (ret < 0)
		return ret;
	us_recording_tell_start(r);
	if (r->set->serving)
		us_serving_tell(r->set->serving, r->set->json ? stderr : stdout);
	ret = us_recording_begin(r, e);
	if (ret < 0)
		return ret;
	struct us_serve_guest *g = begin_server(r);
	us_recording_tell_names(r, stderr);
	if (r->launch)
		ret = us_launch_go(r->launch, e);
	if (ret == 0)
		ret = us_recording_sample(r, e);
	us_serve_over(g, ret < 0 ? e->msg : r->end_words);
	us_recording_tell_end(r);
	return ret;
}

static int record_one(const struct us_record_settings *s, struct us_err *e)
{
	static struct us_recording r; /* large: paths and tables */
	static struct us_record_plugin p;
	r.set = s;
	r.duration_ns = s->duration_ns;
	r.begin_ns = us_now_ns();
	us_end_signals_catch(on_signal);
	int ret = run(&r, &p, e);
	r.output.raw_names = s->raw_names;
	r.output.full_paths = s->full_paths;
	r.output.host = s->schedule.host;
	r.output.dirs = &s->symbols.dirs;
	if (ret == 0)
		ret = us_output_convert(&r.output, s->json, e);
	if (ret == 0 && s->serving)
		serve_on(s);
	us_recording_close(&r);
	us_record_plugin_fini(&p);
	us_output_close(&r.output);
	return ret;
}

static int run_record(int argc, char **argv)
{
	static struct settings both = { .record = {
						.schedule = { .hz = US_LIVE_HZ } } };
	struct us_record_settings *s = &both.record;
	struct us_err e = { 0 };
	int code;
	if (getrandom(&s->schedule.seed, 4, 0) < 0)
		s->schedule.seed = us_now_ns() & UINT32_MAX;
	if (!parse(&both, argc, argv, &code))
		return code;
	int ret = s->prepare ? us_record_plugin_write(s, &e)
		  : s->all   ? us_record_all(s, &e)
			     : record_one(s, &e);
	us_serving_close(&both.serving);
	if (ret < 0)
		us_complain(&e);
	return us_exit_code(ret);
}

#define SETTINGS struct settings

static const struct us_option options[] = {
	{ 'F', "frequency", "HZ", "samples per second of each vCPU (997)", US_OWN },
	{ 'd', "duration", "TIME",
	  "stop after this time: 5, 2.5s, 300ms ... (until Ctrl-C)",
	  US_TIME(SETTINGS, record.duration_ns) },
	{ 'o', "output", "FILE",
	  "where to write (uniscope.data); .html, .folded ... convert at once",
	  US_TEXT(SETTINGS, record.out) },
	{ 0, "all", NULL,
	  "all guests of this host, also those that start later; -o DIR",
	  US_FLAG(SETTINGS, record.all) },
	{ OPT_SERVE, "serve", "[ADDRESS]",
	  "show it live in a browser (127.0.0.1:" US_SERVE_PORT "), as serve does",
	  US_OWN },
	{ 0, "no-open", NULL, "with --serve: do not start a browser",
	  US_FLAG(SETTINGS, serving.no_open) },
	US_SYMBOL_ROWS(SETTINGS, record.symbols),
	{ 0, "root", "DIR", "folder with a Linux guest's files, to unwind its programs",
	  US_ROOT(SETTINGS, record.symbols) },
	US_LIVE_ROWS(SETTINGS, record),
	{ 0, "host", NULL,
	  "also record what the host does for the guest, for report --host",
	  US_FLAG(SETTINGS, record.schedule.host) },
	US_LIVE_TASKS_ROW(",\n                               for report --waits"),
	{ 0, "prepare", "DIR",
	  "write what QEMU's plugin needs to DIR, and print the QEMU option",
	  US_TEXT(SETTINGS, record.prepare) },
	{ OPT_SEED, "seed", "N", "seed of the jitter, to repeat a recording's schedule",
	  US_OWN },
	{ 0, "full-paths", NULL, "with -o: show sources with their whole paths",
	  US_FLAG(SETTINGS, record.full_paths) },
	{ 0, "no-demangle", NULL, "with -o: show names as the symbol file has them",
	  US_FLAG(SETTINGS, record.raw_names) },
	{ 0, "json", NULL, "print the figures of the recording as JSON",
	  US_FLAG(SETTINGS, record.json) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope record -d 5\0the one guest on this host, for five seconds",
	"uniscope record -d 10 -o web.html web\0the guest named web, as a flame graph",
	"uniscope record --host -d 10 -o web.html web\0"
	"with what the host does for the guest",
	"uniscope record --tasks 4 -d 30 vm\0"
	"a Linux guest, and what its tasks wait for: report --waits",
	"uniscope record --root /mnt web\0with its mounted disk, to unwind its "
	"programs",
	"uniscope record -e kernel.elf gdb:127.0.0.1:1234\0through a debug stub",
	"uniscope record --all -F 99 -d 60 -o guests\0"
	"every guest of this host, each into its own file in the folder guests",
	"uniscope record --serve -o web.data web\0and watch it in a browser",
	"uniscope record -- qemu-system-x86_64 -kernel k.elf\0"
	"start a guest and record it from its first instruction",
	"uniscope record -- ./run.sh\0"
	"wait until the script starts a guest, however long it takes, and record that",
	"qemu-system-x86_64 -kernel k.elf $(uniscope record --prepare /dev/shm/k -e "
	"k.elf)\0"
	"start a guest that can be recorded with the plugin later",
	NULL,
};

const struct us_cmd us_cmd_record = {
	.name = "record",
	.args = "[OPTIONS] [TARGET | --all | -- VMM ARGS...]",
	.summary = "sample a guest's stacks into a file",
	.options = options,
	.examples = examples,
	.run = run_record,
};
