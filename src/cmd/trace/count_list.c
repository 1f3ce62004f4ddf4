/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count_list.c: see count_list.h. */
#include "cmd/trace/count_list.h"

#include "symbol/demangle.h"
#include "trace/functions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_called(void *ctx, const char *name, bool any_case)
{
	const struct us_count_pattern *p = ctx;
	return us_name_pattern_is(&p->name, name, any_case);
}

/* By which of its names the pattern matches the function, from 1; 0: by none. */
static size_t match(struct us_count_pattern *p, const struct us_function *f)
{
	const char *raw;
	char text[US_DEMANGLED_MAX];
	for (size_t k = 0; (raw = us_function_name(f, k)); k++)
		if (us_name_is(raw, is_called, p))
			return k + 1;
	if (!p->n && f->entry == f->start) { /* "f.cold" has no calls */
		raw = us_demangle(f->raw, US_NAME_SHORT, text, sizeof(text));
		us_nearest_keep(&p->near, raw ? raw : f->raw, p->best, sizeof(p->best));
	}
	return 0;
}

static uint64_t choose(void *ctx, const struct us_function *f)
{
	struct us_count_list *l = ctx;
	bool chosen = !l->n;
	for (unsigned i = 0; i < l->n; i++) {
		size_t by = match(&l->v[i], f);
		l->v[i].n += by != 0;
		chosen |= by != 0;
		if (by > 1)
			us_other_names_note(&l->others, f, by - 1);
	}
	return chosen ? US_FUNCTION_TRACED : 0;
}

/* The length up to the next comma outside of brackets. */
static size_t length_of(const char *text)
{
	int depth = 0;
	size_t n = 0;
	for (; text[n] && (text[n] != ',' || depth > 0); n++) {
		depth += strchr("([{<", text[n]) != NULL;
		depth -= strchr(")]}>", text[n]) != NULL;
		if (text[n] == '\\' && text[n + 1])
			n++;
	}
	return n;
}

static int add(struct us_count_list *l, const char *text, size_t n, struct us_err *e)
{
	struct us_count_pattern *p = &l->v[l->n];
	if (!n)
		return 0;
	if (l->n == US_COUNT_LIST_MAX)
		return us_fail(e, -E2BIG, "--functions: more than %d names",
			       US_COUNT_LIST_MAX);
	char *item = strndup(text, n);
	if (!item)
		return us_fail(e, -ENOMEM, "out of memory");
	*p = (struct us_count_pattern){ 0 };
	int r = us_name_pattern_init(&p->name, item, e);
	free(item);
	if (!r) {
		p->near = us_nearest_to(p->name.text);
		l->n++;
	}
	return r;
}

int us_count_list_init(struct us_count_list *l, const char *text, struct us_err *e)
{
	*l = (struct us_count_list){
		.chooser = { .choose = choose, .ctx = l, .loops = true }
	};
	while (text && *text) {
		size_t n = length_of(text);
		int r = add(l, text, n, e);
		if (r)
			return r;
		text += n + (text[n] == ',');
	}
	return 0;
}

void us_count_list_fini(struct us_count_list *l)
{
	for (unsigned i = 0; i < l->n; i++)
		us_name_pattern_fini(&l->v[i].name);
	l->n = 0;
}

static int fail_missing(const struct us_count_pattern *p, struct us_err *e)
{
	char question[192];
	us_fail(e, -EINVAL,
		"--functions %.200s: no function of the images has that name%s",
		p->name.text,
		us_nearest_question(&p->near, question, sizeof(question)));
	if (p->name.why[0])
		us_hint(e, "it is no regular expression (%s), so it can only be a name",
			p->name.why);
	else
		us_hint(e, "give a name, or a regular expression for a whole name, "
			   "such as 'tcp_.*'; --functions alone counts all");
	return -EINVAL;
}

int us_count_list_check(const struct us_count_list *l, struct us_err *e)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!l->v[i].n)
			return fail_missing(&l->v[i], e);
	return 0;
}
