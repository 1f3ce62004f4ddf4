/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c: `uniscope record`: sample a running guest, or start one and sample it. */
#include "cmd/images.h"
#include "cmd/kernel.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/rights.h"
#include "cmd/summary.h"
#include "cmd/target.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "record/record.h"
#include "report/report.h"
#include "vmm/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>

#define DEFAULT_HZ	   997
#define DEFAULT_BUDGET_PPM 20000
#define LAUNCH_TIMEOUT_MS  10000

enum {
	OPT_BACKEND = US_OPTION_LONG,
	OPT_SYMBOLS,
	OPT_VCPU,
	OPT_BUDGET,
	OPT_SEED,
	OPT_NO_DEMANGLE,
	OPT_JSON,
};

struct settings {
	struct us_schedule schedule;
	uint64_t duration_ns;
	const char *out, *backend;
	const char *image[US_MAX_IMAGES];
	size_t n_image;
	const char *dir[US_MAX_DIRS];
	struct us_debug_dirs dirs;
	bool json, raw_names;
	int argc; /* what follows the options: TARGET, or the command after -- */
	char **argv;
	bool launch;
};

/* All that a recording holds; released in close_all(). */
struct recording {
	const struct settings *set;
	struct us_launch *launch;
	struct us_found found;
	struct us_images images;
	struct us_kernel kernel;
	const struct us_linux *tables_told; /* of the kernel: the user was told */
	bool names_told;
	struct us_unwinder *unwinder;
	struct us_backend *backend;
	char why[512]; /* the choice of the backend, in words */
	struct us_output output;
	struct us_writer *writer;
	struct us_progress progress;
	unsigned changes_written;
	uint64_t begin_ns, first_ns; /* of the program, of the first capture */
	struct us_summary summary;
	char end_words[sizeof(((struct us_err *)0)->msg)];
};

static bool add_image(struct settings *s, const char *text)
{
	if (s->n_image == US_MAX_IMAGES)
		return false;
	s->image[s->n_image++] = text;
	return true;
}

static bool set_option(struct settings *s, int c, const char *value)
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
		return true;
	case OPT_SEED:
		if (!us_parse_double("--seed", value, 0, 9e15, &number))
			return false;
		s->schedule.seed = (uint64_t)number;
		return true;
	case OPT_NO_DEMANGLE:
		s->raw_names = true;
		return true;
	case OPT_JSON:
		s->json = true;
		return true;
	}
	return false;
}

/* 0, or the exit code to end with (a help text ends with US_EXIT_OK). */
static int parse(struct settings *s, int argc, char **argv, bool *ret_go)
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
	if (s->backend && strcmp(s->backend, "auto") && !us_backend_by_name(s->backend))
		return us_usage(&us_cmd_record,
				"--backend %s: there is none of that name", s->backend);
	*ret_go = true;
	return US_EXIT_OK;
}

static int find_guest(struct recording *r, struct us_err *e)
{
	const struct settings *s = r->set;
	if (!s->launch)
		return us_target_resolve(s->argc ? s->argv[0] : NULL, &r->found, e);
	int ret = us_launch_start(s->argv, &r->launch, e);
	if (ret == 0)
		ret = us_launch_wait(r->launch, LAUNCH_TIMEOUT_MS, &r->found.guest, e);
	if (ret == 0)
		us_target_of_guest(&r->found);
	return ret;
}

static int attach(struct recording *r, struct us_err *e)
{
	const struct settings *s = r->set;
	const struct us_guest *g = r->found.target.guest;
	int ret = us_images_open(&r->images, s->image, s->n_image, &s->dirs, g, e);
	if (ret == 0)
		ret = us_backend_open(&r->found.target, s->backend, &r->backend, r->why,
				      sizeof(r->why), e);
	if (ret == 0)
		ret = us_images_check_arch(&r->images, r->backend->arch, e);
	if (ret < 0)
		return ret;
	/* No map yet: it is believed once the image was seen in the guest's memory. */
	ret = us_unwinder_new(r->backend->arch, NULL, NULL, &r->unwinder);
	if (ret < 0)
		return us_fail(e, ret, "out of memory for the unwinder");
	r->images.unwinder = r->unwinder;
	return 0;
}

static int write_modules(struct recording *r, struct us_err *e)
{
	struct us_place place[US_MAX_PLACES];
	size_t n = us_images_places(&r->images, place);
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < n; i++) {
		struct us_module m;
		us_images_module(&r->images, &place[i], i, &m);
		ret = us_writer_module(r->writer, &m, e);
	}
	return ret;
}

static void join_words(char *dst, size_t size, char *const *argv)
{
	size_t at = 0;
	dst[0] = '\0';
	for (; *argv && at < size; argv++) {
		int n = snprintf(dst + at, size - at, "%s%s", at ? " " : "", *argv);
		at += n > 0 ? (size_t)n : 0;
	}
}

/* What a reader should know of this recording, as names and texts. */
static int write_facts(struct recording *r, struct us_err *e)
{
	const struct settings *s = r->set;
	const struct us_guest *g = r->found.target.guest;
	struct utsname u;
	char command[1024], hz[32], seed[32], budget[32], vcpus[16], pid[16], now[32],
		host[300];
	join_words(command, sizeof(command), s->argv);
	snprintf(hz, sizeof(hz), "%g", s->schedule.hz);
	snprintf(seed, sizeof(seed), "%" PRIu64, s->schedule.seed);
	snprintf(budget, sizeof(budget), "%g", s->schedule.budget_ppm / 1e4);
	snprintf(vcpus, sizeof(vcpus), "%u", r->backend->n_vcpu);
	snprintf(pid, sizeof(pid), "%d", g ? (int)g->pid : 0);
	time_t t = time(NULL);
	struct tm tm;
	strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%S%z", localtime_r(&t, &tm));
	uname(&u);
	snprintf(host, sizeof(host), "%s %s %s %s", u.nodename, u.sysname, u.release,
		 u.machine);
	const struct {
		const char *key, *value;
	} facts[] = {
		{ "target", s->launch || !s->argc ? r->found.text : s->argv[0] },
		{ "command", command },
		{ "backend", r->backend->ops->name },
		{ "why", r->why },
		{ "how", r->backend->how },
		{ "caution", r->backend->caution },
		{ "resolution", r->backend->caps & US_CAP_BLOCKS ? "block" : "" },
		{ "hz", hz },
		{ "seed", seed },
		{ "budget_percent", budget },
		{ "vcpus", vcpus },
		{ "pid", pid },
		{ "vmm", g ? g->vmm : "" },
		{ "accel", g ? us_accel_name(g->accel) : "" },
		{ "guest", g ? g->name : "" },
		{ "kernel", g ? g->kernel : "" },
		{ "arch", us_arch_name(r->backend->arch) },
		{ "host", host },
		{ "started", now },
		{ "version", US_VERSION },
	};
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i].value[0])
			ret = us_writer_fact(r->writer, facts[i].key, facts[i].value,
					     e);
	return ret;
}

static int begin_file(struct recording *r, struct us_err *e)
{
	int ret = us_writer_open(r->output.fd, &r->writer, e);
	if (ret == 0)
		ret = write_facts(r, e);
	if (ret == 0)
		ret = write_modules(r, e);
	if (ret == 0)
		ret = us_writer_flush(r->writer, e);
	return ret < 0 ? us_wrap(e, "write %s", r->output.path) : 0;
}

/* A Linux kernel in the guest; if there is none, the file says why names are missing.
 */
static int find_kernel(struct recording *r, struct us_err *e)
{
	int ret = us_kernel_open(&r->kernel, &r->images, r->backend, e);
	if (ret < 0)
		return ret;
	if (!r->launch) /* else its start is what is to be seen */
		us_kernel_attach(&r->kernel, r->backend, r->set->schedule.vcpu_mask);
	if (us_kernel_linux(&r->kernel) || !r->images.note[0])
		return 0;
	return us_writer_fact(r->writer, "symbols_note", r->images.note, e);
}

static void look(void *ctx, const struct us_look *l)
{
	struct recording *r = ctx;
	if (!r->first_ns)
		r->first_ns = us_now_ns();
	us_images_look(&r->images, l);
	us_kernel_look(&r->kernel, l);
}

/* In the writer's thread, so it may take its time, and write what the sampler found. */
static void progress(void *ctx, const struct us_record_stats *s)
{
	struct recording *r = ctx;
	us_images_search(&r->images);
	unsigned changes = atomic_load_explicit(&r->images.changes,
						memory_order_acquire);
	if (changes != r->changes_written) {
		r->changes_written = changes;
		(void)write_modules(r, NULL); /* a full disk shows at the next flush */
	}
	(void)us_kernel_write(&r->kernel, r->writer);
	us_progress_show(&r->progress, s);
}

/* A short recording may be over before the guest's kernel was read. */
static void finish(void *ctx)
{
	struct recording *r = ctx;
	us_kernel_wait(&r->kernel);
	(void)us_kernel_write(&r->kernel, r->writer);
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

static int sample(struct recording *r, struct us_err *e)
{
	struct us_record_opts o = {
		.schedule = r->set->schedule,
		.duration_ns = r->set->duration_ns,
		.look = look,
		.progress = progress,
		.finish = finish,
		.ctx = r,
	};
	struct us_summary *s = &r->summary;
	us_progress_begin(&r->progress, r->found.text, r->set->duration_ns);
	int ret = us_record(r->backend, r->unwinder, r->writer, &o, &s->stats, &s->end,
			    e);
	us_progress_end(&r->progress);
	snprintf(r->end_words, sizeof(r->end_words), "%s", ret == 0 ? e->msg : "");
	*s = (struct us_summary){ .path = r->output.path,
				  .backend = r->backend->ops->name,
				  .hz = o.schedule.hz,
				  .budget_ppm = o.schedule.budget_ppm,
				  .n_vcpu = us_summary_vcpus(&o.schedule, r->backend),
				  .bytes = us_writer_bytes(r->writer),
				  .end = s->end,
				  .words = r->end_words,
				  .attach_ns = r->first_ns ? r->first_ns - r->begin_ns
							   : 0,
				  .stats = s->stats };
	if (ret < 0)
		us_output_cut(&r->output, us_writer_good_bytes(r->writer));
	return ret;
}

static void tell_start(const struct recording *r)
{
	if (r->set->json)
		return;
	fprintf(stderr, "recording %s by %s\n", r->found.text, r->why);
	if (r->backend->caution[0])
		fprintf(stderr, "caution: %s\n", r->backend->caution);
}

/* Where the names come from, or why there are none; again if that has changed. */
static void tell_names(struct recording *r)
{
	const struct us_linux *tables = us_kernel_linux(&r->kernel);
	char text[256];
	if (r->set->json || (tables && tables == r->tables_told))
		return;
	if (tables) {
		us_linux_describe(tables, text, sizeof(text));
		fprintf(stderr, "note: %s\n", text);
	} else if (r->images.note[0] && !r->names_told) {
		fprintf(stderr, "note: %s\n", r->images.note);
	}
	r->tables_told = tables;
	r->names_told = true;
}

static void tell_end(struct recording *r)
{
	FILE *out = r->output.is_stdout ? stderr : stdout;
	us_images_tell(&r->images, stderr);
	tell_names(r);
	if (r->set->json)
		us_summary_json(&r->summary, out);
	else
		us_summary_print(&r->summary, out);
}

static int run(struct recording *r, struct us_err *e)
{
	int ret = us_output_open(&r->output, r->set->out, e);
	if (ret == 0)
		ret = find_guest(r, e);
	if (ret == 0)
		ret = attach(r, e);
	if (ret < 0)
		return ret;
	us_rights_prefer_thread();
	us_rights_drop();
	tell_start(r);
	ret = begin_file(r, e);
	if (ret == 0)
		ret = find_kernel(r, e);
	if (ret < 0)
		return ret;
	tell_names(r);
	if (r->launch)
		ret = us_launch_go(r->launch, e);
	if (ret == 0)
		ret = sample(r, e);
	/* The guest is let go before anything slow is done with what was recorded. */
	us_kernel_stop(&r->kernel);
	us_backend_close(us_take(r->backend));
	tell_end(r);
	return ret;
}

static void close_all(struct recording *r)
{
	us_kernel_stop(&r->kernel);
	us_backend_close(r->backend);
	us_kernel_close(&r->kernel);
	us_writer_close(r->writer);
	us_unwinder_free(r->unwinder);
	us_images_fini(&r->images);
	us_launch_close(r->launch);
}

static int run_record(int argc, char **argv)
{
	struct settings s = { .schedule = { .hz = DEFAULT_HZ,
					    .budget_ppm = DEFAULT_BUDGET_PPM } };
	static struct recording r; /* large: paths and tables */
	struct us_err e = { 0 };
	bool go;
	if (getrandom(&s.schedule.seed, 4, 0) < 0)
		s.schedule.seed = us_now_ns() & UINT32_MAX;
	int code = parse(&s, argc, argv, &go);
	if (!go)
		return code;
	r.set = &s;
	r.begin_ns = us_now_ns();
	catch_signals();
	int ret = run(&r, &e);
	r.output.raw_names = s.raw_names;
	r.output.dirs = &s.dirs;
	if (ret == 0)
		ret = us_output_convert(&r.output, r.set->json, &e);
	close_all(&r);
	us_output_close(&r.output);
	if (ret < 0)
		us_complain(&e);
	return us_exit_code(ret);
}

static const struct us_option options[] = {
	{ 'F', "frequency", "HZ", "looks a second at each vCPU (997)" },
	{ 'd', "duration", "TIME", "stop after 5, 2.5s, 300ms ... (until Ctrl-C)" },
	{ 'o', "output", "FILE", "uniscope.data; .html, .folded ... convert at once" },
	{ 'e', "elf", "ELF[@BIAS]", "symbol file of the guest; may be repeated" },
	{ OPT_SYMBOLS, "symbols", "DIR",
	  "look for separate debug files there; repeatable" },
	{ OPT_BACKEND, "backend", "NAME",
	  "kvm, gdb, qmp or xen (auto: the best that works)" },
	{ OPT_VCPU, "vcpu", "LIST", "only these, such as 0,2-3" },
	{ OPT_BUDGET, "budget", "PERCENT",
	  "guest time that may be taken (2; 100: all)" },
	{ OPT_SEED, "seed", "N", "of the jitter, to repeat a recording's schedule" },
	{ OPT_NO_DEMANGLE, "no-demangle", NULL,
	  "-o: names as the symbol file has them" },
	{ OPT_JSON, "json", NULL, "figures of the recording as JSON" },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope record -d 5\0the one guest on this host, for five seconds",
	"uniscope record -d 10 -o web.html web\0the guest named web, as a flame graph",
	"uniscope record -e kernel.elf gdb:127.0.0.1:1234\0by a debug stub",
	"uniscope record -- qemu-system-x86_64 -kernel k.elf\0"
	"start a guest and record it from its first instruction",
	NULL,
};

const struct us_cmd us_cmd_record = {
	.name = "record",
	.args = "[OPTIONS] [TARGET | -- VMM ARGS...]",
	.summary = "sample a guest's stacks into a file",
	.options = options,
	.examples = examples,
	.run = run_record,
};
