/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.c: see progress.h. */
#include "cmd/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

void us_progress_begin(struct us_progress *p, const char *what, uint64_t duration_ns)
{
	p->on = isatty(STDERR_FILENO);
	p->duration_ns = duration_ns;
	if (p->on)
		fprintf(stderr, "%s: Ctrl-C ends the recording", what);
}

void us_progress_show(struct us_progress *p, const struct us_record_stats *s)
{
	if (!p->on)
		return;
	fprintf(stderr, CLEAR_LINE "%.1f s", (double)s->elapsed_ns / 1e9);
	if (p->duration_ns)
		fprintf(stderr, " of %.1f s", (double)p->duration_ns / 1e9);
	if (p->n_guest)
		fprintf(stderr, ", %u guest%s", p->n_guest, p->n_guest == 1 ? "" : "s");
	fprintf(stderr, ", %" PRIu64 " samples, %" PRIu64 " halted, %" PRIu64 " lost",
		s->running + s->idle + s->off, s->idle, s->lost + s->failed);
	if (s->vcpu_ns)
		fprintf(stderr, ", %.2f %% of the guest's time taken",
			100.0 * (double)s->stolen_ns / (double)s->vcpu_ns);
	fflush(stderr);
}

void us_progress_wait(struct us_progress *p, const char *what)
{
	if (!p->on)
		return;
	fprintf(stderr, CLEAR_LINE "%s", what);
	fflush(stderr);
}

void us_progress_end(struct us_progress *p)
{
	if (p->on)
		fputs(CLEAR_LINE, stderr);
}
