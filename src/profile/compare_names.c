/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/compare_names.c: which functions of several profiles are the same one.
 *
 * The names that a profile shows tell its own functions apart.  They depend on which of
 * them it has samples of, and may have addresses.  So functions are matched by what
 * another recording and another build have too: name, image, file of the declaration.
 */
#include "profile/compare_priv.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/vec.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UNNAMED "[code without a name]"
#define BOTH	3 /* a bit for each side */

/* A function of one profile, and what it is matched by; "": nothing. */
struct entry {
	const char *base, *name; /* name: with the types of parameters, in Pascal */
	const char *module, *file, *path;
	const char *rust; /* us_name_rust_path(); "": no Rust function */
	bool rust_v0;
	const struct us_profile_func *func;
	uint32_t index; /* of func */
	unsigned side, run;
};

struct entries {
	struct entry *v;
	size_t n;
	struct {
		char **v;
		size_t n, cap;
	} texts;
};

static int by_module(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->module,
		      ((const struct entry *)b)->module);
}

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = strcmp(x->base, y->base);
	c = c ? c : strcmp(x->name, y->name);
	c = c ? c : strcmp(x->module, y->module);
	c = c ? c : strcmp(x->file, y->file);
	c = c ? c : strcmp(x->path, y->path);
	c = c ? c : (x->side > y->side) - (x->side < y->side);
	c = c ? c : (x->run > y->run) - (x->run < y->run);
	return c ? c : (x->index > y->index) - (x->index < y->index);
}

/* Unlike the other things that a symbol's own name may have, the types of parameters
 * are the same in each build. */
static bool add_types(struct entries *all, struct entry *x)
{
	char text[US_DEMANGLED_MAX];
	size_t len = strlen(x->base);
	if (x->func->raw == x->func->base ||
	    !us_demangle(x->func->raw, US_NAME_LONG, text, sizeof(text)) ||
	    strncasecmp(text, x->base, len) != 0 || text[len] != '(')
		return true;
	char **slot = us_vec_push(&all->texts), *name;
	if (slot)
		*slot = NULL;
	if (!slot || asprintf(&name, "%s%s", x->base, text + len) < 0)
		return false;
	x->name = *slot = name;
	return true;
}

static const char *keep(struct entries *all, const char *text)
{
	char **slot = us_vec_push(&all->texts);
	if (slot)
		*slot = strdup(text);
	return slot ? *slot : NULL;
}

static const char *name_in_all_builds(struct entries *all, const char *name)
{
	char text[US_DEMANGLED_MAX];
	return us_name_of_all_builds(name, text, sizeof(text)) ? keep(all, text) : name;
}

static bool take_without_case(void *ctx, const char *name, bool any_case)
{
	if (any_case)
		snprintf(ctx, US_DEMANGLED_MAX, "%s", name);
	return any_case;
}

/* In a language without case, the name may be spelled as in the source, or not: that
 * depends on the DWARF of the build.  The symbol is spelled the same in all. */
static const char *name_to_match_by(struct entries *all,
				    const struct us_profile_func *f)
{
	char text[US_DEMANGLED_MAX];
	const char *name = f->base;
	if (f->raw != f->base && us_name_is(f->raw, take_without_case, text) &&
	    !strcasecmp(text, f->base))
		name = keep(all, text);
	return name ? name_in_all_builds(all, name) : NULL;
}

/* As the source spells it, if the profile of the entry does. */
static char *spelled(char *name, const struct entry *x)
{
	const char *base = x->func->base, *dot = strrchr(base, '.');
	if (name)
		us_demangled_case(name, dot ? dot + 1 : base);
	return name;
}

static bool add_rust_path(struct entries *all, struct entry *x)
{
	char text[US_DEMANGLED_MAX];
	if (us_name_rust_path(x->func->raw, x->base, text, sizeof(text), &x->rust_v0))
		x->rust = keep(all, text);
	return x->rust != NULL;
}

/* Or are there no images, so that all may be code of one? */
static bool is_in_image(const struct us_profile *p, us_gva at)
{
	size_t n;
	const struct us_profile_module *v = us_profile_modules(p, &n);
	for (size_t i = 0; i < n; i++)
		if (at >= v[i].m.start && at < v[i].m.end)
			return true;
	return !n;
}

/* An address identifies code only within one build, and only in its images: programs,
 * modules and code that is made at run time are elsewhere in each run. */
static bool describe(const struct us_comparer *c, struct entries *all, struct entry *x)
{
	const struct us_profile_func *f = x->func;
	x->module = x->file = x->path = x->rust = "";
	if (!f->known) {
		bool named = f->name[0] == '[' ||
			     (c->same_build &&
			      is_in_image(c->side[x->side]->v[x->run], f->start));
		x->base = named ? f->name : UNNAMED;
		x->name = x->base;
		return true;
	}
	x->base = x->name = name_to_match_by(all, f);
	if (!x->base)
		return false;
	x->module = f->module ? f->module : "";
	if (f->decl_file) {
		const char *slash = strrchr(f->decl_file, '/');
		x->file = slash ? slash + 1 : f->decl_file;
		x->path = f->decl_file;
	}
	return add_rust_path(all, x) && add_types(all, x);
}

static int collect(struct us_comparer *c, struct entries *all)
{
	size_t n = 0, n_func;
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < c->side[side]->n; i++) {
			us_profile_funcs(c->side[side]->v[i], &n_func);
			n += n_func;
		}
	all->v = calloc(n + 1, sizeof(*all->v));
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < c->side[side]->n && all->v; i++) {
			const struct us_profile_func *f = us_profile_funcs(
				c->side[side]->v[i], &n_func);
			c->number[side][i] = calloc(n_func + 1, sizeof(uint32_t));
			if (!c->number[side][i])
				return -ENOMEM;
			for (uint32_t k = 0; k < n_func; k++) {
				struct entry *x = &all->v[all->n++];
				*x = (struct entry){ .func = &f[k],
						     .index = k,
						     .side = side,
						     .run = i };
				if (!describe(c, all, x))
					return -ENOMEM;
			}
		}
	return all->v ? 0 : -ENOMEM;
}

static unsigned sides_of(const struct entry *v, size_t n)
{
	unsigned sides = 0;
	for (size_t i = 0; i < n; i++)
		sides |= 1U << v[i].side;
	return sides;
}

/* The image of another build may have another name. */
static void drop_modules_of_one_side(struct entries *all)
{
	qsort(all->v, all->n, sizeof(*all->v), by_module);
	for (size_t from = 0, to; from < all->n; from = to) {
		for (to = from + 1; to < all->n; to++)
			if (by_module(&all->v[from], &all->v[to]) != 0)
				break;
		bool one = sides_of(&all->v[from], to - from) != BOTH;
		for (size_t i = from; one && i < to; i++)
			all->v[i].module = "";
	}
}

static int by_rust_path(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = strcmp(x->rust, y->rust);
	c = c ? c : (x->side > y->side) - (x->side < y->side);
	return c ? c : (x->run > y->run) - (x->run < y->run);
}

/* One side mangles in the older way, the other in the newer, and no profile has two
 * functions of this path? */
static bool is_one_function(const struct entry *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		bool same_side = v[i].side == v[i - 1].side;
		bool same_way = v[i].rust_v0 == v[i - 1].rust_v0;
		if (same_side != same_way ||
		    (same_side && (v[i].run == v[i - 1].run ||
				   strcmp(v[i].base, v[i - 1].base) != 0)))
			return false;
	}
	return sides_of(v, n) == BOTH;
}

/* The newer way to mangle Rust's names has the types of an instance, the older a hash
 * that is not shown. */
static void match_rust_paths(struct entries *all)
{
	qsort(all->v, all->n, sizeof(*all->v), by_rust_path);
	for (size_t from = 0, to; from < all->n; from = to) {
		for (to = from + 1; to < all->n; to++)
			if (strcmp(all->v[to].rust, all->v[from].rust) != 0)
				break;
		if (all->v[from].rust[0] && is_one_function(all->v + from, to - from))
			for (size_t i = from; i < to; i++)
				all->v[i].base = all->v[i].name = all->v[i].rust;
	}
}

/* Where namesakes of one image end. */
static size_t end_of(const struct entries *all, size_t from)
{
	const struct entry *x = &all->v[from];
	size_t to = from + 1;
	while (to < all->n && !strcmp(all->v[to].base, x->base) &&
	       !strcmp(all->v[to].name, x->name) &&
	       !strcmp(all->v[to].module, x->module))
		to++;
	return to;
}

static void number(struct us_comparer *c, const struct entry *x, uint32_t number)
{
	c->number[x->side][x->run][x->index] = number;
}

/* Of files of one name: their folders distinguish them if both sides were built in the
 * same ones.  Else they are taken for one. */
static uint32_t number_files(struct us_comparer *c, const struct entry *v, size_t n,
			     uint32_t next)
{
	bool comparable = false;
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && !strcmp(v[to].path, v[from].path);)
			to++;
		comparable |= sides_of(v + from, to - from) == BOTH;
	}
	for (size_t i = 0; i < n; i++) {
		next += comparable && i && strcmp(v[i].path, v[i - 1].path) != 0;
		number(c, &v[i], next);
	}
	return next + 1;
}

static uint32_t number_same(struct us_comparer *c, const struct entry *v, size_t n,
			    uint32_t next)
{
	for (size_t i = 0; i < n; i++)
		number(c, &v[i], next);
	return next + 1;
}

static size_t end_of_file(const struct entry *v, size_t n, size_t from)
{
	size_t to = from + 1;
	while (to < n && !strcmp(v[to].file, v[from].file))
		to++;
	return to;
}

/* Of the namesakes whose file's name only one side has, those of one side are taken for
 * those of the other: the file was renamed, or the compiler has made the name up, as in
 * "ccAU1K5O.o". */
static uint32_t number_namesakes(struct us_comparer *c, const struct entry *v, size_t n,
				 uint32_t next)
{
	unsigned sides, left = 0;
	size_t from, to;
	for (from = 0; from < n; from = to) {
		to = end_of_file(v, n, from);
		sides = sides_of(v + from, to - from);
		left |= sides == BOTH ? 0 : sides;
	}
	uint32_t renamed = next;
	next += left == BOTH;
	for (from = 0; from < n; from = to) {
		to = end_of_file(v, n, from);
		if (left == BOTH && sides_of(v + from, to - from) != BOTH)
			number_same(c, v + from, to - from, renamed);
		else
			next = number_files(c, v + from, to - from, next);
	}
	return next;
}

/* If the file of one namesake is not known, any of them may be the same function. */
static uint32_t number_all(struct us_comparer *c, const struct entries *all)
{
	uint32_t next = 0;
	for (size_t from = 0, to; from < all->n; from = to) {
		const struct entry *v = all->v + from;
		to = end_of(all, from);
		if (v[0].file[0]) /* "" comes first */
			next = number_namesakes(c, v, to - from, next);
		else
			next = number_same(c, v, to - from, next);
	}
	return next;
}

/* --- as they are shown --- */

typedef const char *teller(const struct entry *x);

static const char *tell_file(const struct entry *x)
{
	return x->file;
}

static const char *tell_module(const struct entry *x)
{
	return x->func->module ? x->func->module : "";
}

static const char *tell_path(const struct entry *x)
{
	return x->func->path ? x->func->path : "";
}

static const char *tell_whole_path(const struct entry *x)
{
	return x->path;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Does it say something else of each?  text: room for n. */
static bool tells_apart(const struct entry *const *v, size_t n, teller *tell,
			const char **text)
{
	for (size_t i = 0; i < n; i++) {
		text[i] = tell(v[i]);
		if (!text[i][0])
			return false;
	}
	qsort(text, n, sizeof(*text), by_text);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(text[i - 1], text[i]))
			return false;
	return true;
}

static int label(struct us_compare_names *names, const struct entry *const *v, size_t n)
{
	static teller *const tellers[] = { tell_file, tell_module, tell_path,
					   tell_whole_path };
	_cleanup_free_ const char **text = calloc(n, sizeof(*text));
	size_t kind = 0, kinds = sizeof(tellers) / sizeof(tellers[0]);
	if (!text)
		return -ENOMEM;
	while (kind < kinds && !tells_apart(v, n, tellers[kind], text))
		kind++;
	for (size_t i = 0; i < n; i++) {
		char *name;
		int len = kind < kinds ? asprintf(&name, "%s (%s)", v[i]->name,
						  tellers[kind](v[i]))
				       : asprintf(&name, "%s (%s %s)", v[i]->name,
						  tell_module(v[i]), tell_path(v[i]));
		if (len < 0)
			return -ENOMEM;
		names->v[names->n++] = spelled(name, v[i]);
	}
	return 0;
}

/* Those of one base name. */
static int show(struct us_compare_names *names, const struct entry *const *v, size_t n)
{
	int rc = 0;
	for (size_t from = 0, to; from < n && !rc; from = to) {
		for (to = from + 1; to < n && !strcmp(v[to]->name, v[from]->name);)
			to++;
		if (to - from > 1) {
			rc = label(names, v + from, to - from);
			continue;
		}
		char *name = spelled(strdup(n == 1 ? v[from]->base : v[from]->name),
				     v[from]);
		if (!name)
			return -ENOMEM;
		names->v[names->n++] = name;
	}
	return rc;
}

static int show_all(struct us_comparer *c, const struct entries *all, uint32_t n)
{
	_cleanup_free_ const struct entry **of = calloc(n + 1, sizeof(*of));
	int rc = 0;
	c->names.v = calloc(n + 1, sizeof(*c->names.v));
	if (!of || !c->names.v)
		return -ENOMEM;
	for (size_t i = 0; i < all->n; i++) {
		const struct entry *x = &all->v[i];
		of[c->number[x->side][x->run][x->index]] = x;
	}
	for (uint32_t from = 0, to; from < n && !rc; from = to) {
		for (to = from + 1; to < n && !strcmp(of[to]->base, of[from]->base);)
			to++;
		rc = show(&c->names, of + from, to - from);
	}
	return rc;
}

int us_compare_number(struct us_comparer *c)
{
	struct entries all = { 0 };
	int rc = collect(c, &all);
	if (!rc && all.n) {
		drop_modules_of_one_side(&all);
		match_rust_paths(&all);
		qsort(all.v, all.n, sizeof(*all.v), by_key);
		rc = show_all(c, &all, number_all(c, &all));
	}
	for (size_t i = 0; i < all.texts.n; i++)
		free(all.texts.v[i]);
	free(all.texts.v);
	free(all.v);
	if (rc) {
		us_compare_names_fini(&c->names);
		us_compare_number_fini(c);
	}
	return rc;
}

/* --- as a user calls them --- */

/* An address is no name of the same code in another build. */
static bool is_called(const struct us_profile_func *f, const char *word)
{
	return f->total && f->known &&
	       (!strcmp(f->name, word) || !strcmp(f->base, word) ||
		!strcmp(f->raw, word));
}

/* Mark the numbers of a recording's functions that are called so. */
static void mark_called(const struct us_comparer *c, unsigned side, unsigned run,
			const char *word, bool *called)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(c->side[side]->v[run], &n);
	for (size_t i = 0; i < n; i++)
		if (is_called(&f[i], word))
			called[c->number[side][run][i]] = true;
}

static int choose_called(const struct us_comparer *c, const char *word,
			 const bool *called, uint32_t *ret, struct us_err *e)
{
	struct us_nearest all = us_nearest_to(word), several = us_nearest_to(word);
	char question[64];
	for (uint32_t k = 0; k < c->names.n; k++) {
		us_nearest_try(&all, c->names.v[k]);
		if (!called[k])
			continue;
		us_nearest_try(&several, c->names.v[k]);
		*ret = k;
	}
	if (several.n == 1)
		return 0;
	if (!several.n)
		return us_fail(e, -EINVAL, "--per %s: no sample has such a function%s",
			       word,
			       us_nearest_question(&all, question, sizeof(question)));
	us_fail(e, -EINVAL, "--per %s: %u functions are called so", word, several.n);
	us_hint(e, "choose one of them: %s", several.list);
	return -EINVAL;
}

int us_compare_named(const struct us_comparer *c, const char *word, uint32_t *ret,
		     struct us_err *e)
{
	for (uint32_t k = 0; k < c->names.n; k++)
		if (!strcmp(c->names.v[k], word)) {
			*ret = k;
			return 0;
		}
	_cleanup_free_ bool *called = calloc(c->names.n + 1, sizeof(*called));
	if (!called)
		return us_fail(e, -ENOMEM, "compare: out of memory");
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < c->side[side]->n; i++)
			mark_called(c, side, i, word, called);
	return choose_called(c, word, called, ret, e);
}

void us_compare_number_fini(struct us_comparer *c)
{
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < US_COMPARE_MAX; i++)
			free(us_take(c->number[side][i]));
}

void us_compare_names_fini(struct us_compare_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	*names = (struct us_compare_names){ 0 };
}
