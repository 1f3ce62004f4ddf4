/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_variant.c: see boot_variant.h. */
#include "cmd/boot_variant.h"

#include "cmd/boot_late.h"

#include "base/clock.h"
#include "base/text.h"
#include "vmm/cmdline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINGER	   (500 * US_NS_PER_MS)
#define LAST_WORDS 400 /* bytes of them that are shown */

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
static int make_plain(struct us_boot_variant *v, struct us_err *e)
{
	static const char *const decided[] = { "serial",  "nographic", "nodefaults",
					       "monitor", "mon",       "chardev",
					       NULL };
	static const char *const leaves[] = { "daemonize", NULL };
	char *const *argv = v->asked.argv;
	size_t n = 0;
	while (argv[n])
		n++;
	v->plain = calloc(n + 5, sizeof(*v->plain));
	if (!v->plain)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(v->plain, argv, n * sizeof(*argv));
	us_vmm_name(argv[0], v->vmm, sizeof(v->vmm));
	if (has_any(argv, leaves))
		return us_fail(
			e, -EINVAL,
			"boot: with -daemonize %s cannot be watched: leave it out",
			v->vmm);
	if (strcmp(v->vmm, "qemu") != 0)
		return 0;
	if (!has_any(argv, decided)) {
		v->plain[n++] = (char *)(uintptr_t) "-serial";
		v->plain[n++] = (char *)(uintptr_t) "stdio";
	}
	us_plugin_run_path(&v->run, "monitor", v->monitor);
	snprintf(v->monitor_word, sizeof(v->monitor_word), "unix:%s,server=on,wait=off",
		 v->monitor);
	v->plain[n++] = (char *)(uintptr_t) "-qmp";
	v->plain[n++] = v->monitor_word;
	return 0;
}

static int make_plugin(struct us_boot_variant *v, struct us_err *e)
{
	v->with.verb = "see";
	v->with.dir = v->run.dir;
	v->with.boot = true;
	us_plugin_run_path(&v->run, "boot", v->file);
	return us_plugin_command_make(&v->with, v->plain, e);
}

/* The VMM waits for us before the guest's first instruction. */
static int make_stub(struct us_boot_variant *v, struct us_err *e)
{
	static const char *const decided[] = { "gdb", "s", "S", NULL };
	size_t n = 0;
	if (strcmp(v->vmm, "qemu") != 0)
		return us_fail(e, -ENOTSUP, "%s is no QEMU, which has a GDB stub",
			       v->vmm);
	if (has_any(v->plain, decided))
		return us_fail(e, -ENOTSUP, "the command has a -gdb or -S of its own");
	while (v->plain[n])
		n++;
	v->stubbed = calloc(n + 4, sizeof(*v->stubbed));
	if (!v->stubbed)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(v->stubbed, v->plain, n * sizeof(*v->plain));
	us_plugin_run_path(&v->run, "stub", v->stub);
	snprintf(v->stub_word, sizeof(v->stub_word), "unix:%s,server=on,wait=off",
		 v->stub);
	v->stubbed[n++] = (char *)(uintptr_t) "-gdb";
	v->stubbed[n++] = v->stub_word;
	v->stubbed[n] = (char *)(uintptr_t) "-S";
	return 0;
}

static int make_nothing(struct us_boot_variant *v, struct us_err *e)
{
	(void)v;
	(void)e;
	return 0;
}

/* The best that is sure to work, or the one that is asked for; why no better one is
 * told. */
static int choose_way(struct us_boot_variant *v, struct us_err *e)
{
	static const struct {
		const char *name;
		enum us_boot_way way;
		int (*make)(struct us_boot_variant *v, struct us_err *e);
	} ways[] = { { "plugin", US_BOOT_BY_PLUGIN, make_plugin },
		     { "breakpoints", US_BOOT_BY_BREAKPOINTS, make_stub },
		     { "output", US_BOOT_BY_OUTPUT, make_nothing } };
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct us_err why = { 0 };
		/* Not every KVM does what breakpoints want: only if they are asked for.
		 */
		if (v->by ? strcmp(v->by, ways[i].name) != 0
			  : ways[i].way == US_BOOT_BY_BREAKPOINTS)
			continue;
		int r = ways[i].make(v, &why);
		v->way = ways[i].way;
		if (r == 0)
			return 0;
		*e = why;
		if (v->by)
			return r;
		/* Why the best one is not there says most. */
		if (!v->unseen[0])
			snprintf(v->unseen, sizeof(v->unseen), "%s", why.msg);
	}
	return us_fail(e, -EINVAL, "--by %s: must be plugin, breakpoints or output",
		       v->by ? v->by : "");
}

int us_boot_variant_prepare(struct us_boot_variant *v, size_t n, struct us_err *e)
{
	int r = us_plugin_run_prepare(&v->run, &v->asked, e);
	if (r == 0)
		r = make_plain(v, e);
	if (r == 0)
		r = choose_way(v, e);
	if (r < 0)
		return r;
	us_symbols_demangle(v->run.images.symbols, true);
	r = us_boot_plan_make(&v->plan, v->until, v->n_until, v->run.images.symbols,
			      v->run.images.n ? v->run.images.v[0].elf : NULL, v->way,
			      e);
	if (r == -ENOTSUP)
		us_hint(e, "--by breakpoints, or --until serial:REGEX, for: %s",
			v->unseen);
	v->seen = calloc(n, sizeof(*v->seen));
	if (r == 0 && !v->seen)
		r = us_fail(e, -ENOMEM, "out of memory for %zu runs", n);
	return r;
}

/* ---- A run ---- */

/* What a user would look at: of a VMM that ended its complaint, else the guest's last
 * words; or what else there is. */
static const char *last_words(const struct us_boot_run *run, char *text, size_t size)
{
	const struct us_boot_tail *t = run->ended ? &run->complained : &run->said;
	if (!t->n)
		t = run->ended ? &run->said : &run->complained;
	size_t end = t->n;
	while (end && strchr(" \r\n", t->text[end - 1]))
		end--;
	size_t skip = end >= size ? end - size + 1 : 0;
	char copy[US_BOOT_TAIL];
	snprintf(copy, sizeof(copy), "%.*s", (int)(end - skip), t->text + skip);
	for (char *c = copy; *c; c++)
		if (*c == '\r' || *c == '\n')
			*c = *c == '\r' ? ' ' : '/';
	us_printable(text, size, copy);
	return text;
}

static int fail_unfinished(const struct us_boot_variant *v,
			   const struct us_boot_run *run, struct us_err *e)
{
	char words[LAST_WORDS], how[32];
	const char *missing = "", *name = v->name ? v->name : "boot";
	for (size_t i = v->plan.n; i-- > 0;)
		if (v->plan.point[i].wanted && !run->at[i].seen)
			missing = v->plan.point[i].name;
	last_words(run, words, sizeof(words));
	if (!words[0])
		strcpy(words, "it wrote nothing");
	if (!run->ended) {
		char often[64] = "";
		if (run->n_start > 1)
			snprintf(often, sizeof(often),
				 ", the guest began %" PRIu64 " times", run->n_start);
		us_fail(e, -ETIMEDOUT, "%s: %s was not reached in %.0f s%s: %s", name,
			missing, (double)v->timeout_ns / US_NS_PER_SEC, often, words);
		us_hint(e,
			run->n_start > 1
				? "it resets itself: -no-reboot ends it where it does"
				: "-t TIME waits longer; a kernel that moves itself "
				  "passes its functions elsewhere (Linux: nokaslr)");
		return -ETIMEDOUT;
	}
	if (WIFEXITED(run->status))
		snprintf(how, sizeof(how), "status %d", WEXITSTATUS(run->status));
	else
		snprintf(how, sizeof(how), "signal %d", WTERMSIG(run->status));
	us_fail(e, -ECHILD, "%s: the VMM ended (%s) before %s: %s", name, how, missing,
		words);
	if (WIFEXITED(run->status) && !WEXITSTATUS(run->status))
		us_hint(e,
			"a VMM that goes to the background cannot be watched: let it "
			"stay in the foreground");
	return -ECHILD;
}

static int boot(struct us_boot_variant *v, const struct us_boot_plan *plan,
		enum us_boot_way way, struct us_boot_run *ret, struct us_err *e)
{
	struct us_boot_how how = {
		.argv = v->plain,
		.timeout_ns = v->timeout_ns,
		.linger_ns = LINGER,
		.stopped = us_plugin_run_is_stopped,
		.late = plan == &v->plan ? us_boot_late : NULL,
		.late_ctx = v,
	};
	if (way == US_BOOT_BY_PLUGIN) {
		how.argv = v->with.argv;
		how.file = v->file;
	} else if (way == US_BOOT_BY_BREAKPOINTS) {
		how.argv = v->stubbed;
		how.stub = v->stub;
	}
	int r = us_boot_run(plan, &how, ret, e);
	if (how.stub)
		unlink(how.stub);
	if (v->monitor[0])
		unlink(v->monitor);
	return r;
}

int us_boot_variant_boot(struct us_boot_variant *v, struct us_err *e)
{
	struct us_boot_run *run = &v->seen[v->n_seen];
	int r = boot(v, &v->plan, v->way, run, e);
	if (r == 0 && !run->whole)
		r = fail_unfinished(v, run, e);
	v->n_seen += r == 0;
	return r;
}

int us_boot_variant_boot_alone(struct us_boot_variant *v,
			       const struct us_boot_plan *plan, struct us_boot_run *ret,
			       struct us_err *e)
{
	return boot(v, plan, US_BOOT_BY_OUTPUT, ret, e);
}

void us_boot_variant_fini(struct us_boot_variant *v)
{
	us_boot_plan_fini(&v->plan);
	us_plugin_run_fini(&v->run);
	free(v->with.argv);
	free(v->plain);
	free(v->stubbed);
	free(v->seen);
}
