/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot.c: `uniscope boot`: how long a guest takes to come to its functions. */
#include "cmd/boot_text.h"
#include "cmd/options.h"
#include "cmd/plugin_run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "vmm/cmdline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_UNTIL    8
#define MAX_RUNS     1000
#define DEFAULT_WAIT (60 * US_NS_PER_SEC)
#define LINGER	     (500 * US_NS_PER_MS)
#define LAST_WORDS   400 /* bytes of them that are shown */

enum {
	OPT_UNTIL = US_OPTION_LONG,
};

struct settings {
	struct us_plugin_asked asked;
	struct us_symbol_files symbols;
	const char *until[MAX_UNTIL];
	size_t n_until, n_run;
	uint64_t timeout_ns;
	bool json, no_cost, quiet;
};

struct boot {
	const struct settings *set;
	struct us_plugin_run run; /* the images, the folder */
	struct us_plugin_command with;
	char **plain; /* the command without the plugin */
	struct us_boot_plan plan, serial_alone;
	struct us_boot_run *seen, *alone;
	size_t n_alone;
	char vmm[32], unseen[600], file[US_PLUGIN_PATH];
};

/* ---- What the user asks for ---- */

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	double number;
	if (c == OPT_UNTIL) {
		if (s->n_until == MAX_UNTIL) {
			us_usage(&us_cmd_boot, "--until: at most %d", MAX_UNTIL);
			return false;
		}
		s->until[s->n_until++] = value;
		return true;
	}
	if (!us_parse_double("-n", value, 1, MAX_RUNS, &number))
		return false;
	s->n_run = (size_t)number;
	return true;
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_boot,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	s->n_run = 1;
	s->timeout_ns = DEFAULT_WAIT;
	if (!us_options_read(&o, ret_exit))
		return false;
	s->asked.argv = o.rest;
	s->asked.symbols = &s->symbols;
	if (o.command && o.n_rest)
		return true;
	*ret_exit = us_usage(o.cmd, "-- and a command that starts a VMM");
	return false;
}

/* ---- The command ---- */

static bool has_any(char *const *argv, const char *const *options)
{
	for (; *argv; argv++)
		for (const char *const *o = options; *o; o++)
			if ((*argv)[0] == '-' &&
			    !strcmp(*argv + 1 + ((*argv)[1] == '-'), *o))
				return true;
	return false;
}

/* QEMU shows the serial port in a window, unless it is told another place. */
static int make_plain(struct boot *b, struct us_err *e)
{
	static const char *const decided[] = { "serial",    "nographic", "nodefaults",
					       "monitor",   "mon",	 "chardev",
					       "daemonize", NULL };
	char *const *argv = b->set->asked.argv;
	size_t n = 0;
	while (argv[n])
		n++;
	b->plain = calloc(n + 3, sizeof(*b->plain));
	if (!b->plain)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(b->plain, argv, n * sizeof(*argv));
	us_vmm_name(argv[0], b->vmm, sizeof(b->vmm));
	if (!strcmp(b->vmm, "qemu") && !has_any(argv, decided)) {
		b->plain[n++] = (char *)(uintptr_t) "-serial";
		b->plain[n++] = (char *)(uintptr_t) "stdio";
	}
	return 0;
}

/* Where the plugin is not for this VMM, less is seen; why is told. */
static void add_plugin(struct boot *b)
{
	struct us_err why = { 0 };
	b->with.verb = "see";
	b->with.dir = b->run.dir;
	b->with.boot = true;
	us_plugin_run_path(&b->run, "boot", b->file);
	if (us_plugin_command_make(&b->with, b->plain, &why) < 0)
		snprintf(b->unseen, sizeof(b->unseen), "%s", why.msg);
}

static int prepare(struct boot *b, struct us_err *e)
{
	const struct settings *s = b->set;
	int r = us_plugin_run_prepare(&b->run, &s->asked, e);
	if (r == 0)
		r = make_plain(b, e);
	if (r < 0)
		return r;
	add_plugin(b);
	us_symbols_demangle(b->run.images.symbols, true);
	r = us_boot_plan_make(&b->plan, s->until, s->n_until, b->run.images.symbols,
			      b->run.images.n ? b->run.images.v[0].elf : NULL,
			      !b->unseen[0], e);
	if (r == -ENOTSUP)
		us_hint(e, "--until serial:REGEX, for: %s", b->unseen);
	b->seen = calloc(2 * s->n_run, sizeof(*b->seen));
	b->alone = b->seen + s->n_run;
	if (r == 0 && !b->seen)
		r = us_fail(e, -ENOMEM, "out of memory for %zu runs", s->n_run);
	return r;
}

/* ---- The runs ---- */

static int boot_once(struct boot *b, const struct us_boot_plan *plan, bool plugin,
		     struct us_boot_run *ret, struct us_err *e)
{
	const struct us_boot_how how = {
		.argv = plugin ? b->with.argv : b->plain,
		.file = plugin ? b->file : NULL,
		.timeout_ns = b->set->timeout_ns,
		.linger_ns = LINGER,
		.stopped = us_plugin_run_is_stopped,
	};
	return us_boot_run(plan, &how, ret, e);
}

/* What a user would look at: the VMM's complaint, or the guest's last words. */
static const char *last_words(const struct us_boot_run *run, char *text, size_t size)
{
	const struct us_boot_tail *t = run->complained.n ? &run->complained
							 : &run->said;
	size_t end = t->n;
	while (end && strchr(" \r\n", t->text[end - 1]))
		end--;
	size_t skip = end >= size ? end - size + 1 : 0;
	char copy[US_BOOT_TAIL];
	snprintf(copy, sizeof(copy), "%.*s", (int)(end - skip), t->text + skip);
	us_printable(text, size, copy);
	return text;
}

static int fail_unfinished(const struct boot *b, const struct us_boot_run *run,
			   struct us_err *e)
{
	char words[LAST_WORDS], how[32];
	const char *missing = "";
	for (size_t i = b->plan.n; i-- > 0;)
		if (b->plan.point[i].wanted && !run->at[i].seen)
			missing = b->plan.point[i].name;
	last_words(run, words, sizeof(words));
	if (!words[0])
		strcpy(words, "it wrote nothing");
	if (!run->ended)
		return us_fail(e, -ETIMEDOUT, "boot: %s was not reached in %.0f s: %s",
			       missing, (double)b->set->timeout_ns / US_NS_PER_SEC,
			       words);
	if (WIFEXITED(run->status))
		snprintf(how, sizeof(how), "status %d", WEXITSTATUS(run->status));
	else
		snprintf(how, sizeof(how), "signal %d", WTERMSIG(run->status));
	return us_fail(e, -ECHILD, "boot: the VMM ended (%s) before %s: %s", how,
		       missing, words);
}

static void tell(const struct boot *b, size_t i)
{
	if (isatty(STDERR_FILENO) && !b->set->json)
		fprintf(stderr, "\rrun %zu of %zu%s", i + 1, b->set->n_run,
			i + 1 == b->set->n_run ? "\n" : "");
}

/* With and without the observer in turn: what changes on the host changes both. */
static int boot_all(struct boot *b, struct us_err *e)
{
	bool plugin = !b->unseen[0];
	int r = 0;
	for (size_t i = 0; r == 0 && i < b->set->n_run; i++) {
		tell(b, i);
		r = boot_once(b, &b->plan, plugin, &b->seen[i], e);
		if (r == 0 && !b->seen[i].whole)
			r = fail_unfinished(b, &b->seen[i], e);
		bool serial = false;
		for (size_t k = 0; k < b->plan.n; k++)
			serial |= b->plan.point[k].kind == US_BOOT_SERIAL &&
				  b->seen[i].at[k].seen;
		if (r < 0 || b->set->no_cost || !plugin || !serial)
			continue;
		r = boot_once(b, &b->serial_alone, false, &b->alone[b->n_alone], e);
		b->n_alone += r == 0 && b->alone[b->n_alone].whole;
	}
	return r;
}

static size_t serial_of(const struct us_boot_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->point[i].kind == US_BOOT_SERIAL)
			return i;
	return 0;
}

static int show(const struct boot *b, struct us_err *e)
{
	struct us_boot_report r = { .plan = &b->plan,
				    .run = b->seen,
				    .n = b->set->n_run,
				    .vmm = b->vmm,
				    .unseen = b->unseen,
				    .n_alone = b->n_alone };
	struct us_boot_summary alone;
	size_t with = serial_of(&b->plan), without = serial_of(&b->serial_alone);
	int code = us_boot_summarize(&b->plan, b->seen, r.n, &r.summary);
	if (code == 0)
		code = us_boot_difference(b->alone, b->n_alone, without, b->seen, r.n,
					  with, &r.cost);
	if (code == 0)
		code = us_boot_summarize(&b->serial_alone, b->alone, b->n_alone,
					 &alone);
	if (code < 0)
		return us_fail(e, code, "out of memory");
	for (size_t i = 0; i < alone.n; i++)
		if (alone.row[i].point == without)
			r.alone = alone.row[i].at;
	if (b->set->json)
		us_boot_print_json(&r);
	else
		us_boot_print(&r);
	return 0;
}

/* Ends with the first byte. */
static void plan_serial(struct us_boot_plan *p)
{
	p->n = 2;
	p->point[0] = (struct us_boot_point){ .kind = US_BOOT_LAUNCH };
	p->point[1] = (struct us_boot_point){ .kind = US_BOOT_SERIAL, .wanted = true };
}

static int run_boot(int argc, char **argv)
{
	static struct boot b; /* large: paths and tables */
	static struct settings s;
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	b.set = &s;
	us_plugin_run_catch_signals();
	plan_serial(&b.serial_alone);
	int r = prepare(&b, &e);
	if (r == 0)
		r = boot_all(&b, &e);
	if (r == 0)
		r = show(&b, &e);
	us_boot_plan_fini(&b.plan);
	us_plugin_run_fini(&b.run);
	free(b.with.argv);
	free(b.plain);
	free(b.seen);
	if (r < 0)
		us_complain(&e);
	return us_exit_code(r);
}

static const struct us_option options[] = {
	{ OPT_UNTIL, "until", "POINT",
	  "a function, serial:REGEX or first-idle; repeatable", US_OWN },
	{ 'n', "runs", "N", "boot so often (1)", US_OWN },
	{ 't', "timeout", "TIME", "give a boot up after this (60s)",
	  US_TIME(struct settings, timeout_ns) },
	{ 'e', "elf", "ELF[@BIAS]", "symbol file of the guest; may be repeated",
	  US_IMAGE(struct settings, symbols) },
	{ 0, "symbols", "DIR", "search it for separate debug files; repeatable",
	  US_FOLDER(struct settings, symbols) },
	{ 0, "no-cost", NULL, "do not boot as often without being watched",
	  US_FLAG(struct settings, no_cost) },
	{ 0, "json", NULL, "the same for programs, with each run",
	  US_FLAG(struct settings, json) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope boot -- qemu-system-x86_64 -M microvm -kernel k.elf\0"
	"from launching QEMU to the kernel's first function, and what follows",
	"uniscope boot -n 10 --until tcp_init -- qemu-system-x86_64 -kernel k.elf\0"
	"ten times, until this function",
	"uniscope boot --until 'serial:^login:' -- qemu-system-x86_64 disk.img\0"
	"until the guest writes that",
	NULL,
};

const struct us_cmd us_cmd_boot = {
	.name = "boot",
	.args = "[OPTIONS] -- VMM ARGS...",
	.summary = "time a guest's boot, from launching its VMM to a function",
	.options = options,
	.examples = examples,
	.run = run_boot,
};
