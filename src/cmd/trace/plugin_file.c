/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_file.c: see plugin_file.h. */
#include "cmd/trace/plugin_file.h"

#include "backend/backend.h"
#include "base/cleanup.h"
#include "vmm/cmdline.h"
#include "vmm/loader.h"
#include "vmm/plugin_find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ADDED 8

/* In a value QEMU reads two commas as one. */
static void add_escaped(char *dst, size_t size, const char *text)
{
	size_t at = strlen(dst);
	for (; *text && at + 3 < size; text++) {
		if (*text == ',')
			dst[at++] = ',';
		dst[at++] = *text;
	}
	dst[at] = '\0';
}

int us_plugin_command_word(struct us_plugin_command *c, struct us_err *e)
{
	char path[PATH_MAX];
	int r = us_plugin_find(path, e);
	if (r < 0)
		return r;
	c->word[0] = '\0';
	add_escaped(c->word, sizeof(c->word) / 2, path);
	size_t at = strlen(c->word);
	bool alone = c->boot && !c->phases;
	snprintf(c->word + at, sizeof(c->word) - at, ",%s=%s/%s",
		 alone ? "boot" : "counts", c->dir, alone ? "boot" : "counts");
	at = strlen(c->word);
	if (alone) {
		snprintf(c->word + at, sizeof(c->word) - at, "%s",
			 c->devices ? ",devices=on" : "");
		return 0;
	}
	if (c->phases)
		snprintf(c->word + at, sizeof(c->word) - at,
			 ",boot=%s/boot,phases=%s/phases,unnamed=addresses", c->dir,
			 c->dir);
	at = strlen(c->word);
	if (c->functions)
		snprintf(c->word + at, sizeof(c->word) - at, ",functions=%s/functions",
			 c->dir);
	at = strlen(c->word);
	if (c->nodes)
		snprintf(c->word + at, sizeof(c->word) - at, ",nodes=%u", c->nodes);
	at = strlen(c->word);
	if (c->only)
		snprintf(c->word + at, sizeof(c->word) - at, ",only=%s", c->only);
	at = strlen(c->word);
	if (c->trace)
		snprintf(c->word + at, sizeof(c->word) - at, ",trace=%s/trace%s",
			 c->dir, c->trace);
	return 0;
}

static bool has_option(char *const argv[], const char *name)
{
	for (; *argv; argv++)
		if ((*argv)[0] == '-' && !strcmp(*argv + 1 + ((*argv)[1] == '-'), name))
			return true;
	return false;
}

static int check(const struct us_plugin_command *c, char *const argv[],
		 struct us_err *e)
{
	_cleanup_free_ struct us_cmdline *line = calloc(1, sizeof(*line));
	unsigned argc = 0;
	char vmm[32], processor[16];
	argv = us_loader_program(argv);
	while (argv[argc])
		argc++;
	if (!line)
		return us_fail(e, -ENOMEM, "out of memory");
	us_vmm_name(argv[0], vmm, sizeof(vmm));
	if (strcmp(vmm, "qemu") != 0) {
		us_fail(e, -EINVAL, "%s what %.200s runs: this is no QEMU", c->verb,
			argv[0]);
		us_hint(e, "only QEMU's emulation sees every call: give the QEMU "
			   "command itself, not a script; uniscope record samples "
			   "guests of any VMM");
		return -EINVAL;
	}
	bool runs = us_cmdline_parse(vmm, argc, (const char *const *)argv, line);
	if (line->daemon) {
		us_fail(e, -EINVAL, "%s: with -daemonize it cannot be watched",
			c->verb);
		us_hint(e, "leave -daemonize out");
		return -EINVAL;
	}
	us_qemu_processor(argv[0], line->cpu, processor, sizeof(processor));
	if (us_backend_check_processor(processor, e) < 0)
		return us_wrap(e, "%s", c->verb);
	if (runs && line->accel == US_ACCEL_KVM && !line->tcg_fallback) {
		us_fail(e, -EINVAL,
			"%s what a guest under KVM executes: its processor does not "
			"report it",
			c->verb);
		us_hint(e, "use -accel tcg instead of KVM, or sample with uniscope "
			   "record");
		return -EINVAL;
	}
	if (c->deterministic &&
	    (has_option(argv, "icount") || has_option(argv, "rtc"))) {
		us_fail(e, -EINVAL,
			"--deterministic: the command has an -icount or -rtc "
			"of its own");
		us_hint(e, "leave one of them out");
		return -EINVAL;
	}
	return 0;
}

int us_plugin_command_make(struct us_plugin_command *c, char *const argv[],
			   struct us_err *e)
{
	/* The seed fixes what a guest uses as random: RDRAND, and the seeds that QEMU
	 * passes to a kernel for KASLR. */
	static const char *const fixed[] = { "-icount", "shift=3,sleep=off",
					     "-rtc",	"clock=vm,base=2020-01-01",
					     "-seed",	"1" };
	unsigned n = 0;
	int r = check(c, argv, e);
	if (r == 0)
		r = us_plugin_command_word(c, e);
	if (r < 0)
		return r;
	while (argv[n])
		n++;
	c->argv = calloc(n + MAX_ADDED + 1, sizeof(*c->argv));
	if (!c->argv)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(c->argv, argv, n * sizeof(*argv));
	c->argv[n++] = (char *)(uintptr_t) "-plugin";
	c->argv[n++] = c->word;
	unsigned n_fixed = has_option(argv, "seed") ? 4 : 6;
	for (unsigned i = 0; c->deterministic && i < n_fixed; i++)
		c->argv[n++] = (char *)(uintptr_t)fixed[i];
	return 0;
}
