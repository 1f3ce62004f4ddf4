/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serving.h: shared by the commands that serve pages.
 *
 * us_serving_open()   bind; before anything is done to a guest
 * us_serving_tell()   print the URL, start a browser
 * us_serving_begin()  from now on it answers
 * us_serving_add()    a guest whose recording has begun
 * us_serving_close()
 */
#ifndef US_CMD_SERVING_H
#define US_CMD_SERVING_H

#include "cmd/record/fleet.h"
#include "cmd/record/one.h"
#include "serve/serve.h"

struct us_serving {
	/* From the user; the rest is 0. */
	const char *listen; /* NULL: the default address */
	const char *host_name;
	bool no_open;

	char address[16]; /* from --port */
	struct us_serve *serve;
	int code; /* result of the thread that begins it */
	struct us_err e;
};

/* --port N; false: the user was told what is wrong. */
bool us_serving_port(struct us_serving *s, const struct us_cmd *cmd, const char *value);
/* Is it an address to listen on, or NULL?  False: the user was told. */
bool us_serving_is_address(const struct us_cmd *cmd, const char *option,
			   const char *value);
/* o: all but the address. */
US_MUST_CHECK int us_serving_open(struct us_serving *s, const struct us_serve_opts *o,
				  struct us_err *e);
/* Call it while the process may still become the user who called sudo. */
void us_serving_tell(const struct us_serving *s, FILE *out);
/* The serving threads may read files, and have no other right. */
US_MUST_CHECK int us_serving_begin(struct us_serving *s, struct us_err *e);
/* NULL: the guest cannot be served, and the user was told. */
struct us_serve_guest *us_serving_add(struct us_serving *s,
				      const struct us_recording *r);
/* Call it once a second where guests are listed: updates the CPU use of their VMMs.
 * Each member's user is its served guest, or NULL. */
void us_serving_renew(struct us_fleet *f);
void us_serving_close(struct us_serving *s); /* accepts one that was not opened */

#endif
