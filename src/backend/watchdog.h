/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watchdog.h: a process that resumes the guest if uniscope dies or hangs.
 *
 * Forked when the backend opens, it holds the same connection to the stub or monitor
 * as its parent does, so it can speak even if nobody else may connect.  It wakes when
 * the parent is gone (end of a pipe) or when the guest was held for longer than
 * limit_ms, and then calls resume(), before all others that want a CPU if it may.  It
 * ignores the terminal's signals and has a session of its own; it has no other file
 * open than those it was told to keep.
 */
#ifndef US_BACKEND_WATCHDOG_H
#define US_BACKEND_WATCHDOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

struct us_watchdog;

/* What it does, and with what. */
struct us_watchdog_opts {
	/* Runs in the watchdog's process as it begins, before anything has happened, so
	 * that resume() is soon done; may be NULL. */
	void (*prepare)(void *ctx);
	/* Runs in the watchdog's process, once; held says whether the guest was stopped
	 * at that moment as far as the parent had said.  May take long, but must end:
	 * a VMM with a busy disk takes seconds to stop, and a connection that is closed
	 * before takes with it what the VMM has not read.
	 * ctx is as it was in the parent at us_watchdog_start(). */
	void (*resume)(void *ctx, bool held);
	void *ctx;
	unsigned limit_ms; /* longest hold; 0: no limit, only death counts */
	const int *keep;   /* file descriptors that resume() needs */
	size_t n_keep;
};

/* Call it before there are threads: the child goes on after a fork. */
US_MUST_CHECK int us_watchdog_start(const struct us_watchdog_opts *o,
				    struct us_watchdog **ret, struct us_err *e);

/* Hot path, no system call: about to stop the guest.  False: it has stepped in
 * before, the guest must not be stopped any more. */
bool us_watchdog_hold(struct us_watchdog *w);
/* The same for who has just read the clock. */
bool us_watchdog_hold_since(struct us_watchdog *w, uint64_t now_ns);
/* It is still stopped, and its time begins anew: at no moment it is not watched. False:
 * it was not held, or the watchdog has stepped in. */
bool us_watchdog_renew(struct us_watchdog *w);
/* It runs again.  False: the watchdog resumed it first. */
bool us_watchdog_release(struct us_watchdog *w);

/* It is to take over now, as if this process had ended: a guest that is held has been
 * held for too long.  The connection must not be used any more. */
void us_watchdog_alarm(struct us_watchdog *w);

/* Has it had to step in? Then the connection must not be used any more. */
bool us_watchdog_fired(const struct us_watchdog *w);

pid_t us_watchdog_pid(const struct us_watchdog *w);

/* The guest runs and is detached: the watchdog ends without a word.  One that has
 * stepped in is waited for, but not for longer than two seconds: it ends by itself.
 * Accepts NULL. */
void us_watchdog_stop(struct us_watchdog *w);

#endif
