/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot.c: `uniscope boot`: how long a guest takes to come to its functions. */
#include "cmd/boot/compare.h"
#include "cmd/boot/picture.h"
#include "cmd/boot/text.h"
#include "cmd/boot/variant.h"
#include "cmd/boot/ways.h"
#include "cmd/options.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RUNS     1000
#define DEFAULT_RUNS 1
#define DEFAULT_WAIT (60 * US_NS_PER_SEC)

enum {
	OPT_UNTIL = US_OPTION_LONG,
};

struct settings {
	struct us_boot_variant *variant;
	struct us_symbol_files symbols;
	const char *by;
	const char *compare; /* a file with variants; NULL: one guest */
	const char *out;     /* a picture; NULL: none */
	struct us_boot_picture picture;
	size_t n_run; /* 0: not given */
	uint64_t timeout_ns;
	bool json, no_cost, profile;
};

struct boot {
	struct settings *set;
	struct us_boot_variant *variant;
	struct us_boot_plan serial_alone;
	struct us_boot_run *alone;
	size_t n_alone;
	struct us_boot_profile profile;
};

/* ---- What the user asks for ---- */

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	struct us_boot_variant *v = s->variant;
	double number;
	if (c == OPT_UNTIL) {
		if (v->n_until == US_BOOT_MAX_UNTIL) {
			us_usage(&us_cmd_boot, "--until: at most %d",
				 US_BOOT_MAX_UNTIL);
			return false;
		}
		v->until[v->n_until++] = value;
		return strncmp(value, US_BOOT_TEXT_IS, strlen(US_BOOT_TEXT_IS)) != 0 ||
		       us_is_regex_in(&us_cmd_boot, "--until", value,
				      value + strlen(US_BOOT_TEXT_IS));
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
	s->timeout_ns = DEFAULT_WAIT;
	if (!us_options_read(&o, ret_exit))
		return false;
	s->variant->asked.argv = o.rest;
	if (s->by && !us_boot_ways_has(s->by))
		*ret_exit = us_usage(o.cmd, "--by %s: must be " US_BOOT_WAYS, s->by);
	else if (s->compare && (o.n_rest || s->variant->n_until))
		*ret_exit = us_usage(o.cmd, "--compare: leave out --until and the "
					    "command: the file has both");
	else if (s->compare && s->profile)
		*ret_exit = us_usage(o.cmd,
				     "--profile is of one guest: leave --compare "
				     "out, and profile its variants one by one");
	else if (!s->compare && !(o.command && o.n_rest))
		*ret_exit = us_usage(o.cmd, "-- and a command that starts a VMM");
	else
		return true;
	return false;
}

/* ---- The runs ---- */

/* With and without the observer in turn, so that changes on the host affect both. */
static int boot_all(struct boot *b, struct us_err *e)
{
	const struct settings *s = b->set;
	struct us_boot_variant *v = b->variant;
	bool compare = !s->no_cost && v->way != US_BOOT_BY_OUTPUT;
	size_t serial = us_boot_point_of(&v->plan, US_BOOT_SERIAL);
	size_t i = 0;
	int r = 0;
	for (; r == 0 && i < s->n_run; i++) {
		us_boot_tell(i, s->n_run, s->json);
		r = us_boot_variant_boot(v, e);
		if (r < 0 || !compare || !v->seen[i].at[serial].seen)
			continue;
		struct us_boot_run *alone = &b->alone[b->n_alone];
		r = us_boot_variant_boot_alone(v, &b->serial_alone, alone, e);
		b->n_alone += r == 0 && alone->whole;
	}
	if (r < 0 && s->n_run > 1)
		us_wrap(e, "boot %zu of %zu failed", i, s->n_run);
	return r;
}

static int show_picture(const struct boot *b, const struct us_boot_report *r,
			struct us_err *e)
{
	char about[128];
	struct us_bar bar = { .name = "boot" };
	const struct us_bars bars = { .title = "A boot, by its points",
				      .about = about,
				      .bar = &bar,
				      .n = 1,
				      .letters = us_boot_point_letters };
	us_boot_bar_of_points(&bar, r->plan, &r->summary);
	snprintf(about, sizeof(about),
		 "%s, %zu run%s; medians, in ms; each part ends with the point that "
		 "names it",
		 r->vmm, r->n, r->n == 1 ? "" : "s");
	if (!b->set->json)
		us_boot_print_bars(&bars);
	return us_boot_picture_write(&b->set->picture, &bars, b->set->json, e);
}

static int show(const struct boot *b, struct us_err *e)
{
	struct us_boot_variant *v = b->variant;
	struct us_boot_report r = { .plan = &v->plan,
				    .run = v->seen,
				    .n = v->n_seen,
				    .vmm = v->vmm,
				    .way = v->way,
				    .emulated = us_boot_ways_is_emulated(v),
				    .unseen = v->unseen,
				    .unseen_kvm = v->unseen_kvm,
				    .unseen_code = v->unseen_code,
				    .unseen_device = v->unseen_device,
				    .device = v->device,
				    .n_device = v->n_device,
				    .first = v->first,
				    .n_alone = b->n_alone,
				    .profile = b->set->profile ? &b->profile : NULL };
	size_t n, with = us_boot_point_of(&v->plan, US_BOOT_SERIAL), without = 1;
	int code = us_boot_summarize(&v->plan, v->seen, r.n, &r.summary);
	if (code == 0)
		code = us_boot_difference(b->alone, b->n_alone, without, v->seen, r.n,
					  with, &r.cost);
	if (code == 0)
		code = us_boot_span(b->alone, b->n_alone, 0, without, &r.alone, &n);
	if (code < 0)
		return us_fail(e, code, "out of memory");
	if (b->set->json)
		us_boot_print_json(&r);
	else
		us_boot_print(&r);
	code = show_picture(b, &r, e);
	if (code == 0 && r.profile && !b->set->json)
		code = us_boot_profile_print(r.profile, &r.summary, e);
	return code;
}

/* Ends with the first byte. */
static void plan_serial(struct us_boot_plan *p)
{
	p->n = 2;
	p->point[0] = (struct us_boot_point){ .kind = US_BOOT_LAUNCH };
	p->point[1] = (struct us_boot_point){ .kind = US_BOOT_SERIAL, .wanted = true };
}

static int profile(struct boot *b, struct us_err *e)
{
	struct us_err sink;
	int r = us_boot_profile_run(&b->profile, b->variant, e);
	if (r == 0)
		r = us_boot_variant_check(b->variant, &b->profile.run, e);
	if (r == 0 || !b->profile.made)
		return r;
	if (!b->set->json)
		(void)!us_boot_profile_print(&b->profile, NULL, &sink);
	(void)!us_boot_profile_save(&b->profile, b->set->json, &sink);
	return r;
}

/* The boots before one that fails or is stopped are worth seeing, too. */
static int boot_and_show(struct boot *b, struct us_err *e)
{
	struct us_err why = { 0 };
	int failed = boot_all(b, &why), r = 0;
	if (failed < 0 && !b->variant->n_seen) {
		*e = why;
		return failed;
	}
	r = show(b, e);
	if (r == 0 && b->set->profile)
		r = us_boot_profile_save(&b->profile, b->set->json, e);
	if (r == 0 && failed < 0)
		*e = why;
	return r ? r : failed;
}

static int boot_one(struct boot *b, struct us_err *e)
{
	const struct settings *s = b->set;
	plan_serial(&b->serial_alone);
	b->alone = calloc(s->n_run, sizeof(*b->alone));
	int r = b->alone ? us_boot_variant_prepare(b->variant, s->n_run, e)
			 : us_fail(e, -ENOMEM, "out of memory");
	/* First: the profile is all there is to see of a guest that reaches no
	 * point. */
	if (r == 0 && s->profile)
		r = profile(b, e);
	if (r == 0)
		r = boot_and_show(b, e);
	free(b->alone);
	return r;
}

static int run_boot(int argc, char **argv)
{
	static struct us_boot_variant one;
	static struct settings s = { .variant = &one };
	static struct boot b = { .set = &s, .variant = &one };
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	us_plugin_run_catch_signals();
	one.asked.symbols = &s.symbols;
	one.timeout_ns = s.timeout_ns;
	one.by = s.by;
	int r = s.profile ? us_boot_profile_open(&b.profile, s.out, &e)
			  : us_boot_picture_open(&s.picture, s.out, &e);
	if (r < 0) {
		us_complain(&e);
		return r == -EINVAL ? US_EXIT_USAGE : us_exit_code(r);
	}
	if (s.compare) {
		const struct us_boot_compare_opts o = { .n_run = s.n_run,
							.timeout_ns = s.timeout_ns,
							.by = s.by,
							.json = s.json,
							.picture = &s.picture };
		r = us_boot_compare(s.compare, &o, &e);
	} else {
		s.n_run = s.n_run ? s.n_run : DEFAULT_RUNS;
		r = boot_one(&b, &e);
	}
	us_boot_picture_close(&s.picture);
	us_boot_profile_close(&b.profile);
	us_boot_variant_fini(&one);
	if (r < 0)
		us_complain(&e);
	return us_exit_code(r);
}

static const struct us_option options[] = {
	{ OPT_UNTIL, "until", "POINT",
	  "a function, serial:REGEX or first-idle; repeatable", US_OWN },
	{ 'n', "runs", "N", "boot N times (1; with --compare 10)", US_OWN },
	{ 't', "timeout", "TIME", "give a boot up after this time (60s)",
	  US_TIME(struct settings, timeout_ns) },
	US_SYMBOL_ROWS(struct settings, symbols),
	{ 0, "by", "WAY",
	  "how to see the points: plugin, log, breakpoints, samples, kvm, output",
	  US_TEXT(struct settings, by) },
	{ 0, "compare", "FILE", "boot the variants of this JSON file in turn",
	  US_TEXT(struct settings, compare) },
	{ 0, "profile", NULL,
	  "where the time goes, by phase and function: one more boot",
	  US_FLAG(struct settings, profile) },
	{ 'o', "output", "FILE",
	  "write a picture (.html, .svg), or the profile (as report -o)",
	  US_TEXT(struct settings, out) },
	{ 0, "no-cost", NULL, "leave out the boots that measure what watching costs",
	  US_FLAG(struct settings, no_cost) },
	{ 0, "json", NULL, "print JSON, with each run",
	  US_FLAG(struct settings, json) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope boot -- qemu-system-x86_64 -M microvm -kernel k.elf\0"
	"from launching QEMU to the kernel's first function, and what follows",
	"uniscope boot -n 10 --until tcp_init -- qemu-system-x86_64 -kernel k.elf\0"
	"ten boots, until this function",
	"uniscope boot --until start_kernel -- qemu-system-x86_64 -kernel vmlinuz\0"
	"Linux, from its image alone, also with KASLR",
	"uniscope boot --until 'serial:^login:' -- qemu-system-x86_64 disk.img\0"
	"until the guest writes that",
	"uniscope boot --profile -o boot.html -- qemu-system-x86_64 -kernel k.elf\0"
	"where the time goes: a flame graph, by phase of the boot",
	"uniscope boot --compare variants.json -n 10\0"
	"which variant boots faster, and where the time goes",
	"uniscope boot --compare variants.json -o boots.html\0"
	"the same, and a page with stacked bars",
	NULL,
};

const struct us_cmd us_cmd_boot = {
	.name = "boot",
	.args = "[OPTIONS] {-- VMM ARGS... | --compare FILE}",
	.summary = "time a guest's boot, from launching its VMM to a function",
	.options = options,
	.examples = examples,
	.run = run_boot,
};
