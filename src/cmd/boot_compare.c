/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_compare.c: see boot_compare.h. */
#include "cmd/boot_compare.h"

#include "cmd/boot_text.h"
#include "cmd/boot_variant.h"

#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARIANTS 16
#define MAX_ARGS     256
#define MAX_RUNS     1000
#define DEFAULT_RUNS 10
#define MS	     1e6 /* ns */
#define BAR	     60	 /* columns of the longest */

/* What all variants are compared by, whatever boots them. */
enum phase { VMM, FIRMWARE, LOADER, KERNEL, N_PHASE };
static const struct {
	const char *name;
	char letter; /* of the bar */
} phases[N_PHASE] = {
	{ "VMM", 'v' }, { "firmware", 'f' }, { "loader", 'l' }, { "kernel", 'k' }
};

struct variant {
	struct us_boot_variant boot;
	struct us_symbol_files symbols;
	char *argv[MAX_ARGS + 1]; /* the file's texts */
	struct us_estimate phase[N_PHASE], total;
	bool has_phase[N_PHASE];
	struct us_estimate later; /* than the first variant */
};

struct comparison {
	json_t *file;
	const char *path;
	struct variant *v;
	size_t n, n_run;
};

/* ---- The file ---- */

static int mistake(const struct comparison *c, size_t variant, const char *key,
		   const char *what, struct us_err *e)
{
	return us_fail(e, -EINVAL, "%s: variant %zu, %s: %s", c->path, variant + 1, key,
		       what);
}

/* Texts of a list, n at most; -EINVAL: it is none. */
static int read_list(const json_t *list, const char **ret, size_t most, size_t *ret_n)
{
	size_t n = json_array_size(list);
	*ret_n = 0;
	if (!list)
		return 0;
	if (!json_is_array(list) || n > most)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		ret[i] = json_string_value(json_array_get(list, i));
		if (!ret[i])
			return -EINVAL;
	}
	*ret_n = n;
	return 0;
}

static int check_keys(const struct comparison *c, const json_t *object, size_t variant,
		      struct us_err *e)
{
	static const char *const known[] = { "name", "command", "until", "elf" };
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		bool good = false;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			good |= !strcmp(key, known[i]);
		if (!good)
			return mistake(
				c, variant, key,
				"no such key; keys are: name, command, until, elf", e);
	}
	return 0;
}

static int read_variant(struct comparison *c, const json_t *object, size_t i,
			struct us_err *e)
{
	struct variant *v = &c->v[i];
	const char *argv[MAX_ARGS];
	size_t n;
	int r = json_is_object(object)
			? check_keys(c, object, i, e)
			: mistake(c, i, "variants", "must be objects", e);
	if (r < 0)
		return r;
	v->boot.name = json_string_value(json_object_get(object, "name"));
	if (!v->boot.name)
		return mistake(c, i, "name", "must be a text", e);
	if (read_list(json_object_get(object, "command"), argv, MAX_ARGS, &n) || !n)
		return mistake(c, i, "command", "must be a list of texts", e);
	for (size_t k = 0; k < n; k++)
		v->argv[k] = (char *)(uintptr_t)argv[k];
	if (read_list(json_object_get(object, "until"), v->boot.until,
		      US_BOOT_MAX_UNTIL, &v->boot.n_until))
		return mistake(c, i, "until", "must be a list of texts", e);
	if (read_list(json_object_get(object, "elf"), v->symbols.image, US_MAX_IMAGES,
		      &v->symbols.n_image))
		return mistake(c, i, "elf", "must be a list of texts", e);
	v->boot.asked.argv = v->argv;
	v->boot.asked.symbols = &v->symbols;
	return 0;
}

static int read_runs(struct comparison *c, const struct us_boot_compare_opts *o,
		     struct us_err *e)
{
	const json_t *runs = json_object_get(c->file, "runs");
	json_int_t n = runs ? json_integer_value(runs) : DEFAULT_RUNS;
	if (n < 1 || n > MAX_RUNS)
		return us_fail(e, -EINVAL, "%s: runs: must be a number from 1 to %d",
			       c->path, MAX_RUNS);
	c->n_run = o->n_run ? o->n_run : (size_t)n;
	return 0;
}

static int read_file(struct comparison *c, const struct us_boot_compare_opts *o,
		     struct us_err *e)
{
	json_error_t where;
	c->file = json_load_file(c->path, JSON_REJECT_DUPLICATES, &where);
	if (!c->file && where.line > 0)
		return us_fail(e, -EINVAL, "%s, line %d: %s", c->path, where.line,
			       where.text);
	if (!c->file)
		return us_fail(e, -EINVAL, "%s: %s", c->path, where.text);
	const json_t *list = json_object_get(c->file, "variants");
	c->n = json_array_size(list);
	if (c->n < 1 || c->n > MAX_VARIANTS)
		return us_fail(e, -EINVAL,
			       "%s: variants: must be a list of 1 to %d objects",
			       c->path, MAX_VARIANTS);
	c->v = calloc(c->n, sizeof(*c->v));
	if (!c->v)
		return us_fail(e, -ENOMEM, "out of memory for %zu variants", c->n);
	int r = read_runs(c, o, e);
	for (size_t i = 0; r == 0 && i < c->n; i++)
		r = read_variant(c, json_array_get(list, i), i, e);
	return r;
}

/* ---- The boots ---- */

/* In turn: what changes on the host changes all. */
static int boot_all(struct comparison *c, const struct us_boot_compare_opts *o,
		    struct us_err *e)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		c->v[i].boot.timeout_ns = o->timeout_ns;
		r = us_boot_variant_prepare(&c->v[i].boot, c->n_run, e);
		if (r < 0)
			us_wrap(e, "%s", c->v[i].boot.name);
	}
	for (size_t i = 0; r == 0 && i < c->n * c->n_run; i++) {
		us_boot_tell(i, c->n * c->n_run, o->json);
		r = us_boot_variant_boot(&c->v[i % c->n].boot, e);
	}
	return r;
}

/* The points that bound a phase, as far as the plan has them. */
static size_t begin_of(const struct us_boot_plan *p, enum phase phase)
{
	static const enum us_boot_kind begin[N_PHASE] = { US_BOOT_LAUNCH, US_BOOT_START,
							  US_BOOT_SECTOR,
							  US_BOOT_ENTRY };
	return us_boot_point_of(p, begin[phase]);
}

static bool was_passed(const struct us_boot_variant *v, size_t point)
{
	for (size_t i = 0; i < v->n_seen; i++)
		if (point == SIZE_MAX || !v->seen[i].at[point].seen)
			return false;
	return true;
}

/* A phase ends where the next one begins that all runs have come to. */
static int measure_phases(struct variant *v)
{
	const struct us_boot_variant *b = &v->boot;
	size_t goal = us_boot_goal(&b->plan), n;
	int r = us_boot_span(b->seen, b->n_seen, 0, goal, &v->total, &n);
	for (int i = 0; r == 0 && i < N_PHASE; i++) {
		size_t from = begin_of(&b->plan, (enum phase)i), to = goal;
		v->has_phase[i] = was_passed(b, from);
		if (!v->has_phase[i])
			continue;
		for (int k = N_PHASE - 1; k > i; k--) {
			size_t next = begin_of(&b->plan, (enum phase)k);
			if (was_passed(b, next))
				to = next;
		}
		r = us_boot_span(b->seen, b->n_seen, from, to, &v->phase[i], &n);
	}
	return r;
}

static int measure(struct comparison *c, struct us_err *e)
{
	const struct us_boot_variant *first = &c->v[0].boot;
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		const struct us_boot_variant *b = &c->v[i].boot;
		r = measure_phases(&c->v[i]);
		if (r == 0)
			r = us_boot_difference(first->seen, first->n_seen,
					       us_boot_goal(&first->plan), b->seen,
					       b->n_seen, us_boot_goal(&b->plan),
					       &c->v[i].later);
	}
	return r < 0 ? us_fail(e, r, "out of memory") : 0;
}

/* ---- What is shown ---- */

static const char *verdict(const struct variant *v)
{
	if (!v->later.sure)
		return "too few runs";
	if (!us_rank_differs(&v->later))
		return "no difference";
	return v->later.value > 0 ? "later" : "sooner";
}

static void print_row(const struct comparison *c, size_t i)
{
	const struct variant *v = &c->v[i];
	char name[64], range[32];
	us_printable(name, sizeof(name), v->boot.name);
	snprintf(range, sizeof(range), "%.1f-%.1f", v->total.low / MS,
		 v->total.high / MS);
	printf("%-16.16s %8.1f  %-15s", name, v->total.value / MS, range);
	for (int k = 0; k < N_PHASE; k++)
		if (v->has_phase[k])
			printf(" %8.1f", v->phase[k].value / MS);
		else
			printf(" %8s", "-");
	printf(" %6.2f\n", v->total.value / c->v[0].total.value);
}

/* "vvvvfffffk": as long as the variant's time, by the longest. */
static void print_bar(const struct variant *v, double longest)
{
	char name[64];
	double until = 0;
	int at = 0;
	us_printable(name, sizeof(name), v->boot.name);
	printf("%-16.16s ", name);
	for (int k = 0; k < N_PHASE; k++) {
		until += v->has_phase[k] ? v->phase[k].value : 0;
		for (; at < until / longest * BAR; at++)
			putchar(phases[k].letter);
	}
	puts("");
}

static void print_difference(const struct comparison *c, size_t i)
{
	const struct variant *v = &c->v[i];
	char name[64];
	us_printable(name, sizeof(name), v->boot.name);
	printf("%-16.16s %+.1f ms, 95 %%: %+.1f to %+.1f: %s\n", name,
	       v->later.value / MS, v->later.low / MS, v->later.high / MS, verdict(v));
}

static void print(const struct comparison *c)
{
	double longest = 1;
	printf("%zu boots of each in turn; medians, in ms, until the last point that "
	       "is "
	       "wanted\n\n",
	       c->n_run);
	printf("%-16s %8s  %-15s", "", "total", "95 %");
	for (int k = 0; k < N_PHASE; k++)
		printf(" %8s", phases[k].name);
	printf(" %6s\n", "ratio");
	for (size_t i = 0; i < c->n; i++) {
		print_row(c, i);
		if (c->v[i].total.value > longest)
			longest = c->v[i].total.value;
	}
	puts("");
	for (size_t i = 0; i < c->n; i++)
		print_bar(&c->v[i], longest);
	puts("");
	for (size_t i = 1; i < c->n; i++)
		print_difference(c, i);
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].boot.way == US_BOOT_BY_OUTPUT)
			printf("%s: its phases cannot be seen here: %s\n",
			       c->v[i].boot.name, c->v[i].boot.unseen);
}

static void json_variant(struct us_json *j, const struct variant *v)
{
	us_json_object(j, NULL);
	us_json_str(j, "name", v->boot.name);
	us_boot_json_estimate(j, "total_ns", &v->total);
	us_json_object(j, "phases_ns");
	for (int k = 0; k < N_PHASE; k++)
		if (v->has_phase[k])
			us_boot_json_estimate(j, phases[k].name, &v->phase[k]);
	us_json_end(j);
	us_boot_json_estimate(j, "later_ns", &v->later);
	us_json_str(j, "verdict", verdict(v));
	us_json_end(j);
}

static void print_json(const struct comparison *c)
{
	struct us_json j = us_json_to(stdout);
	j.pretty = true;
	us_json_object(&j, NULL);
	us_json_u64(&j, "runs", c->n_run);
	us_json_array(&j, "variants");
	for (size_t i = 0; i < c->n; i++)
		json_variant(&j, &c->v[i]);
	us_json_end(&j);
	us_json_end(&j);
	puts("");
}

int us_boot_compare(const char *path, const struct us_boot_compare_opts *o,
		    struct us_err *e)
{
	struct comparison c = { .path = path };
	int r = read_file(&c, o, e);
	if (r == 0)
		r = boot_all(&c, o, e);
	if (r == 0)
		r = measure(&c, e);
	if (r == 0)
		(o->json ? print_json : print)(&c);
	for (size_t i = 0; i < c.n && c.v; i++)
		us_boot_variant_fini(&c.v[i].boot);
	free(c.v);
	json_decref(c.file);
	return r;
}
