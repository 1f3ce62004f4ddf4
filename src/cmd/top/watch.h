/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/watch.h: a guest, or all of this host, recorded and shown until the user has
 * seen enough. */
#ifndef US_CMD_TOP_WATCH_H
#define US_CMD_TOP_WATCH_H

#include "cmd/record/one.h"

struct us_top_settings {
	/* As for a recording; out NULL: a temporary one. */
	struct us_record_settings record;
	uint64_t window_ns, interval_ns;
	size_t limit; /* functions that are printed */
	bool limited, rate_given;
	enum us_sort sort;
	enum us_profile_by rows;     /* in place of functions; or NONE */
	struct us_profile_opts only; /* its filters and pid: whose samples */
	const char *filter;
};

/* Returns once all guests are let go.  -errno: the guest that was named could not be
 * recorded. */
US_MUST_CHECK int us_top_watch(const struct us_top_settings *s, struct us_err *e);

#endif
