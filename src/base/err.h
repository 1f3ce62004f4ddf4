/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.h: how a function says why it failed.
 *
 * A fallible function returns 0 or a negative errno, and takes a
 * `struct us_err *` last, which it fills on failure.  The struct lives on the
 * caller's stack: it is never allocated and never freed, so an error path can
 * neither fail nor leak.  Pass NULL to ask for the code alone.
 *
 * Only src/cmd prints.  Everything below it reports through us_err.
 */
#ifndef US_BASE_ERR_H
#define US_BASE_ERR_H

struct us_err {
	int code;	/* negative errno, the value that was returned */
	char msg[512];	/* what was being done, to what, and why it failed */
	char hint[256]; /* what the user can do about it, or "" */
};

/* Set *e and return code, so that callers write `return us_fail(...)`. */
int us_fail(struct us_err *e, int code, const char *fmt, ...)
	__attribute__((__format__(__printf__, 3, 4), __cold__));

/* Put context before the message ("attach to pid 42: ..."); returns e->code. */
int us_wrap(struct us_err *e, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3), __cold__));

void us_hint(struct us_err *e, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3), __cold__));

#define US_MUST_CHECK __attribute__((__warn_unused_result__))

#endif
