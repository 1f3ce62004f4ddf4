/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/watch.h: records and shows a guest, or all guests of this host, until the
 * user quits. */
#ifndef US_CMD_TOP_WATCH_H
#define US_CMD_TOP_WATCH_H

#include "cmd/record/one.h"

struct us_top_settings {
	/* As for a recording; out NULL: a temporary one. */
	struct us_record_settings record;
	uint64_t window_ns, interval_ns;
	size_t limit; /* most functions printed */
	bool limited;
	enum us_sort sort;
	enum us_profile_by rows;     /* group by this instead of by function; or NONE */
	struct us_profile_opts only; /* only its filters and pid: the owners to show */
	const char *filter;
};

/* Returns after detaching from all guests.  -errno: the named guest could not be
 * recorded. */
US_MUST_CHECK int us_top_watch(const struct us_top_settings *s, struct us_err *e);

#endif
