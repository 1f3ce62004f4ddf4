/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.h: the data of a profile's page, without the page. */
#ifndef US_REPORT_HTML_H
#define US_REPORT_HTML_H

#include "report/report.h"

/*
 * The profile as showProfile() of page/data.js takes it: one line of JSON without the
 * newline, safe inside a script element.  Uses o's full_paths and no_code.  If p was
 * read without by_time, it has no samples by time.  0 or -ENOMEM; errors of the stream
 * are left in it.
 */
US_MUST_CHECK int us_html_data(const struct us_profile *p,
			       const struct us_report_opts *o, FILE *out,
			       struct us_err *e);

#endif
