/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/ways.c: see cmd/boot/ways.h. */
#include "cmd/boot/ways.h"

#include "base/cleanup.h"
#include "boot/device_trace.h"
#include "cmd/boot/samples.h"
#include "vmm/cmdline.h"
#include "vmm/loader.h"
#include "vmm/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The command to which the plugin or a stub is added. */
static char **base_of(const struct us_boot_variant *v)
{
	return v->traced ? v->traced : v->plain;
}

static int make_plugin(struct us_boot_variant *v, struct us_err *e)
{
	v->with.verb = "see";
	v->with.dir = v->run.dir;
	v->with.boot = true;
	us_plugin_run_path(&v->run, "boot", v->file);
	return us_plugin_command_make(&v->with, base_of(v), e);
}

/* The VMM waits for us before the guest's first instruction. */
static int make_stub(struct us_boot_variant *v, struct us_err *e)
{
	static const char *const decided[] = { "gdb", "s", NULL };
	size_t n = 0;
	if (strcmp(v->vmm, "qemu") != 0)
		return us_fail(e, -ENOTSUP,
			       "%s is no QEMU: breakpoints need QEMU's GDB stub",
			       v->vmm);
	if (us_boot_variant_has(v->plain, decided))
		return us_fail(e, -ENOTSUP, "the command has a -gdb or -s of its own");
	while (base_of(v)[n])
		n++;
	v->stubbed = calloc(n + 4, sizeof(*v->stubbed));
	if (!v->stubbed)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(v->stubbed, base_of(v), n * sizeof(*v->stubbed));
	us_plugin_run_path(&v->run, "stub", v->stub);
	snprintf(v->stub_word, sizeof(v->stub_word), "unix:%s,server=on,wait=off",
		 v->stub);
	v->stubbed[n++] = (char *)(uintptr_t) "-gdb";
	v->stubbed[n++] = v->stub_word;
	v->stubbed[n] = (char *)(uintptr_t) "-S";
	return 0;
}

/* QEMU emulates unless its options ask for KVM. */
static bool wants_kvm(const struct us_boot_variant *v)
{
	_cleanup_free_ struct us_cmdline *line = calloc(1, sizeof(*line));
	char *const *argv = us_loader_program(v->plain);
	unsigned argc = 0;
	while (argv[argc])
		argc++;
	return line &&
	       us_cmdline_parse(v->vmm, argc, (const char *const *)argv, line) &&
	       line->accel == US_ACCEL_KVM;
}

bool us_boot_ways_is_emulated(const struct us_boot_variant *v)
{
	return !strcmp(v->vmm, "qemu") && !wants_kvm(v);
}

static int check_kvm(const struct us_boot_variant *v, struct us_err *e)
{
	return us_boot_ways_is_emulated(v)
		       ? us_fail(e, -ENOTSUP,
				 "QEMU's TCG emulates the guest, without KVM")
		       : 0;
}

/* The events of the host's KVM, if this process may read them. */
static int make_events(struct us_boot_variant *v, struct us_err *e)
{
	int r = check_kvm(v, e);
	return r ? r : us_boot_events_open(&v->events, e);
}

/* What to log is known once there is a plan (us_boot_ways_filter()). */
static int make_log(struct us_boot_variant *v, struct us_err *e)
{
	size_t n = 0;
	if (!us_boot_ways_is_emulated(v))
		return us_fail(e, -ENOTSUP,
			       "QEMU's log reports only what its TCG executes");
	if (!v->traced)
		return us_fail(e, -ENOTSUP, "%s", v->unseen_device);
	while (v->traced[n])
		n++;
	v->logged = calloc(n + 5, sizeof(*v->logged));
	if (!v->logged)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(v->logged, v->traced, n * sizeof(*v->logged));
	v->logged[n++] = (char *)(uintptr_t) "-d";
	v->logged[n++] = (char *)(uintptr_t) "exec,in_asm";
	v->logged[n++] = (char *)(uintptr_t) "-dfilter";
	v->logged[n] = v->filter;
	return 0;
}

/* Each address of a point, since a block begins there, and x86's reset address. */
void us_boot_ways_filter(struct us_boot_variant *v, const struct us_boot_plan *p)
{
	size_t at = (size_t)snprintf(v->filter, sizeof(v->filter), "0x%x+0x1",
				     US_BOOT_RESET_X86);
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->point[i].n_address; k++)
			if (at + 32 < sizeof(v->filter))
				at += (size_t)snprintf(
					v->filter + at, sizeof(v->filter) - at,
					",0x%" PRIx64 "+0x1", p->point[i].address[k]);
}

static int make_nothing(struct us_boot_variant *v, struct us_err *e)
{
	(void)v;
	(void)e;
	return 0;
}

/* Not every KVM supports breakpoints. */
static int make_stub_if_sure(struct us_boot_variant *v, struct us_err *e)
{
	struct us_host host;
	us_host_read(&host);
	if (!strcmp(host.kvm, "kvm_pvm") && wants_kvm(v))
		return us_fail(e, -ENOTSUP,
			       "this host's KVM emulates its guests' instructions and "
			       "supports no breakpoints");
	return make_stub(v, e);
}

static void try_way(struct us_boot_variant *v, enum us_boot_way way,
		    int (*make)(struct us_boot_variant *v, struct us_err *e), char *why,
		    size_t size)
{
	struct us_err e = { 0 };
	if (make(v, &e) == 0)
		v->way |= way;
	else
		snprintf(why, size, "%s", e.msg);
}

/* QEMU holds the guest until the sampler is ready; with other VMMs the first moments
 * are not seen.  Without KVM, a sample would stop the guest through its monitor, which
 * the stub takes for a breakpoint. */
static int make_samples(struct us_boot_variant *v, struct us_err *e)
{
	struct us_err why = { 0 };
	int r = check_kvm(v, e);
	if (r < 0) {
		us_hint(e, "leave --by out: then the best way is taken");
		return us_wrap(e, "samples are of guests of KVM");
	}
	r = us_boot_samples_ready(e);
	if (r == 0 && !v->stubbed)
		(void)!make_stub(v, &why);
	return r;
}

int us_boot_ways_sample(struct us_boot_variant *v, struct us_err *e)
{
	return make_samples(v, e);
}

static void try_events(struct us_boot_variant *v)
{
	try_way(v, US_BOOT_BY_EVENTS, make_events, v->unseen_kvm,
		sizeof(v->unseen_kvm));
}

/* Without the plugin: the events of KVM, and the best way there is for functions. */
static void choose_best(struct us_boot_variant *v)
{
	char no_log[sizeof(v->unseen)]; /* then there are breakpoints */
	try_way(v, US_BOOT_BY_PLUGIN, make_plugin, v->unseen, sizeof(v->unseen));
	if (v->way)
		return;
	try_events(v);
	try_way(v, US_BOOT_BY_LOG, make_log, no_log, sizeof(no_log));
	if (v->way & US_BOOT_BY_LOG)
		return;
	try_way(v, US_BOOT_BY_BREAKPOINTS, make_stub_if_sure, v->unseen_code,
		sizeof(v->unseen_code));
	if (!(v->way & US_BOOT_BY_BREAKPOINTS))
		try_way(v, US_BOOT_BY_SAMPLES, make_samples, v->unseen_code,
			sizeof(v->unseen_code));
}

bool us_boot_ways_fall_back(struct us_boot_variant *v, const struct us_err *e)
{
	struct us_err why = { 0 };
	if (v->by || !(v->way & US_BOOT_BY_BREAKPOINTS) || make_samples(v, &why) < 0)
		return false;
	snprintf(v->unseen_code, sizeof(v->unseen_code), "%s", e->msg);
	v->way = (v->way & ~(unsigned)US_BOOT_BY_BREAKPOINTS) | US_BOOT_BY_SAMPLES;
	return true;
}

static const struct {
	const char *name;
	enum us_boot_way way;
	int (*make)(struct us_boot_variant *v, struct us_err *e);
} ways[] = {
	{ "plugin", US_BOOT_BY_PLUGIN, make_plugin },
	{ "log", US_BOOT_BY_LOG, make_log },
	{ "breakpoints", US_BOOT_BY_BREAKPOINTS, make_stub },
	{ "samples", US_BOOT_BY_SAMPLES, make_samples },
	{ "kvm", US_BOOT_BY_EVENTS, make_events },
	{ "output", US_BOOT_BY_OUTPUT, make_nothing },
};

bool us_boot_ways_has(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(name, ways[i].name))
			return true;
	return false;
}

static int choose(struct us_boot_variant *v, struct us_err *e)
{
	if (!v->by) {
		choose_best(v);
		return 0;
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(v->by, ways[i].name) != 0)
			continue;
		int r = ways[i].make(v, e);
		v->way = ways[i].way;
		snprintf(v->unseen, sizeof(v->unseen), "--by %s does not show this",
			 v->by);
		if (r == 0 && v->way & (US_BOOT_BY_BREAKPOINTS | US_BOOT_BY_SAMPLES))
			try_events(v);
		return r;
	}
	return us_fail(e, -EINVAL, "--by %s: must be " US_BOOT_WAYS, v->by);
}

int us_boot_ways_choose(struct us_boot_variant *v, struct us_err *e)
{
	int r = choose(v, e);
	if (r == 0 && v->traced && (v->with.argv || v->stubbed || v->logged))
		v->way |= US_BOOT_BY_TRACE;
	return r;
}
