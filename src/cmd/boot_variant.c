/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_variant.c: see boot_variant.h. */
#include "cmd/boot_variant.h"

#include "base/clock.h"
#include "base/text.h"
#include "vmm/cmdline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

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
	v->plain = calloc(n + 3, sizeof(*v->plain));
	if (!v->plain)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(v->plain, argv, n * sizeof(*argv));
	us_vmm_name(argv[0], v->vmm, sizeof(v->vmm));
	if (has_any(argv, leaves))
		return us_fail(
			e, -EINVAL,
			"boot: with -daemonize %s cannot be watched: leave it out",
			v->vmm);
	if (!strcmp(v->vmm, "qemu") && !has_any(argv, decided)) {
		v->plain[n++] = (char *)(uintptr_t) "-serial";
		v->plain[n++] = (char *)(uintptr_t) "stdio";
	}
	return 0;
}

/* Where the plugin is not for this VMM, less is seen; why is told. */
static void add_plugin(struct us_boot_variant *v)
{
	struct us_err why = { 0 };
	v->with.verb = "see";
	v->with.dir = v->run.dir;
	v->with.boot = true;
	us_plugin_run_path(&v->run, "boot", v->file);
	if (us_plugin_command_make(&v->with, v->plain, &why) < 0)
		snprintf(v->unseen, sizeof(v->unseen), "%s", why.msg);
}

int us_boot_variant_prepare(struct us_boot_variant *v, size_t n, struct us_err *e)
{
	int r = us_plugin_run_prepare(&v->run, &v->asked, e);
	if (r == 0)
		r = make_plain(v, e);
	if (r < 0)
		return r;
	add_plugin(v);
	us_symbols_demangle(v->run.images.symbols, true);
	r = us_boot_plan_make(&v->plan, v->until, v->n_until, v->run.images.symbols,
			      v->run.images.n ? v->run.images.v[0].elf : NULL,
			      !v->unseen[0], e);
	if (r == -ENOTSUP)
		us_hint(e, "--until serial:REGEX, for: %s", v->unseen);
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
		us_fail(e, -ETIMEDOUT, "%s: %s was not reached in %.0f s: %s", name,
			missing, (double)v->timeout_ns / US_NS_PER_SEC, words);
		us_hint(e,
			"-t TIME waits longer; a kernel that moves itself passes its "
			"functions elsewhere (Linux: nokaslr)");
		return -ETIMEDOUT;
	}
	if (WIFEXITED(run->status))
		snprintf(how, sizeof(how), "status %d", WEXITSTATUS(run->status));
	else
		snprintf(how, sizeof(how), "signal %d", WTERMSIG(run->status));
	return us_fail(e, -ECHILD, "%s: the VMM ended (%s) before %s: %s", name, how,
		       missing, words);
}

static int boot(struct us_boot_variant *v, const struct us_boot_plan *plan, bool plugin,
		struct us_boot_run *ret, struct us_err *e)
{
	const struct us_boot_how how = {
		.argv = plugin ? v->with.argv : v->plain,
		.file = plugin ? v->file : NULL,
		.timeout_ns = v->timeout_ns,
		.linger_ns = LINGER,
		.stopped = us_plugin_run_is_stopped,
	};
	return us_boot_run(plan, &how, ret, e);
}

int us_boot_variant_boot(struct us_boot_variant *v, struct us_err *e)
{
	struct us_boot_run *run = &v->seen[v->n_seen];
	int r = boot(v, &v->plan, !v->unseen[0], run, e);
	if (r == 0 && !run->whole)
		r = fail_unfinished(v, run, e);
	v->n_seen += r == 0;
	return r;
}

int us_boot_variant_boot_alone(struct us_boot_variant *v,
			       const struct us_boot_plan *plan, struct us_boot_run *ret,
			       struct us_err *e)
{
	return boot(v, plan, false, ret, e);
}

void us_boot_variant_fini(struct us_boot_variant *v)
{
	us_boot_plan_fini(&v->plan);
	us_plugin_run_fini(&v->run);
	free(v->with.argv);
	free(v->plain);
	free(v->seen);
}
