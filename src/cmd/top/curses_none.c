/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/curses_none.c: built without ncurses: there is only plain text. */
#include "cmd/top/term.h"

#include <errno.h>

bool us_term_possible(const char **ret_why)
{
	*ret_why = "this uniscope was built without ncurses";
	return false;
}

int us_term_open(struct us_term **ret, struct us_err *e)
{
	(void)ret;
	return us_fail(e, -ENOTSUP, "this uniscope was built without ncurses");
}

void us_term_close(struct us_term *t)
{
	(void)t;
}

void us_term_leave(struct us_term *t)
{
	(void)t;
}

void us_term_begin(struct us_term *t, struct us_screen *s)
{
	(void)t;
	us_screen_begin(s, 0, 0, false);
}

void us_term_draw(struct us_term *t, const struct us_screen *s)
{
	(void)t;
	(void)s;
}

bool us_term_key(struct us_term *t, unsigned *ret)
{
	(void)t;
	(void)ret;
	return false;
}
