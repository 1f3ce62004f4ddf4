/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.h: the pages of profiles and of traces, built into the program (page/embed.py).
 */
#ifndef US_REPORT_PAGE_H
#define US_REPORT_PAGE_H

/* UTF-8, NUL-terminated.  JSON goes between them. */
extern const unsigned char us_page_head[], us_page_tail[];
extern const unsigned char us_trace_page_head[], us_trace_page_tail[];

#endif
