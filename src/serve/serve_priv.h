/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve_priv.h: what the files of the server share. */
#ifndef US_SERVE_PRIV_H
#define US_SERVE_PRIV_H

#include "http/server.h"
#include "http/token.h"
#include "report/report.h"
#include "serve/cache.h"
#include "serve/serve.h"

#include <pthread.h>

struct us_serve {
	struct us_serve_opts o;
	struct us_http *http;
	char token[US_HTTP_TOKEN_SIZE];
	char url[US_SERVE_URL];
	pthread_mutex_t reading; /* so that one recording is in memory, not many */
	pthread_mutex_t lock;	 /* of the cache */
	struct us_cache cache;
};

/* Pages load nothing but what their own policy allows, and stand in no other page. */
#define US_SERVE_POLICY                                                                \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src "     \
	"'none'"
#define US_SERVE_HTML "text/html; charset=utf-8"

/* The message and the hint, as far as they can be shown. */
void us_serve_refuse(struct us_http_reply *r, unsigned status, const struct us_err *e);
/* What was written to a stream in memory becomes the reply's. */
void us_serve_reply(struct us_http_reply *r, char *data, size_t size, const char *type);
/* A profile as one of the formats. */
US_MUST_CHECK int us_serve_format(const struct us_serve *s, const struct us_profile *p,
				  const struct us_format *f, const char *name,
				  struct us_http_body **ret, struct us_err *e);

/* recordings.c */
void us_serve_list(struct us_serve *s, struct us_http_reply *r);
/* As html or pprof. */
void us_serve_recording(struct us_serve *s, const char *name, const struct us_format *f,
			struct us_http_reply *r);
/* The only one that there is, or "". */
const char *us_serve_only(const struct us_serve *s);

#endif
