/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups.h: a table of functions for each group, for the text and json formats. */
#ifndef US_REPORT_GROUPS_H
#define US_REPORT_GROUPS_H

#include "base/json.h"
#include "report/report.h"

/* Groups by o->group_by, each with its sum and its functions (ten if o->limit is 0);
 * with o->groups_only one row each. */
US_MUST_CHECK int us_report_groups_text(const struct us_profile *p,
					const struct us_report_opts *o, FILE *out,
					struct us_err *e);
/* Adds the members "group_by", "groups" and, when grouped by owner, "owners" to the
 * open object.  0 or -ENOMEM. */
US_MUST_CHECK int us_report_groups_json(const struct us_profile *p,
					const struct us_report_opts *o,
					struct us_json *j);

#endif
