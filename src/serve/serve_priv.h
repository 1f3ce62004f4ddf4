/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve_priv.h: shared by the files of the server. */
#ifndef US_SERVE_PRIV_H
#define US_SERVE_PRIV_H

#include "http/server.h"
#include "http/token.h"
#include "report/report.h"
#include "serve/cache.h"
#include "serve/serve.h"

#include <pthread.h>

#define US_SERVE_LISTENERS                                                             \
	100 /* connections to /events; other requests are still answered */
#define US_SERVE_HISTORY 900 /* seconds */
#define US_SERVE_ROWS	 16  /* vCPUs in the history */

/* What a vCPU did in one second, in weights of samples. */
struct us_serve_second {
	uint32_t guest, exit, ready, idle;
};

struct us_serve_guest {
	char name[160];
	unsigned number;      /* unique */
	unsigned users;	      /* threads that use it; under the server's lock */
	atomic_bool over;     /* nothing is added any more */
	pthread_mutex_t lock; /* for the following members */
	struct us_live *live;
	uint64_t bytes;
	unsigned generation; /* of the data read so far */
	bool ended;
	char words[512]; /* how it ended */
	unsigned n_vcpu;
	uint64_t first, n; /* seconds from first to n - 1 are stored, modulo the size */
	struct us_serve_second second[US_SERVE_HISTORY][US_SERVE_ROWS];
	/* For the list, made for row_generation: */
	unsigned row_generation;
	double busy, idle, share; /* share: the hottest function's */
	char hottest[256];
	uint64_t due_ns; /* not made again before this time */
	double host_cpu; /* us_serve_host_cpu() */
};

struct us_serve {
	struct us_serve_opts o;
	struct us_http *http;
	char token[US_HTTP_TOKEN_SIZE];
	char url[US_SERVE_URL], once[US_SERVE_URL];
	pthread_mutex_t reading; /* so that only one recording at a time is in memory */
	/* For the following members; a guest's lock is taken first. */
	pthread_mutex_t lock;
	struct us_cache cache, live_cache;
	struct us_serve_guest *guest[US_SERVE_GUESTS];
	unsigned n_guest, next_number;
	/* guests.c: once a second */
	pthread_t ticker;
	pthread_cond_t stop;
	bool ticks, stopping;
	unsigned tick;
	int listener[US_SERVE_LISTENERS]; /* write ends of pipes; -1: unused */
};

/* Pages load only what their own policy allows, and cannot be embedded. */
#define US_SERVE_POLICY                                                                \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src "     \
	"'none'"
#define US_SERVE_HTML "text/html; charset=utf-8"

/* Reply with the message and the hint, as far as they can be shown. */
void us_serve_refuse(struct us_http_reply *r, unsigned status, const struct us_err *e);
/* Reply with what was written to a memory stream. */
void us_serve_reply(struct us_http_reply *r, char *data, size_t size, const char *type);
/* A profile in one of the formats; beside: with its waits and owners; NULL: none. */
US_MUST_CHECK int us_serve_format(const struct us_serve *s, const struct us_profile *p,
				  const struct us_format *f, const char *name,
				  const struct us_report_opts *beside,
				  struct us_http_body **ret, struct us_err *e);

/* guests.c */
US_MUST_CHECK int us_serve_begin_ticks(struct us_serve *s, struct us_err *e);
void us_serve_end_ticks(struct us_serve *s);
void us_serve_free_guests(struct us_serve *s);
void us_serve_events(struct us_serve *s, struct us_http_reply *r);
/* The guest of this name, or with "" the only one; NULL: none.  Adds a user. */
struct us_serve_guest *us_serve_take(struct us_serve *s, const char *name);
/* All guests, each with one more user; returns how many. */
unsigned us_serve_take_all(struct us_serve *s, struct us_serve_guest **ret);
void us_serve_put(struct us_serve *s, struct us_serve_guest *g);
/* Read the new data; the guest's lock is held. */
void us_serve_renew(struct us_serve_guest *g);
bool us_serve_stopping(struct us_serve *s);

/* live.c: each is for a guest that the caller uses */
void us_serve_data(struct us_serve *s, struct us_serve_guest *g,
		   const struct us_http_request *q, struct us_http_reply *r);
void us_serve_history(struct us_serve_guest *g, const struct us_http_request *q,
		      struct us_http_reply *r);
void us_serve_pprof(struct us_serve *s, struct us_serve_guest *g,
		    const struct us_http_request *q, struct us_http_reply *r);
void us_serve_guests(struct us_serve *s, struct us_http_reply *r);

/* recordings.c */
void us_serve_list(struct us_serve *s, struct us_http_reply *r);
/* As html or pprof. */
void us_serve_recording(struct us_serve *s, const char *name, const struct us_format *f,
			struct us_http_reply *r);
/* The only recording, or "". */
const char *us_serve_only(const struct us_serve *s);

#endif
