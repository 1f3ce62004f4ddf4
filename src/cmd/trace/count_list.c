/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count_list.c: see count_list.h. */
#include "cmd/trace/count_list.h"

#include "symbol/demangle.h"
#include "trace/functions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const struct us_count_pattern *p, const char *name)
{
	regmatch_t all;
	return name &&
	       (!strcmp(p->text, name) || (!regexec(&p->re, name, 1, &all, 0) &&
					   all.rm_so == 0 && name[all.rm_eo] == '\0'));
}

static bool is_called(const struct us_count_pattern *p, const char *raw)
{
	char text[US_DEMANGLED_MAX];
	return matches(p, raw) ||
	       matches(p, us_demangle(raw, US_NAME_SHORT, text, sizeof(text)));
}

/* By which of its names the pattern matches the function, from 1; 0: by none. */
static size_t match(const struct us_count_pattern *p, const struct us_function *f)
{
	const char *raw;
	for (size_t k = 0; (raw = us_function_name(f, k)); k++)
		if (is_called(p, raw))
			return k + 1;
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
	char why[128];
	struct us_count_pattern *p = &l->v[l->n];
	if (!n)
		return 0;
	if (l->n == US_COUNT_LIST_MAX)
		return us_fail(e, -E2BIG, "--functions: more than %d names",
			       US_COUNT_LIST_MAX);
	*p = (struct us_count_pattern){ .text = strndup(text, n) };
	if (!p->text)
		return us_fail(e, -ENOMEM, "out of memory");
	int r = regcomp(&p->re, p->text, REG_EXTENDED);
	if (!r) {
		l->n++;
		return 0;
	}
	regerror(r, &p->re, why, sizeof(why));
	us_fail(e, -EINVAL, "--functions: %.200s: %s", p->text, why);
	free(p->text);
	return -EINVAL;
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
	for (unsigned i = 0; i < l->n; i++) {
		regfree(&l->v[i].re);
		free(l->v[i].text);
	}
	l->n = 0;
}

int us_count_list_check(const struct us_count_list *l, struct us_err *e)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (l->v[i].n)
			continue;
		us_fail(e, -EINVAL,
			"--functions %.200s: no function of the images has that name",
			l->v[i].text);
		us_hint(e, "give a name, or a regular expression for a whole name, "
			   "such as 'tcp_.*'; --functions alone counts all");
		return -EINVAL;
	}
	return 0;
}
