/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/top/term.h: the user's terminal: draws a screen, and reads keys.
 *
 * The only user of ncurses.  Only what differs from the last screen is written, so
 * nothing flickers.  Standard input and output are the terminal.
 */
#ifndef US_CMD_TOP_TERM_H
#define US_CMD_TOP_TERM_H

#include "cmd/top/screen.h"

struct us_term;

/* Can a terminal be used?  False: *ret_why says why not, in words. */
bool us_term_possible(const char **ret_why);
/* -ENOTSUP: built without ncurses; -ENODEV: terminfo does not know this terminal. */
US_MUST_CHECK int us_term_open(struct us_term **ret, struct us_err *e);
void us_term_close(struct us_term *t); /* restores the terminal; accepts NULL */

/* Give the terminal back for a while: the next us_term_draw() takes it again. */
void us_term_leave(struct us_term *t);

/* Begin s with the terminal's size. */
void us_term_begin(struct us_term *t, struct us_screen *s);
void us_term_draw(struct us_term *t, const struct us_screen *s);
/* The next pressed key (cmd/top/keys.h); false: none yet.  Does not wait. */
bool us_term_key(struct us_term *t, unsigned *ret);

#endif
