/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/name_pattern.h: a name, or a regular expression for names.  Names have
 * brackets and signs in them ("k::round::{{closure}}"), so each text is also taken as
 * it is, and one that is no regular expression is only a name. */
#ifndef US_CMD_NAME_PATTERN_H
#define US_CMD_NAME_PATTERN_H

#include "base/err.h"

#include <regex.h>
#include <stdbool.h>

struct us_name_pattern {
	char *text;	      /* owned; NULL: not in use */
	regex_t re, any_case; /* valid if why is "" */
	char why[128];	      /* the text is no regular expression, because */
};

/* An extended regular expression, or a name.  -ENOMEM. */
US_MUST_CHECK int us_name_pattern_init(struct us_name_pattern *p, const char *text,
				       struct us_err *e);
void us_name_pattern_fini(struct us_name_pattern *p); /* accepts a zeroed one */
/* Is the text the name, or does the expression match the whole of it? */
bool us_name_pattern_is(const struct us_name_pattern *p, const char *name,
			bool any_case);
/* Is the text the name, or does the expression match anywhere in it? */
bool us_name_pattern_finds(const struct us_name_pattern *p, const char *name,
			   bool any_case);

#endif
