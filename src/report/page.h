/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.h: the pages of profiles and of traces, built into the program (page/embed.py).
 */
#ifndef US_REPORT_PAGE_H
#define US_REPORT_PAGE_H

/* UTF-8, NUL-terminated.  JSON goes between head and tail, except for bars. */
extern const unsigned char us_page_head[], us_page_tail[];
/* The same, refreshed from the server (page/live.js). */
extern const unsigned char us_live_page_head[], us_live_page_tail[];
extern const unsigned char us_diff_page_head[], us_diff_page_tail[];
extern const unsigned char us_trace_page_head[], us_trace_page_tail[];
extern const unsigned char us_list_page_head[], us_list_page_tail[]; /* of recordings */
/* Bars: a page, and a picture (bars_svg.c).  Between head and tail go the rest of the
 * page's header and its content, or the picture's content. */
extern const unsigned char us_bars_page_head[], us_bars_page_tail[];
extern const unsigned char us_bars_head[], us_bars_tail[];

#endif
