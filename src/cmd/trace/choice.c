/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/choice.c: see cmd/trace/choice.h. */
#include "cmd/trace/choice.h"

#include "symbol/demangle.h"
#include "trace/functions.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* A wanted function: a pattern, or the name itself. */
struct wanted {
	const struct us_name_pattern *pattern;
	const char *name;
};

static bool is_called(void *ctx, const char *name, bool any_case)
{
	const struct wanted *w = ctx;
	if (w->pattern)
		return us_name_pattern_finds(w->pattern, name, any_case);
	return any_case ? !strcasecmp(w->name, name) : !strcmp(w->name, name);
}

/* By which of its names it is wanted, from 1; 0: by none. */
static size_t match(const struct us_function *f, const struct wanted *w)
{
	const char *raw;
	for (size_t k = 0; (raw = us_function_name(f, k)); k++)
		if (us_name_is(raw, is_called, (void *)w))
			return k + 1;
	return 0;
}

static bool takes(struct us_trace_choice *c, const struct us_function *f,
		  const struct wanted *w)
{
	size_t by = match(f, w);
	if (by > 1)
		us_other_names_note(&c->others, f, by - 1);
	return by;
}

static bool is_traced(struct us_trace_choice *c, const struct us_function *f)
{
	bool is_wanted = !c->filter ||
			 takes(c, f, &(struct wanted){ .pattern = &c->filter_re });
	bool is_hidden = c->hide &&
			 match(f, &(struct wanted){ .pattern = &c->hide_re });
	c->n_filter += is_wanted;
	c->n_hide += is_hidden;
	return is_wanted && !is_hidden;
}

/* The names nearest to those that no function has had yet. */
static void note_nearest(struct us_trace_choice *c, const struct us_function *f)
{
	char text[US_DEMANGLED_MAX];
	bool from = c->from && !c->n_from, until = c->until && !c->n_until;
	if ((!from && !until) || f->entry != f->start) /* "f.cold" has no entry */
		return;
	const char *shown = us_demangle(f->raw, US_NAME_SHORT, text, sizeof(text));
	const char *name = shown ? shown : f->raw;
	if (from)
		us_nearest_keep(&c->near_from, name, c->best_from,
				sizeof(c->best_from));
	if (until)
		us_nearest_keep(&c->near_until, name, c->best_until,
				sizeof(c->best_until));
}

static uint64_t choose(void *ctx, const struct us_function *f)
{
	struct us_trace_choice *c = ctx;
	uint64_t choice = is_traced(c, f) ? US_FUNCTION_TRACED : 0;
	if (c->from && takes(c, f, &(struct wanted){ .name = c->from }))
		choice |= US_FUNCTION_FROM;
	if (c->until && takes(c, f, &(struct wanted){ .name = c->until }))
		choice |= US_FUNCTION_UNTIL;
	c->n_traced += (choice & US_FUNCTION_TRACED) != 0;
	c->n_from += (choice & US_FUNCTION_FROM) != 0;
	c->n_until += (choice & US_FUNCTION_UNTIL) != 0;
	note_nearest(c, f);
	return choice;
}

int us_trace_choice_init(struct us_trace_choice *c, struct us_err *e)
{
	c->chooser = (struct us_function_chooser){ .choose = choose, .ctx = c };
	c->near_from = us_nearest_to(c->from ? c->from : "");
	c->near_until = us_nearest_to(c->until ? c->until : "");
	int r = c->filter ? us_name_pattern_init(&c->filter_re, c->filter, e) : 0;
	return !r && c->hide ? us_name_pattern_init(&c->hide_re, c->hide, e) : r;
}

void us_trace_choice_fini(struct us_trace_choice *c)
{
	us_name_pattern_fini(&c->filter_re);
	us_name_pattern_fini(&c->hide_re);
	c->filter = c->hide = NULL;
}

static int fail_missing(const char *option, const struct us_nearest *n,
			struct us_err *e)
{
	char question[192];
	us_fail(e, -EINVAL, "%s %.200s: the images have no such function%s", option,
		n->word, us_nearest_question(n, question, sizeof(question)));
	us_hint(e, "nm FILE or uniscope count lists the functions");
	return -EINVAL;
}

/* A text that is no regular expression can only be a name.  For an expression it is no
 * mistake to match nothing. */
static int check_pattern(const char *option, const struct us_name_pattern *p,
			 unsigned n, struct us_err *e)
{
	if (!p->text || !p->why[0] || n)
		return 0;
	us_fail(e, -EINVAL, "%s %.200s: the images have no such function", option,
		p->text);
	us_hint(e, "it is no regular expression (%s), so it can only be a name",
		p->why);
	return -EINVAL;
}

/* The first option that needs names; NULL: none was given. */
static const char *needs_names(const struct us_trace_choice *c)
{
	return c->from	   ? "--from"
	       : c->until  ? "--until"
	       : c->filter ? "--filter"
	       : c->hide   ? "--notrace"
			   : NULL;
}

int us_trace_choice_check(const struct us_trace_choice *c,
			  const struct us_plugin_run *r, struct us_err *e)
{
	const char *option = needs_names(c);
	if (option && !r->n_function)
		return us_plugin_run_fail_unnamed(r, option, e);
	if (c->from && !c->n_from)
		return fail_missing("--from", &c->near_from, e);
	if (c->until && !c->n_until)
		return fail_missing("--until", &c->near_until, e);
	int rc = check_pattern("--filter", &c->filter_re, c->n_filter, e);
	rc = rc ? rc : check_pattern("--notrace", &c->hide_re, c->n_hide, e);
	if (rc || c->n_traced || (!c->filter && !c->hide))
		return rc;
	us_fail(e, -EINVAL, "--filter, --notrace: no function of the images is left");
	us_hint(e, "names are matched by an extended regular expression, such as "
		   "'^tcp_'");
	return -EINVAL;
}
