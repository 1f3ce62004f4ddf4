/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c: `uniscope record`: sample a running guest, or start one and sample it. */
#include "cmd/budget.h"
#include "cmd/record_all.h"
#include "cmd/record_one.h"
#include "cmd/record_plugin.h"

#include "base/clock.h"
#include "record/record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define DEFAULT_HZ	  997
#define LAUNCH_TIMEOUT_MS 10000

enum {
	OPT_BUDGET = US_OPTION_LONG,
	OPT_SEED,
};

static bool set_option(void *settings, int c, const char *value)
{
	struct us_record_settings *s = settings;
	double number;
	switch (c) {
	case 'F':
		return us_parse_double("-F", value, 0.01, 1e6, &s->schedule.hz);
	case OPT_BUDGET:
		if (!us_parse_double("--budget", value, 0.001, 100, &number))
			return false;
		s->schedule.budget_ppm = number >= 100 ? 0 : (uint32_t)(number * 1e4);
		s->budget_given = true;
		return true;
	case OPT_SEED:
		if (!us_parse_double("--seed", value, 0, 9e15, &number))
			return false;
		s->schedule.seed = (uint64_t)number;
		return true;
	}
	return false;
}

/* US_EXIT_OK, or the user was told what does not go together. */
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
	struct us_err e;
	if (s->backend && us_backend_check(s->backend, &e) < 0)
		return us_usage(cmd, "%s (%s)", e.msg, e.hint);
	return US_EXIT_OK;
}

static bool parse(struct us_record_settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_record,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	if (!us_options_read(&o, ret_exit))
		return false;
	s->argc = o.n_rest;
	s->argv = o.rest;
	s->launch = o.command;
	*ret_exit = check_usage(s);
	return *ret_exit == US_EXIT_OK;
}

static int start_guest(struct us_recording *r, char *const argv[], struct us_err *e)
{
	int ret = us_launch_start(argv, &r->launch, e);
	if (ret == 0)
		ret = us_launch_wait(r->launch, LAUNCH_TIMEOUT_MS, &r->found.guest, e);
	if (ret == 0)
		us_target_of_guest(&r->found);
	return ret;
}

static void tell_no_plugin(const struct us_record_settings *s, const char *why)
{
	if (why[0] && !s->json)
		fprintf(stderr, "note: not by QEMU's plugin: %s\n", why);
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
	/* Nothing of the guest has run. */
	us_launch_close(r->launch);
	r->launch = NULL;
	us_record_plugin_fini(p);
	tell_no_plugin(s, "QEMU did not start with it: once more, without");
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

static void on_signal(int sig)
{
	(void)sig;
	us_record_stop();
}

static void catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction a = { .sa_handler = on_signal };
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int run(struct us_recording *r, struct us_record_plugin *p, struct us_err *e)
{
	int ret = us_output_open(&r->output, r->set->out, e);
	if (ret == 0)
		ret = find_guest(r, p, e);
	if (ret == 0)
		ret = us_recording_attach(r, e);
	if (ret < 0)
		return ret;
	us_recording_tell_start(r);
	ret = us_recording_begin(r, e);
	if (ret < 0)
		return ret;
	us_recording_tell_names(r, stderr);
	if (r->launch)
		ret = us_launch_go(r->launch, e);
	if (ret == 0)
		ret = us_recording_sample(r, e);
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
	catch_signals();
	int ret = run(&r, &p, e);
	r.output.raw_names = s->raw_names;
	r.output.full_paths = s->full_paths;
	r.output.host = s->schedule.host;
	r.output.dirs = &s->symbols.dirs;
	if (ret == 0)
		ret = us_output_convert(&r.output, s->json, e);
	us_recording_close(&r);
	us_record_plugin_fini(&p);
	us_output_close(&r.output);
	return ret;
}

static int run_record(int argc, char **argv)
{
	struct us_record_settings s = { .schedule = { .hz = DEFAULT_HZ } };
	struct us_err e = { 0 };
	int code;
	if (getrandom(&s.schedule.seed, 4, 0) < 0)
		s.schedule.seed = us_now_ns() & UINT32_MAX;
	if (!parse(&s, argc, argv, &code))
		return code;
	int ret = s.prepare ? us_record_plugin_write(&s, &e)
		  : s.all   ? us_record_all(&s, &e)
			    : record_one(&s, &e);
	if (ret < 0)
		us_complain(&e);
	return us_exit_code(ret);
}

#define SETTINGS struct us_record_settings

static const struct us_option options[] = {
	{ 'F', "frequency", "HZ", "samples a second of each vCPU (997)", US_OWN },
	{ 'd', "duration", "TIME", "stop after 5, 2.5s, 300ms ... (until Ctrl-C)",
	  US_TIME(SETTINGS, duration_ns) },
	{ 'o', "output", "FILE", "uniscope.data; .html, .folded ... convert at once",
	  US_TEXT(SETTINGS, out) },
	{ 0, "all", NULL, "all guests of this host, those to come too; -o DIR",
	  US_FLAG(SETTINGS, all) },
	{ 'e', "elf", "ELF[@BIAS]", "symbol file of the guest; may be repeated",
	  US_IMAGE(SETTINGS, symbols) },
	{ 0, "symbols", "DIR", "search it for separate debug files; repeatable",
	  US_FOLDER(SETTINGS, symbols) },
	{ 0, "backend", "NAME",
	  "bpf, kvm, plugin, gdb, qmp or xen (auto: the best that works)",
	  US_TEXT(SETTINGS, backend) },
	{ 0, "vcpu", "LIST", "only these, such as 0,2-3",
	  US_VCPUS(SETTINGS, schedule.vcpu_mask) },
	{ OPT_BUDGET, "budget", "PERCENT",
	  "guest time that may be taken (" US_BUDGET_HELP "; 100: all)", US_OWN },
	{ 0, "host", NULL, "what the host does for the guest, too, for report --host",
	  US_FLAG(SETTINGS, schedule.host) },
	{ 0, "prepare", "DIR",
	  "write what QEMU's plugin needs, and the option for QEMU",
	  US_TEXT(SETTINGS, prepare) },
	{ OPT_SEED, "seed", "N", "of the jitter, to repeat a recording's schedule",
	  US_OWN },
	{ 0, "full-paths", NULL, "-o: of sources, with the folders that all share",
	  US_FLAG(SETTINGS, full_paths) },
	{ 0, "no-demangle", NULL, "-o: names as the symbol file has them",
	  US_FLAG(SETTINGS, raw_names) },
	{ 0, "json", NULL, "figures of the recording as JSON",
	  US_FLAG(SETTINGS, json) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope record -d 5\0the one guest on this host, for five seconds",
	"uniscope record -d 10 -o web.html web\0the guest named web, as a flame graph",
	"uniscope record --host -d 10 -o web.html web\0"
	"with what the host does for the guest",
	"uniscope record -e kernel.elf gdb:127.0.0.1:1234\0by a debug stub",
	"uniscope record --all -F 99 -d 60 -o guests\0"
	"every guest of this host, each into its file in the folder guests",
	"uniscope record -- qemu-system-x86_64 -kernel k.elf\0"
	"start a guest and record it from its first instruction",
	"qemu-system-x86_64 -kernel k.elf $(uniscope record --prepare /dev/shm/k -e "
	"k.elf)\0"
	"start one that can be recorded by the plugin later",
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
