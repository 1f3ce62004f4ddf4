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
	OPT_BACKEND = US_OPTION_LONG,
	OPT_SYMBOLS,
	OPT_VCPU,
	OPT_BUDGET,
	OPT_HOST,
	OPT_SEED,
	OPT_NO_DEMANGLE,
	OPT_FULL_PATHS,
	OPT_JSON,
	OPT_ALL,
	OPT_PREPARE,
};

static bool add_image(struct us_record_settings *s, const char *text)
{
	if (s->n_image == US_MAX_IMAGES)
		return false;
	s->image[s->n_image++] = text;
	return true;
}

static bool set_option(struct us_record_settings *s, int c, const char *value)
{
	double number;
	switch (c) {
	case 'F':
		return us_parse_double("-F", value, 0.01, 1e6, &s->schedule.hz);
	case 'd':
		return us_parse_duration("-d", value, &s->duration_ns);
	case 'o':
		s->out = value;
		return true;
	case 'e':
		return add_image(s, value);
	case OPT_SYMBOLS:
		return us_parse_dir(&us_cmd_record, value, s->dir, &s->dirs);
	case OPT_BACKEND:
		s->backend = value;
		return true;
	case OPT_VCPU:
		return us_parse_vcpus(value, &s->schedule.vcpu_mask);
	case OPT_BUDGET:
		if (!us_parse_double("--budget", value, 0.001, 100, &number))
			return false;
		s->schedule.budget_ppm = number >= 100 ? 0 : (uint32_t)(number * 1e4);
		s->budget_given = true;
		return true;
	case OPT_PREPARE:
		s->prepare = value;
		return true;
	case OPT_HOST:
		s->schedule.host = true;
		return true;
	case OPT_SEED:
		if (!us_parse_double("--seed", value, 0, 9e15, &number))
			return false;
		s->schedule.seed = (uint64_t)number;
		return true;
	case OPT_FULL_PATHS:
		s->full_paths = true;
		return true;
	case OPT_NO_DEMANGLE:
		s->raw_names = true;
		return true;
	case OPT_JSON:
		s->json = true;
		return true;
	case OPT_ALL:
		s->all = true;
		return true;
	}
	return false;
}

/* 0, or the exit code to end with (a help text ends with US_EXIT_OK). */
static int parse(struct us_record_settings *s, int argc, char **argv, bool *ret_go)
{
	struct us_options o = { .cmd = &us_cmd_record, .argc = argc, .argv = argv };
	int c;
	*ret_go = false;
	while ((c = us_options_next(&o)) > 0)
		if (!set_option(s, c, o.value))
			return US_EXIT_USAGE;
	if (c < 0)
		return o.help ? US_EXIT_OK : US_EXIT_USAGE;
	s->argc = argc - o.rest;
	s->argv = argv + o.rest;
	s->launch = o.rest > 0 && !strcmp(argv[o.rest - 1], "--");
	if (s->launch && !s->argc)
		return us_usage(&us_cmd_record, "-- needs a command that starts a VMM");
	if (!s->launch && s->argc > 1)
		return us_usage(&us_cmd_record,
				"one TARGET, or -- and a command, not %s", s->argv[1]);
	if (s->all && s->argc)
		return us_usage(&us_cmd_record, "--all takes no target such as %s",
				s->argv[0]);
	if (s->all && s->out && (!strcmp(s->out, "-") || us_format_by_suffix(s->out)))
		return us_usage(&us_cmd_record,
				"--all: -o names a folder for the recordings, not %s",
				s->out);
	if (s->prepare && (s->argc || s->all))
		return us_usage(&us_cmd_record,
				"--prepare takes no target: nothing is recorded");
	struct us_err e;
	if (s->backend && us_backend_check(s->backend, &e) < 0)
		return us_usage(&us_cmd_record, "%s (%s)", e.msg, e.hint);
	*ret_go = true;
	return US_EXIT_OK;
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
	r.output.dirs = &s->dirs;
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
	bool go;
	if (getrandom(&s.schedule.seed, 4, 0) < 0)
		s.schedule.seed = us_now_ns() & UINT32_MAX;
	int code = parse(&s, argc, argv, &go);
	if (!go)
		return code;
	int ret = s.prepare ? us_record_plugin_write(&s, &e)
		  : s.all   ? us_record_all(&s, &e)
			    : record_one(&s, &e);
	if (ret < 0)
		us_complain(&e);
	return us_exit_code(ret);
}

static const struct us_option options[] = {
	{ 'F', "frequency", "HZ", "samples a second of each vCPU (997)" },
	{ 'd', "duration", "TIME", "stop after 5, 2.5s, 300ms ... (until Ctrl-C)" },
	{ 'o', "output", "FILE", "uniscope.data; .html, .folded ... convert at once" },
	{ OPT_ALL, "all", NULL, "all guests of this host, those to come too; -o DIR" },
	{ 'e', "elf", "ELF[@BIAS]", "symbol file of the guest; may be repeated" },
	{ OPT_SYMBOLS, "symbols", "DIR",
	  "search it for separate debug files; repeatable" },
	{ OPT_BACKEND, "backend", "NAME",
	  "bpf, kvm, plugin, gdb, qmp or xen (auto: the best that works)" },
	{ OPT_VCPU, "vcpu", "LIST", "only these, such as 0,2-3" },
	{ OPT_BUDGET, "budget", "PERCENT",
	  "guest time that may be taken (" US_BUDGET_HELP "; 100: all)" },
	{ OPT_HOST, "host", NULL,
	  "what the host does for the guest, too, for report --host" },
	{ OPT_PREPARE, "prepare", "DIR",
	  "write what QEMU's plugin needs, and the option for QEMU" },
	{ OPT_SEED, "seed", "N", "of the jitter, to repeat a recording's schedule" },
	{ OPT_FULL_PATHS, "full-paths", NULL,
	  "-o: of sources, with the folders that all share" },
	{ OPT_NO_DEMANGLE, "no-demangle", NULL,
	  "-o: names as the symbol file has them" },
	{ OPT_JSON, "json", NULL, "figures of the recording as JSON" },
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
