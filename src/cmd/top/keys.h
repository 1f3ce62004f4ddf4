/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/keys.h: what the user of `top` has chosen, and what a key changes of it. */
#ifndef US_CMD_TOP_KEYS_H
#define US_CMD_TOP_KEYS_H

#include "report/report.h"

#include <regex.h>

enum us_top_page {
	US_TOP_GUESTS,	  /* --all */
	US_TOP_FUNCTIONS, /* of one guest, as the rest */
	US_TOP_AROUND,	  /* callers and callees of a function */
	US_TOP_STACK,	  /* of a vCPU, now */
	US_TOP_HELP,
};

/* What is being typed at the foot of the screen. */
enum us_top_ask { US_TOP_ASK_NOTHING, US_TOP_ASK_FILTER, US_TOP_ASK_FILE };

/* Keys that are no character. */
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

/* What is to be done besides drawing the screen again. */
enum us_top_act {
	US_TOP_DRAW,
	US_TOP_RENEW, /* what is looked at is another */
	US_TOP_SAVE,  /* to state.text */
	US_TOP_ENTER, /* a guest, the selected one */
	US_TOP_QUIT,
};

#define US_TOP_TEXT 256
#define US_TOP_ROWS "process, thread, comm or container" /* of rows */

struct us_top_state {
	bool all; /* there is a page of guests to go back to */
	enum us_top_page page, before_help;
	enum us_sort sort;
	enum us_profile_by rows; /* of a Linux guest, in place of functions; or NONE */
	/* Only functions of this process or thread: a row that was entered; "": all. */
	char of[US_OWNER_NAME];
	enum us_profile_by of_by;
	const struct us_profile_opts *only; /* its filters: the user's; NULL: none */
	bool tasks;	    /* those that wait are looked at (--tasks) */
	bool waits;	    /* what they wait for, in place of what runs */
	bool both;	    /* one after the other, without a terminal */
	uint64_t window_ns; /* 0: since the start */
	int vcpu;	    /* -1: all */
	unsigned stack_vcpu;
	bool frozen;
	size_t selected, first;	  /* rows: chosen, and uppermost on the screen */
	size_t last_selected;	  /* on the page that one comes back to */
	char around[US_TOP_TEXT]; /* the function of that page */
	char filter[US_TOP_TEXT]; /* "": none */
	regex_t match;		  /* filter, if there is one */
	enum us_top_ask ask;
	char text[US_TOP_TEXT];	   /* typed so far */
	char message[US_TOP_TEXT]; /* for the foot of the screen; "": none */
	bool message_is_error;
};

/* What is on the screen that a key may be about. */
struct us_top_seen {
	size_t n_row, page; /* rows there are, and fit */
	const char *name;   /* of the selected function; NULL: none */
	const char *group;  /* or process, thread, ...; NULL: none */
	unsigned n_vcpu;
	const char *file; /* that a recording would be saved to by default */
};

/* window_ns: as the user wants to begin. */
void us_top_state_init(struct us_top_state *s, bool all, uint64_t window_ns);
void us_top_state_fini(struct us_top_state *s);
/* A regular expression for the names; false: message says what is wrong with it. */
bool us_top_filter(struct us_top_state *s, const char *text);
/* key: a character, or an us_top_key. */
enum us_top_act us_top_press(struct us_top_state *s, unsigned key,
			     const struct us_top_seen *seen);
/* Does the user want only some processes? */
bool us_top_is_filtered(const struct us_top_state *s);
/* Of these rows, or functions: no total is known of what is no function. */
bool us_top_by_total(const struct us_top_state *s);
/* The selected row is one of n, and on the screen. */
void us_top_scroll(struct us_top_state *s, size_t n, size_t page);
void us_top_say(struct us_top_state *s, bool error, const char *fmt, ...)
	__attribute__((__format__(__printf__, 3, 4)));

#endif
