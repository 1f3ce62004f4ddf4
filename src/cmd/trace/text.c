/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/text.c: see cmd/trace/text.h. */
#include "cmd/trace/text.h"

#include "report/trace_format.h"
#include "trace/events_read.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUND_MS 20
#define NICE	 10 /* the guest and its recording come first */

/* A text being written. */
struct printing {
	struct us_trace_text *text;
	struct us_events_file file;
	struct us_trace_printer *printer;
	FILE *out;
};

static int on_functions(void *ctx, uint32_t first, const uint64_t *address, size_t n,
			struct us_err *e)
{
	struct printing *p = ctx;
	int rc = 0;
	(void)e;
	pthread_mutex_lock(p->text->lock);
	for (size_t i = 0; i < n && !rc; i++)
		rc = us_trace_printer_function(
			p->printer, first + (uint32_t)i,
			__atomic_load_n(&address[i], __ATOMIC_RELAXED));
	pthread_mutex_unlock(p->text->lock);
	return rc;
}

static int on_events(void *ctx, unsigned vcpu, const uint64_t *record, size_t n,
		     struct us_err *e)
{
	(void)e;
	return us_trace_printer_events(((struct printing *)ctx)->printer, vcpu, record,
				       n);
}

/* End the text if nobody reads it any more. */
static int on_until(void *ctx, uint64_t t_ns, struct us_err *e)
{
	struct printing *p = ctx;
	int rc = us_trace_printer_until(p->printer, t_ns);
	(void)e;
	return rc ? rc : fflush(p->out) || ferror(p->out) ? -EPIPE : 0;
}

/* Print what came since; like Linux's trace_pipe, report what was lost. */
static int take(struct printing *p, struct us_err *e)
{
	const struct us_events_sink sink = { .functions = on_functions,
					     .events = on_events,
					     .until = on_until,
					     .ctx = p };
	uint64_t lost = p->file.n_lost;
	int rc = us_events_take(&p->file, &sink, e);
	if (!rc && p->file.n_lost > lost)
		fprintf(p->out, "# [LOST %" PRIu64 " EVENTS]\n", p->file.n_lost - lost);
	return rc;
}

/* Print until the trace ends or the reader goes away. */
static void follow(struct printing *p, struct us_err *e)
{
	struct pollfd reader = { .fd = p->text->to };
	bool last = false;
	while (!take(p, e) && !last) {
		last = atomic_load(p->text->over);
		if (!last && poll(&reader, 1, ROUND_MS) > 0)
			return; /* POLLERR: the other end is closed */
	}
}

static void print(struct us_trace_text *t, FILE *out)
{
	struct printing p = { .text = t, .out = out };
	const struct us_trace_report_opts o = { .format = &us_trace_format_graph };
	struct us_trace_report_result result;
	struct us_err e = { 0 };
	if (us_events_open(t->path, &p.file, &e))
		return;
	const struct us_trace_source s = {
		.symbols = t->symbols, .insn_ns = p.file.head.has_time ? 0 : t->insn_ns
	};
	if (!us_trace_printer_new(&s, &o, out, &p.printer, &e)) {
		us_events_beside(&p.file, t->follow);
		fflush(out);
		if (t->follow)
			follow(&p, &e);
		else if (take(&p, &e))
			e.code = -EPIPE;
		if (us_trace_printer_end(p.printer, !e.code, &result))
			e.code = -EPIPE; /* the text is short, and nobody reads it */
	}
	us_trace_printer_free(p.printer);
	us_events_close(&p.file);
}

static void *run(void *arg)
{
	struct us_trace_text *t = arg;
	FILE *out = fdopen(t->to, "w");
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	if (out) {
		print(t, out);
		fclose(out);
	} else {
		close(t->to);
	}
	atomic_store(&t->done, true);
	return NULL;
}

int us_trace_text_start(struct us_trace_text *t, struct us_err *e)
{
	sigset_t all, old;
	atomic_init(&t->done, false);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&t->thread, NULL, run, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc ? us_fail(e, -rc, "start a thread: %s", strerror(rc)) : 0;
}
