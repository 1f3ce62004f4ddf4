/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serving.h: what the commands that serve pages have in common.
 *
 *	us_serving_open()	it is bound; before anything is done to a guest
 *	us_serving_tell()	the URL; a browser is started
 *	us_serving_begin()	from now on it answers
 *	us_serving_add()	a guest whose recording has begun
 *	us_serving_close()
 */
#ifndef US_CMD_SERVING_H
#define US_CMD_SERVING_H

#include "cmd/record/fleet.h"
#include "cmd/record/one.h"
#include "serve/serve.h"

struct us_serving {
	/* The user's; the rest is 0. */
	const char *listen; /* NULL: the usual address */
	bool no_open;

	char address[16]; /* of --port */
	struct us_serve *serve;
	int code; /* of the thread that begins it */
	struct us_err e;
};

/* --port N; false: the user was told what is wrong. */
bool us_serving_port(struct us_serving *s, const struct us_cmd *cmd, const char *value);
/* o: all but the address. */
US_MUST_CHECK int us_serving_open(struct us_serving *s, const struct us_serve_opts *o,
				  struct us_err *e);
/* While the process still has the right to become the user who has called sudo. */
void us_serving_tell(const struct us_serving *s, FILE *out);
/* Threads that serve may read files, and have no other right. */
US_MUST_CHECK int us_serving_begin(struct us_serving *s, struct us_err *e);
/* NULL: it cannot be served, and the user was told. */
struct us_serve_guest *us_serving_add(struct us_serving *s,
				      const struct us_recording *r);
/* Once a second, where guests are listed: what their VMMs take; each member's user is
 * its served guest, or NULL. */
void us_serving_renew(struct us_fleet *f);
void us_serving_close(struct us_serving *s); /* accepts one that was not opened */

#endif
