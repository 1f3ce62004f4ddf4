/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/choice.c: see cmd/trace/choice.h. */
#include "cmd/trace/choice.h"

#include "symbol/demangle.h"
#include "trace/functions.h"

#include <errno.h>
#include <string.h>

/* A wanted function: an expression, or the name itself. */
struct wanted {
	const regex_t *re;
	const char *name;
};

static bool is_called(const struct wanted *w, const char *name)
{
	return name &&
	       (w->re ? !regexec(w->re, name, 0, NULL, 0) : !strcmp(w->name, name));
}

/* Compares with the raw names in the image and with the demangled ones.  By which of
 * them it is wanted, from 1; 0: by none. */
static size_t match(const struct us_function *f, const struct wanted *w)
{
	const char *raw;
	for (size_t k = 0; (raw = us_function_name(f, k)); k++) {
		char text[US_DEMANGLED_MAX];
		if (is_called(w, raw) ||
		    is_called(w, us_demangle(raw, US_NAME_SHORT, text, sizeof(text))))
			return k + 1;
	}
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
	return (!c->filter || takes(c, f, &(struct wanted){ .re = &c->filter_re })) &&
	       (!c->hide || !match(f, &(struct wanted){ .re = &c->hide_re }));
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
	return choice;
}

static int compile(const char *text, regex_t *re, struct us_err *e)
{
	char why[128];
	int r = text ? regcomp(re, text, REG_EXTENDED | REG_NOSUB) : 0;
	if (!r)
		return 0;
	regerror(r, re, why, sizeof(why));
	return us_fail(e, -EINVAL, "%s: %s", text, why);
}

int us_trace_choice_init(struct us_trace_choice *c, struct us_err *e)
{
	c->chooser = (struct us_function_chooser){ .choose = choose, .ctx = c };
	int r = compile(c->filter, &c->filter_re, e);
	if (r)
		c->filter = c->hide = NULL;
	else if ((r = compile(c->hide, &c->hide_re, e)))
		c->hide = NULL;
	return r;
}

void us_trace_choice_fini(struct us_trace_choice *c)
{
	if (c->filter)
		regfree(&c->filter_re);
	if (c->hide)
		regfree(&c->hide_re);
	c->filter = c->hide = NULL;
}

static int fail_missing(const char *option, const char *name, struct us_err *e)
{
	us_fail(e, -EINVAL, "%s %s: the images have no such function", option, name);
	us_hint(e, "nm FILE or uniscope count lists the functions");
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
		return fail_missing("--from", c->from, e);
	if (c->until && !c->n_until)
		return fail_missing("--until", c->until, e);
	if (c->n_traced || (!c->filter && !c->hide))
		return 0;
	us_fail(e, -EINVAL, "--filter, --notrace: no function of the images is left");
	us_hint(e, "names are matched by an extended regular expression, such as "
		   "'^tcp_'");
	return -EINVAL;
}
