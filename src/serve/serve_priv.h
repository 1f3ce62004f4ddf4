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

#define US_SERVE_LISTENERS 100 /* of /events: others are still answered */
#define US_SERVE_HISTORY   900 /* seconds */
#define US_SERVE_ROWS	   16  /* vCPUs of it */

/* What a vCPU did in a second, in weights of samples. */
struct us_serve_second {
	uint32_t guest, exit, ready, idle;
};

struct us_serve_guest {
	char name[160];
	unsigned number;      /* no other's */
	unsigned users;	      /* threads that use it; the server's lock */
	atomic_bool over;     /* nobody adds to it any more */
	pthread_mutex_t lock; /* of what follows */
	struct us_live *live;
	uint64_t bytes;
	unsigned generation; /* of what was taken in */
	bool ended;
	char words[512]; /* how */
	unsigned n_vcpu;
	uint64_t first, n; /* seconds that are there: from first to n - 1, by modulo */
	struct us_serve_second second[US_SERVE_HISTORY][US_SERVE_ROWS];
	/* Of the list, by the generation they were made for: */
	unsigned row_generation;
	double busy, idle, share; /* share: of the hottest function */
	char hottest[256];
	uint64_t due_ns; /* not looked for again before that */
	double host_cpu; /* us_serve_host_cpu() */
};

struct us_serve {
	struct us_serve_opts o;
	struct us_http *http;
	char token[US_HTTP_TOKEN_SIZE];
	char url[US_SERVE_URL], once[US_SERVE_URL];
	pthread_mutex_t reading; /* so that one recording is in memory, not many */
	pthread_mutex_t lock;	 /* of what follows; a guest's is taken before it */
	struct us_cache cache, live_cache;
	struct us_serve_guest *guest[US_SERVE_GUESTS];
	unsigned n_guest, next_number;
	/* guests.c: once a second */
	pthread_t ticker;
	pthread_cond_t stop;
	bool ticks, stopping;
	unsigned tick;
	int listener[US_SERVE_LISTENERS]; /* ends of pipes to write to; -1: unused */
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
/* A profile as one of the formats; beside: its waits and owners, NULL: none. */
US_MUST_CHECK int us_serve_format(const struct us_serve *s, const struct us_profile *p,
				  const struct us_format *f, const char *name,
				  const struct us_report_opts *beside,
				  struct us_http_body **ret, struct us_err *e);

/* guests.c */
US_MUST_CHECK int us_serve_begin_ticks(struct us_serve *s, struct us_err *e);
void us_serve_end_ticks(struct us_serve *s);
void us_serve_free_guests(struct us_serve *s);
void us_serve_events(struct us_serve *s, struct us_http_reply *r);
/* The guest of this name, or with "" the only one; NULL: none.  For one user more. */
struct us_serve_guest *us_serve_take(struct us_serve *s, const char *name);
/* All of them, each for one user more; how many. */
unsigned us_serve_take_all(struct us_serve *s, struct us_serve_guest **ret);
void us_serve_put(struct us_serve *s, struct us_serve_guest *g);
/* Take in what there is; the guest's lock is held. */
void us_serve_renew(struct us_serve_guest *g);
bool us_serve_stopping(struct us_serve *s);

/* live.c: each for a guest, which is used by the caller */
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
/* The only one that there is, or "". */
const char *us_serve_only(const struct us_serve *s);

#endif
