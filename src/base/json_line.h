/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_line.h: finds the line of a JSON text that the user has to correct.
 *
 * The text may be anything; if it is not JSON (RFC 8259), the answer may be wrong.
 */
#ifndef US_BASE_JSON_LINE_H
#define US_BASE_JSON_LINE_H

#include <stddef.h>

/*
 * The line on which the value of member begins, in element i of the array that the top
 * object has under the name list.  If this is not there, the nearest that is:
 *
 * - member NULL or missing: where the element begins;
 * - i SIZE_MAX or missing: where the list begins;
 * - list missing: 1.
 *
 * Of several members with the same name the first counts.
 */
size_t us_json_line(const char *text, size_t len, const char *list, size_t i,
		    const char *member);

#endif
