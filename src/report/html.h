/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.h: what the page of a profile shows, without the page. */
#ifndef US_REPORT_HTML_H
#define US_REPORT_HTML_H

#include "report/report.h"

/*
 * The profile that showProfile() of page/data.js takes, as JSON in one line without its
 * end, which may stand in a script element.  o: full_paths, no_code.  Without by_time,
 * p has no samples by time.  0 or -ENOMEM; errors of the stream are left in it.
 */
US_MUST_CHECK int us_html_data(const struct us_profile *p,
			       const struct us_report_opts *o, FILE *out,
			       struct us_err *e);

#endif
