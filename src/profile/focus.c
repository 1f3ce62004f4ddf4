/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/focus.c: which samples are wanted, by their functions and state. */
#include "profile/profile_priv.h"

#include "base/cleanup.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

static int compile(regex_t *re, const char *regex, const char *what, const char *option,
		   struct us_err *e)
{
	char why[128];
	int rc = regcomp(re, regex, REG_EXTENDED | REG_NOSUB);
	if (!rc)
		return 0;
	regerror(rc, re, why, sizeof(why));
	us_fail(e, -EINVAL, "%s '%s': no regular expression: %s", what, regex, why);
	us_hint(e, "quote special characters with a backslash, e.g. %s 'operator\\+'",
		option);
	return -EINVAL;
}

static bool matches(const regex_t *re, const struct us_profile_func *f)
{
	return regexec(re, f->base, 0, NULL, 0) == 0 ||
	       regexec(re, f->name, 0, NULL, 0) == 0 ||
	       regexec(re, f->raw, 0, NULL, 0) == 0;
}

static bool *match_funcs(const struct us_profile *p, const regex_t *re)
{
	bool *match = calloc(p->funcs.n + 1, sizeof(*match));
	for (size_t i = 0; match && i < p->funcs.n; i++)
		match[i] = matches(re, &p->funcs.v[i]);
	return match;
}

/* Keep only leaves for which keep is true; counted calls are leaves, too. */
static void keep_nodes(struct us_profile *p, const bool *keep)
{
	for (size_t i = 0; i < p->n_key; i++)
		if (p->key_node[i] != US_PROFILE_NONE && !keep[p->key_node[i]])
			p->key_node[i] = US_PROFILE_NONE;
	for (size_t i = 1; i < p->calls.n; i++)
		if (p->calls.v[i].node != US_PROFILE_NONE && !keep[p->calls.v[i].node])
			p->calls.v[i].node = US_PROFILE_NONE;
}

/* Keep the stacks with a function that matches, or those without one. */
static int focus(struct us_profile *p, const regex_t *re, bool with)
{
	_cleanup_free_ bool *func = match_funcs(p, re);
	_cleanup_free_ bool *node = calloc(p->nodes.n, sizeof(*node));
	if (!func || !node)
		return -ENOMEM;
	for (size_t i = 1; i < p->nodes.n; i++)
		node[i] = node[p->nodes.v[i].parent] || func[p->nodes.v[i].func];
	for (size_t i = 0; i < p->nodes.n; i++)
		node[i] = node[i] == with;
	keep_nodes(p, node);
	return 0;
}

const char *us_profile_place_of(const struct us_profile_func *f, enum us_profile_by by)
{
	bool none = !f->known && f->name[0] == '[';
	switch (by) {
	case US_BY_FUNCTION:
		return f->name;
	case US_BY_FILE:
		return f->file ? f->path : none ? f->name : "[no source]";
	default:
		return f->module ? f->module : none ? f->name : "[no image]";
	}
}

const char *us_profile_state_of(const struct us_profile *p, uint8_t vcpu_state)
{
	if (p->opts.waits)
		return vcpu_state == US_VCPU_EXIT    ? "blocked"
		       : vcpu_state == US_VCPU_READY ? "ready"
						     : "sleeps";
	return vcpu_state == US_VCPU_EXIT    ? "exit"
	       : vcpu_state == US_VCPU_READY ? "ready"
					     : "guest";
}

static int by_place(struct us_profile *p, const regex_t *re, enum us_profile_by by)
{
	_cleanup_free_ bool *node = calloc(p->nodes.n, sizeof(*node));
	_cleanup_free_ bool *func = calloc(p->funcs.n + 1, sizeof(*func));
	if (!node || !func)
		return -ENOMEM;
	for (size_t i = 0; i < p->funcs.n; i++)
		func[i] = by == US_BY_FUNCTION
				  ? matches(re, &p->funcs.v[i])
				  : !regexec(re,
					     us_profile_place_of(&p->funcs.v[i], by), 0,
					     NULL, 0);
	for (size_t i = 1; i < p->nodes.n; i++)
		node[i] = func[p->nodes.v[i].func];
	keep_nodes(p, node);
	return 0;
}

static void by_state(struct us_profile *p, const regex_t *re)
{
	static const uint8_t state[US_N_KIND] = { [US_KIND_GUEST] = US_VCPU_GUEST,
						  [US_KIND_EXIT] = US_VCPU_EXIT,
						  [US_KIND_READY] = US_VCPU_READY };
	bool keep[US_N_KIND];
	for (unsigned i = 0; i < US_N_KIND; i++)
		keep[i] = !regexec(re, us_profile_state_of(p, state[i]), 0, NULL, 0);
	for (size_t i = 0; i < p->n_key; i++)
		if (!keep[i % US_N_KIND])
			p->key_node[i] = US_PROFILE_NONE;
	for (size_t i = 1; i < p->calls.n && !keep[US_KIND_GUEST]; i++)
		p->calls.v[i].node = US_PROFILE_NONE;
}

static void by_owner(struct us_profile *p, const regex_t *re, enum us_profile_by by)
{
	char name[US_OWNER_NAME];
	for (size_t i = 0; i < p->n_key; i++) {
		if (p->key_node[i] == US_PROFILE_NONE)
			continue;
		us_profile_owner_name(p,
				      us_profile_guest_node(p, (uint32_t)i / US_N_KIND),
				      by, name, sizeof(name));
		if (regexec(re, name, 0, NULL, 0))
			p->key_node[i] = US_PROFILE_NONE;
	}
}

static bool is_pid(const struct us_profile_opts *o, const struct us_profile_owner *w)
{
	for (unsigned i = 0; i < o->n_pid; i++)
		if (o->pid[i] == w->tgid || (w->comm && o->pid[i] == w->pid))
			return true;
	return false;
}

static void by_pid(struct us_profile *p)
{
	struct us_profile_owner w;
	for (size_t i = 0; p->opts.n_pid && i < p->n_key; i++) {
		uint32_t stack = (uint32_t)i / US_N_KIND;
		if (p->key_node[i] != US_PROFILE_NONE &&
		    (!us_profile_owner_of(p, us_profile_guest_node(p, stack), &w) ||
		     !is_pid(&p->opts, &w)))
			p->key_node[i] = US_PROFILE_NONE;
	}
}

/* Filters by guest and recording excluded whole files before (files.c). */
static int filter(struct us_profile *p, const struct us_profile_filter *f,
		  struct us_err *e)
{
	regex_t re;
	int rc = compile(&re, f->regex, "filter by", "--filter function=", e);
	if (rc)
		return rc;
	if (f->by == US_BY_STATE)
		by_state(p, &re);
	else if (us_profile_by_owner(f->by))
		by_owner(p, &re, f->by);
	else if (f->by >= US_BY_IMAGE)
		rc = by_place(p, &re, f->by);
	regfree(&re);
	return rc ? us_fail(e, rc, "report: out of memory") : 0;
}

static int focus_on(struct us_profile *p, const char *regex, bool with,
		    struct us_err *e)
{
	regex_t re;
	if (!regex)
		return 0;
	int rc = compile(&re, regex, with ? "focus on" : "ignore",
			 with ? "--focus" : "--ignore", e);
	if (rc)
		return rc;
	rc = focus(p, &re, with);
	regfree(&re);
	return rc ? us_fail(e, rc, "report: out of memory for the call tree") : 0;
}

int us_profile_apply_filters(struct us_profile *p, struct us_err *e)
{
	int rc = focus_on(p, p->opts.focus, true, e);
	if (!rc)
		rc = focus_on(p, p->opts.ignore, false, e);
	by_pid(p);
	for (unsigned i = 0; i < p->opts.n_filter && !rc; i++)
		rc = filter(p, &p->opts.filter[i], e);
	return rc;
}
