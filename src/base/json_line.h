/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_line.h: on which line of a JSON text something stands, for who has to mend it.
 *
 * The text may be anything; of what is no JSON (RFC 8259) the answer may be wrong.
 */
#ifndef US_BASE_JSON_LINE_H
#define US_BASE_JSON_LINE_H

#include <stddef.h>

/*
 * Where the value of member begins, of element i of the list that the top object has as
 * this member.  member NULL, or not there: where the element begins; i SIZE_MAX, or not
 * there: where the list does; list not there: 1.  Of namesakes the first.
 */
size_t us_json_line(const char *text, size_t len, const char *list, size_t i,
		    const char *member);

#endif
