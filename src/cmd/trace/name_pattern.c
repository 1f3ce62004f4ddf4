/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/name_pattern.c: see cmd/trace/name_pattern.h. */
#include "cmd/trace/name_pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What is compiled once fails the second time only for want of memory. */
static void compile(struct us_name_pattern *p)
{
	int r = regcomp(&p->re, p->text, REG_EXTENDED);
	if (!r) {
		r = regcomp(&p->any_case, p->text, REG_EXTENDED | REG_ICASE);
		if (r)
			regfree(&p->re);
	}
	if (r)
		regerror(r, NULL, p->why, sizeof(p->why));
}

int us_name_pattern_init(struct us_name_pattern *p, const char *text, struct us_err *e)
{
	*p = (struct us_name_pattern){ .text = strdup(text) };
	if (!p->text)
		return us_fail(e, -ENOMEM, "out of memory");
	compile(p);
	return 0;
}

void us_name_pattern_fini(struct us_name_pattern *p)
{
	if (p->text && !p->why[0]) {
		regfree(&p->re);
		regfree(&p->any_case);
	}
	free(p->text);
	*p = (struct us_name_pattern){ 0 };
}

static bool is_text(const struct us_name_pattern *p, const char *name, bool any_case)
{
	return any_case ? !strcasecmp(p->text, name) : !strcmp(p->text, name);
}

static bool find(const struct us_name_pattern *p, const char *name, bool any_case,
		 regmatch_t *ret)
{
	return !p->why[0] &&
	       !regexec(any_case ? &p->any_case : &p->re, name, 1, ret, 0);
}

bool us_name_pattern_is(const struct us_name_pattern *p, const char *name,
			bool any_case)
{
	regmatch_t all;
	return is_text(p, name, any_case) ||
	       (find(p, name, any_case, &all) && all.rm_so == 0 &&
		name[all.rm_eo] == '\0');
}

bool us_name_pattern_finds(const struct us_name_pattern *p, const char *name,
			   bool any_case)
{
	regmatch_t any;
	return is_text(p, name, any_case) || find(p, name, any_case, &any);
}
