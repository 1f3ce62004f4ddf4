/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve.c: `uniscope serve`: recordings, or guests that run, as pages in a browser. */
#include "cmd/record/fleet.h"
#include "cmd/record/live_options.h"
#include "cmd/end_signals.h"
#include "cmd/options.h"
#include "cmd/record/recording.h"
#include "cmd/serving.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SEARCH_NS US_NS_PER_SEC

enum { OPT_PORT = US_OPTION_LONG };

struct settings {
	struct us_record_settings record;
	struct us_serving serving;
	char **rest; /* FILE..., or TARGET */
	int n_rest;
};

/* The fleet comes first, for its callbacks. */
struct live {
	struct us_fleet fleet;
	const struct settings *set;
	struct us_serving *serving;
	bool refused; /* for the guest that the user named: */
	int code;
	struct us_err e;
};

/* ---- What the user asks for ---- */

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	if (c == OPT_PORT)
		return us_serving_port(&s->serving, &us_cmd_serve, value);
	return us_live_set(&s->record, c, value);
}

/* A single word that is no file means a guest, unless it looks like a file's name. */
static bool is_target(const char *text)
{
	size_t n = strlen(text);
	if (access(text, F_OK) == 0)
		return false;
	if (!strncmp(text, "qmp:", 4) || !strncmp(text, "gdb:", 4) ||
	    !strncmp(text, "xen:", 4))
		return true;
	return !strchr(text, '/') && (n < 5 || strcmp(text + n - 5, ".data") != 0);
}

static bool is_live(const struct settings *s)
{
	return !s->n_rest || (s->n_rest == 1 && is_target(s->rest[0]));
}

static int check_usage(struct settings *s)
{
	struct us_record_settings *r = &s->record;
	struct us_err e;
	if (r->all && s->n_rest)
		return us_usage(&us_cmd_serve, "--all takes no target such as %s",
				s->rest[0]);
	if (s->serving.address[0] && s->serving.listen)
		return us_usage(&us_cmd_serve,
				"--port is for this machine only: name the port in "
				"--listen %s",
				s->serving.listen);
	if (!us_serving_is_address(&us_cmd_serve, "--listen", s->serving.listen))
		return US_EXIT_USAGE;
	if (r->backend && us_backend_check(r->backend, &e) < 0)
		return us_usage(&us_cmd_serve, "%s (%s)", e.msg, e.hint);
	if (!is_live(s) && (r->out || r->backend || r->rate_given || r->budget_given ||
			    r->tasks_hz > 0 || r->schedule.vcpu_mask))
		return us_usage(
			&us_cmd_serve,
			"-F, -o, --backend, --budget, --tasks and --vcpu are for "
			"guests, not for recordings such as %s",
			s->rest[0]);
	return US_EXIT_OK;
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_serve,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	struct us_record_settings *r = &s->record;
	if (!us_options_read(&o, ret_exit))
		return false;
	s->rest = o.rest;
	s->n_rest = o.n_rest;
	r->argv = o.rest;
	r->argc = o.n_rest;
	if (!r->rate_given)
		r->schedule.hz = r->all ? US_LIVE_HZ_ALL : US_LIVE_HZ;
	r->schedule.pause_ns = r->all ? US_LIVE_PAUSE_ALL_NS : 0;
	if (getrandom(&r->schedule.seed, 4, 0) < 0)
		r->schedule.seed = us_now_ns() & UINT32_MAX;
	*ret_exit = check_usage(s);
	return *ret_exit == US_EXIT_OK;
}

/* ---- Recordings ---- */

/* Everything named must exist; files that are not recordings are reported. */
static int fill(const struct settings *s, struct us_shelf *shelf, struct us_err *e)
{
	size_t n_bad = 0;
	struct us_err bad = { 0 };
	for (int i = 0; i < s->n_rest; i++) {
		struct us_shelf_item item;
		struct us_shelf_facts f = { 0 };
		_cleanup_close_ int fd = -1;
		int rc = us_shelf_add(shelf, s->rest[i], e);
		if (rc)
			return rc;
		if (shelf->v[shelf->n - 1].folder)
			continue;
		rc = us_shelf_open(shelf, shelf->v[shelf->n - 1].path, &fd, &item, e);
		if (rc)
			return rc;
		us_shelf_peek(fd, &f);
		if (!f.why[0])
			continue;
		if (n_bad++)
			us_complain(&bad);
		us_fail(&bad, -ENOEXEC, "%s: %s", s->rest[i], f.why);
	}
	if (n_bad && n_bad == shelf->n) {
		*e = bad;
		return e->code;
	}
	if (n_bad)
		us_complain(&bad);
	return 0;
}

/* Only this thread takes signals: it blocks them before it starts the others. */
static void block_signals(sigset_t *ret)
{
	us_end_signals(ret);
	sigprocmask(SIG_BLOCK, ret, NULL);
}

static int serve_files(struct settings *s, struct us_err *e)
{
	_cleanup_(us_shelf_fini) struct us_shelf shelf = { 0 };
	struct us_serve_opts o = { .shelf = &shelf,
				   .full_paths = s->record.full_paths,
				   .profile = { .raw_names = s->record.raw_names,
						.host = s->record.schedule.host } };
	sigset_t ends;
	int sig, rc = fill(s, &shelf, e);
	us_recording_symbols(&s->record.symbols, &o.profile);
	if (rc == 0)
		rc = us_serving_open(&s->serving, &o, e);
	if (rc)
		return rc;
	block_signals(&ends);
	us_serving_tell(&s->serving, stdout);
	rc = us_serving_begin(&s->serving, e);
	if (rc == 0)
		sigwait(&ends, &sig);
	us_serving_close(&s->serving);
	return rc;
}

/* ---- Guests ---- */

/* Set by a signal handler, so it cannot be anything but global. */
static atomic_bool stop;

static void on_signal(int sig)
{
	(void)sig;
	atomic_store(&stop, true);
}

static struct live *live_of(const struct us_member *m)
{
	return (struct live *)m->fleet;
}

/* Runs in the member's thread. */
static int open_output(struct us_member *m, struct us_err *e)
{
	const struct us_record_settings *s = m->fleet->set;
	if (!s->out)
		return us_output_temporary(&m->r->output, e);
	return s->all ? us_fleet_open_in(m, s->out, e)
		      : us_output_open(&m->r->output, s->out, e);
}

static void begun(struct us_member *m)
{
	us_recording_tell_start(m->r);
	m->user = us_serving_add(live_of(m)->serving, m->r);
	m->cpu = US_VMM_CPU_UNKNOWN;
}

static void ended(struct us_member *m)
{
	const char *words = m->code < 0 ? m->e.msg : m->end_words;
	if (!m->user) /* the recording was too short to be added */
		m->user = us_serving_add(live_of(m)->serving, m->r);
	us_serve_over(m->user, words);
	m->user = NULL;
	if (!atomic_load(m->fleet->stop))
		fprintf(stderr, "%s: %s; the page stays until Ctrl-C\n", m->text,
			words[0] ? words : "the recording has ended");
}

static void refused(struct us_member *m)
{
	struct live *l = live_of(m);
	struct us_err e = m->e;
	if (m->named) {
		l->refused = true;
		l->code = m->code;
		l->e = m->e;
		return;
	}
	us_fail(&e, m->code, "not observed: %s: %s", m->text, m->e.msg);
	us_complain(&e);
}

static int serve_until_over(struct live *l, struct us_err *e)
{
	struct us_fleet *f = &l->fleet;
	struct us_member *m;
	uint64_t search_ns = us_now_ns() + SEARCH_NS;
	bool all = f->set->all;
	int rc = all ? us_fleet_look(f, true, e)
		     : us_fleet_target(f, l->set->n_rest ? l->set->rest[0] : NULL, &m,
				       e);
	if (rc)
		return rc;
	while (!l->refused && (f->n_running || !us_fleet_is_over(f))) {
		us_fleet_wait(f, search_ns, -1);
		us_fleet_heed(f);
		if (us_now_ns() < search_ns)
			continue;
		search_ns = us_now_ns() + SEARCH_NS;
		if (all)
			us_serving_renew(f);
		if (all && us_fleet_look(f, false, NULL) < 0)
			continue; /* try again next time */
	}
	if (l->refused)
		*e = l->e;
	return l->refused ? l->code : 0;
}

static int serve_guests(struct settings *s, struct us_err *e)
{
	static const struct us_fleet_ops ops = { open_output, begun, ended, refused };
	const struct us_serve_opts o = { .live = true,
					 .all = s->record.all,
					 .full_paths = s->record.full_paths };
	struct live l = { .fleet = { .set = &s->record,
				     .ops = &ops,
				     .stop = &stop,
				     .end_ns = UINT64_MAX },
			  .set = s,
			  .serving = &s->serving };
	int rc = us_serving_open(&s->serving, &o, e);
	if (rc)
		return rc;
	rc = us_fleet_init(&l.fleet, e);
	if (rc == 0 && s->record.all && s->record.out)
		rc = us_fleet_make_dir(s->record.out, e);
	if (rc == 0) {
		us_fleet_catch_signals(&l.fleet.sleep_mask, on_signal);
		us_serving_tell(&s->serving, stdout);
		rc = us_serving_begin(&s->serving, e);
	}
	if (rc == 0)
		rc = serve_until_over(&l, e);
	us_serving_close(&s->serving);
	us_fleet_fini(&l.fleet);
	return rc;
}

static int run_serve(int argc, char **argv)
{
	static struct settings s;
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	bool live = is_live(&s);
	int rc = live ? serve_guests(&s, &e) : serve_files(&s, &e);
	if (rc == 0)
		return US_EXIT_OK;
	us_complain(&e);
	return live ? us_exit_code(rc) : US_EXIT_FAILED;
}

#define SETTINGS struct settings

static const struct us_option options[] = {
	{ OPT_PORT, "port", "N",
	  "port, on this machine only (" US_SERVE_PORT "); 0: any free one", US_OWN },
	{ 0, "listen", "ADDRESS",
	  "listen there instead, for others too: 0.0.0.0:" US_SERVE_PORT,
	  US_TEXT(SETTINGS, serving.listen) },
	{ 0, "host-name", "NAME", "a name under which a proxy passes requests on",
	  US_TEXT(SETTINGS, serving.host_name) },
	{ 0, "no-open", NULL, "do not start a browser",
	  US_FLAG(SETTINGS, serving.no_open) },
	{ 0, "all", NULL, "all guests of this host, also those that start later",
	  US_FLAG(SETTINGS, record.all) },
	{ 'F', "frequency", "HZ",
	  "samples per second of each vCPU (997; with --all 99)", US_OWN },
	US_LIVE_ROWS(SETTINGS, record),
	US_LIVE_TASKS_ROW(""),
	{ 'o', "output", "FILE", "keep the recording; with --all a folder",
	  US_TEXT(SETTINGS, record.out) },
	{ 'e', "elf", "ELF[@BIAS]", "use this symbol file; repeatable",
	  US_IMAGE(SETTINGS, record.symbols) },
	{ 0, "symbols", "DIR", "search DIR for images and debug files; repeatable",
	  US_FOLDER(SETTINGS, record.symbols) },
	US_PROGRAM_ROWS(SETTINGS, record.symbols),
	{ 0, "host", NULL, "also what the host does for the guest",
	  US_FLAG(SETTINGS, record.schedule.host) },
	{ 0, "no-demangle", NULL, "show names as the symbol file has them",
	  US_FLAG(SETTINGS, record.raw_names) },
	{ 0, "full-paths", NULL, "show sources with their whole paths",
	  US_FLAG(SETTINGS, record.full_paths) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope serve\0the one guest on this host, live",
	"uniscope serve --all\0all guests, each with a page",
	"uniscope serve --tasks 4 web\0and what its tasks wait for",
	"uniscope serve guests/\0the recordings in a folder, including new ones",
	"go tool pprof -http=: 'http://127.0.0.1:9970/?token=...'\0"
	"the same in pprof, with the URL that serve prints",
	NULL,
};

const struct us_cmd us_cmd_serve = {
	.name = "serve",
	.args = "[OPTIONS] [TARGET | --all | FILE...]",
	.summary = "show a guest live, or recordings, in a browser",
	.options = options,
	.examples = examples,
	.run = run_serve,
};
