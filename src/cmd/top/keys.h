/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/keys.h: what the user of `top` has selected, and how keys change it. */
#ifndef US_CMD_TOP_KEYS_H
#define US_CMD_TOP_KEYS_H

#include "report/report.h"

#include <regex.h>

enum us_top_page {
	US_TOP_GUESTS,	  /* --all */
	US_TOP_FUNCTIONS, /* of one guest, like the others below */
	US_TOP_AROUND,	  /* callers and callees of a function */
	US_TOP_STACK,	  /* the present stack of a vCPU */
	US_TOP_HELP,
};

/* What the user types at the bottom of the screen. */
enum us_top_ask { US_TOP_ASK_NOTHING, US_TOP_ASK_FILTER, US_TOP_ASK_FILE };

/* Keys that are not characters. */
enum us_top_key {
	US_KEY_UP = 0x110000, /* above all of Unicode */
	US_KEY_DOWN,
	US_KEY_PAGE_UP,
	US_KEY_PAGE_DOWN,
	US_KEY_HOME,
	US_KEY_END,
	US_KEY_LEFT,
	US_KEY_RIGHT,
	US_KEY_ENTER,
	US_KEY_ESCAPE,
	US_KEY_BACKSPACE,
};

/* What to do in addition to redrawing the screen. */
enum us_top_act {
	US_TOP_DRAW,
	US_TOP_RENEW, /* the view has changed */
	US_TOP_SAVE,  /* to state.text */
	US_TOP_ENTER, /* show the selected guest */
	US_TOP_QUIT,
};

#define US_TOP_TEXT 256
#define US_TOP_ROWS "process, thread, comm or container" /* of rows */

struct us_top_state {
	bool all; /* there is a page of guests to return to */
	enum us_top_page page, before_help;
	enum us_sort sort;
	/* Group a Linux guest's samples so, instead of by function; or NONE. */
	enum us_profile_by rows;
	/* Show only functions of this process or thread, whose row was entered; "":
	 * all. */
	char of[US_OWNER_NAME];
	enum us_profile_by of_by;
	const struct us_profile_opts *only; /* the user's filters in it; NULL: none */
	bool tasks;			    /* waiting tasks are recorded (--tasks) */
	bool waits;	    /* show what they wait for, instead of what runs */
	bool both;	    /* show both, without a terminal */
	uint64_t window_ns; /* 0: since the start */
	int vcpu;	    /* -1: all */
	unsigned stack_vcpu;
	bool frozen;
	size_t selected, first;	  /* rows: selected, and topmost on the screen */
	size_t last_selected;	  /* on the page to return to */
	char around[US_TOP_TEXT]; /* function of that page */
	char filter[US_TOP_TEXT]; /* "": none */
	regex_t match;		  /* compiled filter, if any */
	enum us_top_ask ask;
	char text[US_TOP_TEXT];	   /* typed so far */
	bool offered;		   /* text is what was there: typing replaces it */
	char message[US_TOP_TEXT]; /* for the bottom of the screen; "": none */
	bool message_is_error;
};

/* What is on the screen, as far as keys need it. */
struct us_top_seen {
	size_t n_row, page; /* number of rows, and of rows that fit */
	const char *name;   /* of the selected function; NULL: none */
	const char *group;  /* of the selected process, thread, ...; NULL: none */
	unsigned n_vcpu;
	const char *file; /* default file to save a recording */
};

/* window_ns: the initial value. */
void us_top_state_init(struct us_top_state *s, bool all, uint64_t window_ns);
void us_top_state_fini(struct us_top_state *s);
/* Set a regular expression for names; false: message says what is wrong with it. */
bool us_top_filter(struct us_top_state *s, const char *text);
/* key: a character, or an us_top_key. */
enum us_top_act us_top_press(struct us_top_state *s, unsigned key,
			     const struct us_top_seen *seen);
/* Did the user select only some processes? */
bool us_top_is_filtered(const struct us_top_state *s);
/* Sort by total?  Rows that are not functions have no total. */
bool us_top_by_total(const struct us_top_state *s);
/* Keep the selected row within n rows, and on the screen. */
void us_top_scroll(struct us_top_state *s, size_t n, size_t page);
void us_top_say(struct us_top_state *s, bool error, const char *fmt, ...)
	__attribute__((__format__(__printf__, 3, 4)));

#endif
