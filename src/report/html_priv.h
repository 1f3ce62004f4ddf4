/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html_priv.h: shared by the files that write the page's data. */
#ifndef US_REPORT_HTML_PRIV_H
#define US_REPORT_HTML_PRIV_H

#include "base/json.h"
#include "report/report.h"

/*
 * "time": the samples by time and vCPU, if the profile was read with by_time.  node_id:
 * the page's number of each node; a node lighter than `least` is left out, and has its
 * caller's number.  0 or -ENOMEM.
 */
US_MUST_CHECK int us_html_time(struct us_json *j, const struct us_profile *p,
			       const uint32_t *node_id, uint64_t least);

/*
 * "code": source and instructions of the hottest functions whose images are known; a
 * bounded number of each.  sources: as in us_report_opts.  0 or -ENOMEM.
 */
US_MUST_CHECK int us_html_code(struct us_json *j, const struct us_profile *p,
			       const struct us_annotate_opts *sources);

#endif
