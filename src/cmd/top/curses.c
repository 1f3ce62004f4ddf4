/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/curses.c: a terminal with ncurses; see cmd/top/term.h. */
#include "cmd/top/term.h"

#include "cmd/top/keys.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

#define ESCAPE_MS 50 /* in which a sequence that begins with ESC arrives */

struct us_term {
	SCREEN *screen;
	bool utf8;
	attr_t style[US_N_STYLE];
};

bool us_term_possible(const char **ret_why)
{
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return true;
	*ret_why = NULL; /* no reason to report: the user wants it */
	return false;
}

static void choose_styles(struct us_term *t)
{
	enum { RED = 1, YELLOW, GREEN };
	const char *no_color = getenv("NO_COLOR");
	t->style[US_STYLE_BOLD] = A_BOLD;
	t->style[US_STYLE_DIM] = A_DIM;
	t->style[US_STYLE_HOT] = t->style[US_STYLE_WARNING] = A_BOLD;
	t->style[US_STYLE_SELECTED] = t->style[US_STYLE_TITLE] = A_REVERSE;
	if (!has_colors() || (no_color && *no_color))
		return;
	start_color();
	short back = use_default_colors() == OK ? -1 : COLOR_BLACK;
	init_pair(RED, COLOR_RED, back);
	init_pair(YELLOW, COLOR_YELLOW, back);
	init_pair(GREEN, COLOR_GREEN, back);
	t->style[US_STYLE_HOT] = (attr_t)COLOR_PAIR(RED);
	t->style[US_STYLE_WARNING] = (attr_t)COLOR_PAIR(YELLOW);
	t->style[US_STYLE_BAR] = (attr_t)COLOR_PAIR(GREEN);
}

int us_term_open(struct us_term **ret, struct us_err *e)
{
	const char *name = getenv("TERM");
	struct us_term *t = calloc(1, sizeof(*t));
	if (!t)
		return us_fail(e, -ENOMEM, "out of memory");
	setlocale(LC_CTYPE, "");
	t->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	t->screen = newterm(NULL, stdout, stdin);
	if (!t->screen) {
		free(t);
		return us_fail(e, -ENODEV, "TERM=%.40s: terminfo does not know it",
			       name ? name : "");
	}
	if (!cursor_address) {
		us_term_close(t);
		return us_fail(e, -ENODEV, "TERM=%.40s: it cannot place the cursor",
			       name ? name : "");
	}
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	choose_styles(t);
	*ret = t;
	return 0;
}

void us_term_close(struct us_term *t)
{
	if (!t)
		return;
	endwin();
	delscreen(t->screen);
	free(t);
}

void us_term_leave(struct us_term *t)
{
	(void)t;
	endwin();
}

void us_term_begin(struct us_term *t, struct us_screen *s)
{
	us_screen_begin(s, LINES > 0 ? (unsigned)LINES : 0,
			COLS > 0 ? (unsigned)COLS : 0, t->utf8);
}

void us_term_draw(struct us_term *t, const struct us_screen *s)
{
	erase();
	for (size_t i = 0; i < s->n; i++) {
		const struct us_piece *p = &s->v[i];
		attrset((int)t->style[p->style]);
		mvaddstr((int)p->row, (int)p->col, p->text);
	}
	attrset(A_NORMAL);
	refresh();
}

static unsigned special(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return US_KEY_UP;
	case KEY_DOWN:
		return US_KEY_DOWN;
	case KEY_PPAGE:
		return US_KEY_PAGE_UP;
	case KEY_NPAGE:
		return US_KEY_PAGE_DOWN;
	case KEY_HOME:
		return US_KEY_HOME;
	case KEY_END:
		return US_KEY_END;
	case KEY_LEFT:
		return US_KEY_LEFT;
	case KEY_RIGHT:
		return US_KEY_RIGHT;
	case KEY_ENTER:
		return US_KEY_ENTER;
	case KEY_BACKSPACE:
		return US_KEY_BACKSPACE;
	default:
		return 0; /* a new size, for example: draw again */
	}
}

bool us_term_key(struct us_term *t, unsigned *ret)
{
	wint_t key;
	(void)t;
	switch (get_wch(&key)) {
	case KEY_CODE_YES:
		*ret = special(key);
		return true;
	case OK:
		*ret = key == '\r' || key == '\n'   ? US_KEY_ENTER
		       : key == 0x1b		    ? US_KEY_ESCAPE
		       : key == 0x7f || key == '\b' ? US_KEY_BACKSPACE
						    : (unsigned)key;
		return true;
	default:
		return false;
	}
}
