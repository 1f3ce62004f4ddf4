/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/compare.c: see cmd/boot/compare.h. */
#include "cmd/boot/compare.h"

#include "cmd/boot/list.h"
#include "cmd/boot/picture.h"
#include "cmd/boot/text.h"

#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_RUNS 10
#define MS	     1e6 /* ns */
#define NAME	     64
#define NOTE	     256

struct comparison {
	struct us_boot_list list;
	struct us_boot_side side[US_BOOT_MAX_VARIANTS];
	struct us_bar bar[US_BOOT_MAX_VARIANTS];
	char note[US_BOOT_MAX_VARIANTS][NOTE];
	char about[160];
	size_t n, n_run;
};

/* ---- The boots ---- */

/* In turn, so that changes on the host affect all variants. */
static int boot_all(struct comparison *c, const struct us_boot_compare_opts *o,
		    struct us_err *e)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		struct us_boot_variant *v = &c->list.v[i].boot;
		v->timeout_ns = o->timeout_ns;
		if (!v->by)
			v->by = o->by;
		r = us_boot_variant_prepare(v, c->n_run, e);
		if (r < 0)
			us_wrap(e, "%s", v->name);
	}
	for (size_t i = 0; r == 0 && i < c->n * c->n_run; i++) {
		us_boot_tell(i, c->n * c->n_run, o->json);
		r = us_boot_variant_boot(&c->list.v[i % c->n].boot, e);
		if (r < 0)
			us_wrap(e, "boot %zu of %zu failed", i / c->n + 1, c->n_run);
	}
	return r;
}

/* They differ if a boot failed. */
static void count_runs(const struct comparison *c, size_t *ret_least, size_t *ret_most)
{
	*ret_least = SIZE_MAX;
	*ret_most = 0;
	for (size_t i = 0; i < c->n; i++) {
		size_t n = c->list.v[i].boot.n_seen;
		*ret_least = n < *ret_least ? n : *ret_least;
		*ret_most = n > *ret_most ? n : *ret_most;
	}
}

static const char *verdict(const struct us_estimate *later)
{
	if (!later->sure)
		return "too few runs";
	if (!us_rank_differs(later))
		return "no difference";
	return later->value > 0 ? "later" : "sooner";
}

static const char *name_of(const struct comparison *c, size_t i)
{
	return c->list.v[i].boot.name;
}

/* ---- What is shown ---- */

static void make_bars(struct comparison *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct us_estimate *later = &c->side[i].later;
		c->bar[i].name = name_of(c, i);
		us_boot_bar_of_phases(&c->bar[i], &c->side[i]);
		if (!i)
			continue;
		snprintf(c->note[i], NOTE, "%+.1f ms (%+.1f to %+.1f): %s",
			 later->value / MS, later->low / MS, later->high / MS,
			 verdict(later));
		c->bar[i].note = c->note[i];
	}
}

/* Has the phase a column?  That for what is unknown is rarely needed. */
static bool shows(const struct comparison *c, int phase)
{
	bool some = phase != US_BOOT_UNKNOWN;
	for (size_t i = 0; !some && i < c->n; i++)
		some = c->side[i].has_phase[phase];
	return some;
}

static void print_row(const struct comparison *c, size_t i)
{
	const struct us_boot_side *s = &c->side[i];
	char name[NAME], range[32];
	us_printable(name, sizeof(name), name_of(c, i));
	snprintf(range, sizeof(range), "%.1f-%.1f", s->total.low / MS,
		 s->total.high / MS);
	printf("%-16.16s %8.1f  %-15s", name, s->total.value / MS, range);
	for (int k = 0; k < US_N_BOOT_PHASE; k++)
		if (s->has_phase[k])
			printf(" %8.1f", s->phase[k].value / MS);
		else if (shows(c, k))
			printf(" %8s", "-");
	printf(" %6.2f\n", s->total.value / c->side[0].total.value);
}

/* The phases that differ for sure. */
static void print_phases(const struct us_boot_side *s)
{
	bool some = false;
	for (int k = 0; k < US_N_BOOT_PHASE; k++) {
		const struct us_estimate *later = &s->later_in[k];
		if (!s->in_both[k] || !us_rank_differs(later))
			continue;
		printf("%s%s %+.1f ms (%+.1f to %+.1f)", some ? ", " : "    ",
		       us_boot_phase_name((enum us_boot_phase)k), later->value / MS,
		       later->low / MS, later->high / MS);
		some = true;
	}
	if (some)
		puts("");
}

static void print_differences(const struct comparison *c)
{
	bool few = false;
	char name[NAME];
	if (c->n < 2)
		return;
	us_printable(name, sizeof(name), name_of(c, 0));
	printf("\nLater than %s; in 95 of 100 comparisons all of these intervals "
	       "hold:\n",
	       name);
	for (size_t i = 1; i < c->n; i++) {
		us_printable(name, sizeof(name), name_of(c, i));
		printf("%-16.16s %s\n", name, c->note[i]);
		print_phases(&c->side[i]);
		few |= !c->side[i].later.sure;
	}
	if (few)
		puts("too few runs: comparing more takes more runs (-n 10)");
}

static void print_unseen(const struct comparison *c, size_t i)
{
	const struct us_boot_variant *v = &c->list.v[i].boot;
	char name[NAME];
	us_printable(name, sizeof(name), name_of(c, i));
	if (v->way == US_BOOT_BY_OUTPUT)
		printf("%s: its phases cannot be seen here: %s\n", name, v->unseen);
	else if (c->side[i].has_phase[US_BOOT_UNKNOWN])
		printf("%s: no kernel entry was seen: where its last phase before that "
		       "ends is unknown\n",
		       name);
}

static void print(const struct comparison *c, const struct us_bars *b)
{
	printf("%s\n\n%-16s %8s  %-15s", c->about, "", "total", "95 %");
	for (int k = 0; k < US_N_BOOT_PHASE; k++)
		if (shows(c, k))
			printf(" %8s", us_boot_phase_name((enum us_boot_phase)k));
	printf(" %6s\n", "ratio");
	for (size_t i = 0; i < c->n; i++)
		print_row(c, i);
	puts("");
	us_boot_print_bars(b);
	print_differences(c);
	for (size_t i = 0; i < c->n; i++)
		print_unseen(c, i);
}

static void json_difference(struct us_json *j, const char *key,
			    const struct us_estimate *later)
{
	us_json_object(j, key);
	us_boot_json_estimate(j, "later_ns", later);
	us_json_str(j, "verdict", verdict(later));
	us_json_end(j);
}

static void json_variant(struct us_json *j, const struct comparison *c, size_t i)
{
	const struct us_boot_side *s = &c->side[i];
	us_json_object(j, NULL);
	us_json_str(j, "name", name_of(c, i));
	us_json_u64(j, "runs", s->n_run);
	us_boot_json_estimate(j, "total_ns", &s->total);
	us_json_object(j, "phases_ns");
	for (int k = 0; k < US_N_BOOT_PHASE; k++)
		if (s->has_phase[k])
			us_boot_json_estimate(j,
					      us_boot_phase_name((enum us_boot_phase)k),
					      &s->phase[k]);
	us_json_end(j);
	if (i) {
		us_boot_json_estimate(j, "later_ns", &s->later);
		us_json_str(j, "verdict", verdict(&s->later));
		us_json_object(j, "phases_later");
		for (int k = 0; k < US_N_BOOT_PHASE; k++)
			if (s->in_both[k])
				json_difference(
					j, us_boot_phase_name((enum us_boot_phase)k),
					&s->later_in[k]);
		us_json_end(j);
	}
	us_json_end(j);
}

static void print_json(const struct comparison *c)
{
	size_t least, most;
	count_runs(c, &least, &most);
	struct us_json j = us_json_to(stdout);
	j.pretty = true;
	us_json_object(&j, NULL);
	us_json_u64(&j, "runs", most);
	us_json_array(&j, "variants");
	for (size_t i = 0; i < c->n; i++)
		json_variant(&j, c, i);
	us_json_end(&j);
	us_json_end(&j);
	puts("");
}

static void say_about(struct comparison *c)
{
	size_t least, most;
	char also[32] = "";
	count_runs(c, &least, &most);
	if (most > least)
		snprintf(also, sizeof(also), " or %zu", most);
	snprintf(c->about, sizeof(c->about),
		 "%zu%s boots of each in turn; medians, in ms, from launching the VMM "
		 "to the last point asked for",
		 least, also);
}

static int show(struct comparison *c, const struct us_boot_compare_opts *o,
		struct us_err *e)
{
	struct us_bars bars = { .title = "Boots, by phase",
				.about = c->about,
				.bar = c->bar,
				.n = c->n,
				.letters = us_boot_phase_letters };
	for (size_t i = 0; i < c->n; i++) {
		const struct us_boot_variant *v = &c->list.v[i].boot;
		c->side[i].plan = &v->plan;
		c->side[i].run = v->seen;
		c->side[i].n_run = v->n_seen;
	}
	if (us_boot_sides_measure(c->side, c->n) < 0)
		return us_fail(e, -ENOMEM, "out of memory");
	say_about(c);
	make_bars(c);
	if (o->json)
		print_json(c);
	else
		print(c, &bars);
	return us_boot_picture_write(o->picture, &bars, o->json, e);
}

/* What was seen before a boot failed is shown, if it is something of each variant. */
static int boot_and_show(struct comparison *c, const struct us_boot_compare_opts *o,
			 struct us_err *e)
{
	struct us_err why = { 0 };
	size_t least, most;
	int failed = boot_all(c, o, &why);
	count_runs(c, &least, &most);
	int r = failed == 0 || least ? show(c, o, e) : 0;
	if (r == 0 && failed < 0)
		*e = why;
	return r ? r : failed;
}

int us_boot_compare(const char *path, const struct us_boot_compare_opts *o,
		    struct us_err *e)
{
	struct comparison *c = calloc(1, sizeof(*c));
	if (!c)
		return us_fail(e, -ENOMEM, "out of memory");
	int r = us_boot_list_read(path, &c->list, e);
	c->n = c->list.n;
	c->n_run = o->n_run ? o->n_run : c->list.n_run ? c->list.n_run : DEFAULT_RUNS;
	if (r == 0)
		r = boot_and_show(c, o, e);
	us_boot_list_fini(&c->list);
	free(c);
	return r;
}
