/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve.c: `uniscope serve`: recordings as pages in a browser. */
#include "cmd/browser.h"
#include "cmd/options.h"
#include "cmd/recording.h"
#include "serve/serve.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPT_PORT = US_OPTION_LONG };

struct settings {
	struct us_serve_opts serve;
	struct us_symbol_files symbols;
	const char *listen;
	char **file;
	int n_file;
	bool no_open;
};

/* ---- What the user asks for ---- */

static bool set_option(void *settings, int c, const char *value)
{
	static char address[16];
	struct settings *s = settings;
	size_t n = strspn(value, "0123456789");
	if (c != OPT_PORT)
		return false;
	if (!n || value[n] || n > 5 || atoi(value) > UINT16_MAX) {
		us_usage(&us_cmd_serve, "--port %s: must be from 0 to 65535", value);
		return false;
	}
	snprintf(address, sizeof(address), ":%s", value);
	s->listen = address;
	return true;
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_serve,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	s->listen = ":" US_SERVE_PORT;
	if (!us_options_read(&o, ret_exit))
		return false;
	s->file = o.rest;
	s->n_file = o.n_rest;
	if (!s->n_file) {
		*ret_exit = us_usage(&us_cmd_serve,
				     "which recordings? FILE..., or a folder");
		return false;
	}
	s->serve.address = s->listen;
	us_recording_symbols(&s->symbols, &s->serve.profile);
	return true;
}

/* ---- The shelf ---- */

/* What is named must be there; of those that are no recordings the user is told. */
static int fill(const struct settings *s, struct us_shelf *shelf, struct us_err *e)
{
	size_t n_bad = 0;
	struct us_err bad = { 0 };
	for (int i = 0; i < s->n_file; i++) {
		struct us_shelf_item item;
		struct us_shelf_facts f = { 0 };
		_cleanup_close_ int fd = -1;
		int rc = us_shelf_add(shelf, s->file[i], e);
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
		us_fail(&bad, -ENOEXEC, "%s: %s", s->file[i], f.why);
	}
	if (n_bad && n_bad == shelf->n) {
		*e = bad;
		return e->code;
	}
	if (n_bad)
		us_complain(&bad);
	return 0;
}

/* ---- Until it is stopped ---- */

static void tell(const struct settings *s, const struct us_serve *serve)
{
	char host[65] = "HOST", shown[64];
	unsigned port = us_serve_port(serve);
	puts(us_serve_url(serve));
	if (!us_serve_is_loopback(serve)) {
		fputs("uniscope: whoever reaches this address and knows the token sees "
		      "all of it, and nothing is encrypted\n",
		      stderr);
	} else if (s->no_open || !us_browser_is_there()) {
		gethostname(host, sizeof(host) - 1);
		printf("from another machine: ssh -L %u:127.0.0.1:%u %s, and the same "
		       "URL there\n",
		       port, port, us_printable(shown, sizeof(shown), host));
	}
	puts("Ctrl-C ends it");
	fflush(stdout);
}

/* Signals are taken here, and nowhere else: threads are born with these blocked. */
static void block_signals(sigset_t *ret)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	sigemptyset(ret);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(ret, ends[i]);
	sigprocmask(SIG_BLOCK, ret, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int run(struct settings *s, struct us_err *e)
{
	_cleanup_(us_shelf_fini) struct us_shelf shelf = { 0 };
	struct us_serve *serve = NULL;
	sigset_t ends;
	int sig, rc = fill(s, &shelf, e);
	s->serve.shelf = &shelf;
	if (rc == 0)
		rc = us_serve_open(&s->serve, &serve, e);
	if (rc)
		return rc;
	block_signals(&ends);
	tell(s, serve);
	if (!s->no_open && us_browser_is_there() &&
	    !us_browser_open(us_serve_url(serve)))
		fputs("uniscope: there is no xdg-open to start a browser with\n",
		      stderr);
	rc = us_serve_run(serve, e);
	if (rc == 0)
		sigwait(&ends, &sig);
	us_serve_close(serve);
	return rc;
}

static int run_serve(int argc, char **argv)
{
	static struct settings s;
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
	{ OPT_PORT, "port", "N", "of this machine alone (" US_SERVE_PORT "); 0: any",
	  US_OWN },
	{ 0, "listen", "ADDRESS", "such as 0.0.0.0:" US_SERVE_PORT ", for others too",
	  US_TEXT(struct settings, listen) },
	{ 0, "no-open", NULL, "do not start a browser",
	  US_FLAG(struct settings, no_open) },
	{ 'e', "elf", "ELF[@BIAS]", "symbol file instead of the recorded; repeatable",
	  US_IMAGE(struct settings, symbols) },
	{ 0, "symbols", "DIR", "search it for images and debug files; repeatable",
	  US_FOLDER(struct settings, symbols) },
	{ 0, "host", NULL, "the host's functions too (record --host)",
	  US_FLAG(struct settings, serve.profile.host) },
	{ 0, "no-demangle", NULL, "names as the symbol file has them",
	  US_FLAG(struct settings, serve.profile.raw_names) },
	{ 0, "full-paths", NULL, "of sources: with the folders that all share",
	  US_FLAG(struct settings, serve.full_paths) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope serve web.data\0the recording in a browser",
	"uniscope serve guests/\0those in a folder, also those to come",
	"go tool pprof -http=: 'http://127.0.0.1:9970/?token=...'\0"
	"the same in pprof, by the URL that serve prints",
	NULL,
};

const struct us_cmd us_cmd_serve = {
	.name = "serve",
	.args = "[OPTIONS] FILE...",
	.summary = "show recordings in a browser",
	.options = options,
	.examples = examples,
	.run = run_serve,
};
