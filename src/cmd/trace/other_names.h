/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/other_names.h: functions that were asked for by a name that is not shown,
 * for an address may have several. */
#ifndef US_CMD_OTHER_NAMES_H
#define US_CMD_OTHER_NAMES_H

#include "symbol/symbol.h"

#define US_OTHER_NAMES_TOLD 4

struct us_other_names {
	struct us_other_name {
		char asked[256], shown[256];
	} v[US_OTHER_NAMES_TOLD];
	size_t n; /* of all, told or not */
};

/* Note that f was asked for by name k of us_function_name(). */
void us_other_names_note(struct us_other_names *o, const struct us_function *f,
			 size_t k);
/* "note: memmove: its address is shown as memcpy", each on a line of stderr. */
void us_other_names_tell(const struct us_other_names *o);

#endif
