/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_watch.h: detects new guests on this host, at little cost.
 *
 * The list of processes is read each time, but a process is inspected only when it is
 * new.  While it is no guest, it is inspected again at growing intervals: a second,
 * two, four, up to a minute.  A VMM is thus found within a second of its start, and one
 * that creates its machine much later, within a minute.
 */
#ifndef US_VMM_GUEST_WATCH_H
#define US_VMM_GUEST_WATCH_H

#include "vmm/guest_list.h"

struct us_guest_watch {
	struct us_watched {
		pid_t pid;
		bool guest, seen;
		uint64_t start_time; /* of a guest */
		uint64_t next_ns, pause_ns;
	} * v; /* sorted by pid */
	size_t n, cap;
};

/*
 * Scan again; *w is zeroed before the first call.  *ret: the guests that were not there
 * the last time (free with us_guest_list_fini()).  now_ns: CLOCK_MONOTONIC.
 */
US_MUST_CHECK int us_guest_watch_look(struct us_guest_watch *w, uint64_t now_ns,
				      struct us_guest_list *ret, struct us_err *e);
/* Report it as new again at the next scan, if it is still there. */
void us_guest_watch_forget(struct us_guest_watch *w, pid_t pid);
void us_guest_watch_fini(struct us_guest_watch *w);

#endif
