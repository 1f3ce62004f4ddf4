/* SPDX-License-Identifier: GPL-2.0-or-later */
/* growing.h: a recording in memory that is looked at while it grows. */
#ifndef US_TEST_GROWING_H
#define US_TEST_GROWING_H

#include "unit.h"

#include "live/live.h"

#include <sys/mman.h>
#include <unistd.h>

struct growing {
	int fd;
	struct us_writer *w;
	struct us_live *l;
};

/* With that fact from the start. */
static void start_with(struct growing *g, const struct us_live_opts *o,
		       const char *fact, const char *value)
{
	struct us_err e = { 0 };
	g->fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(g->fd >= 0);
	if (us_live_open(g->fd, o, &g->l, &e))
		fail_msg("%s", e.msg);
	/* There is no byte yet. */
	assert_int_equal(us_live_follow(g->l, &e), 0);
	assert_int_equal(us_writer_open(g->fd, &g->w, &e), 0);
	assert_int_equal(us_writer_fact(g->w, fact, value, &e), 0);
}

static void stop(struct growing *g)
{
	us_writer_close(g->w);
	us_live_close(g->l);
	close(g->fd);
}

static void follow(struct growing *g)
{
	struct us_err e = { 0 };
	assert_int_equal(us_writer_flush(g->w, &e), 0);
	if (us_live_follow(g->l, &e))
		fail_msg("%s", e.msg);
}

#endif
