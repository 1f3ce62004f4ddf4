/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_calls.c: the number, failures and time of each system call, as `strace -c -w`
 * prints them.  As there, a call counts when it has returned.
 */
#include "report/syscall_text.h"
#include "report/trace_format.h"

#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct row {
	char name[US_SYSCALL_NAME];
	uint64_t n, n_failed, ns;
};

struct calls {
	struct row *v;
	size_t n, cap;
};

static int begin(struct us_trace_out *o)
{
	o->state = calloc(1, sizeof(struct calls));
	return o->state ? 0 : -ENOMEM;
}

static int enter(void *ctx, const struct us_syscall *c)
{
	(void)ctx;
	(void)c;
	return 0;
}

static struct row *row_of(struct calls *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->v[i].name, name))
			return &s->v[i];
	struct row *r = us_vec_push(s);
	if (r)
		*r = (struct row){ 0 };
	if (r)
		snprintf(r->name, sizeof(r->name), "%s", name);
	return r;
}

static int leave(void *ctx, const struct us_syscall *c)
{
	struct us_trace_out *o = ctx;
	char name[US_SYSCALL_NAME];
	int error;
	if (c->end != US_SYSCALL_DONE && c->end != US_SYSCALL_RESTARTED)
		return 0;
	struct row *r = row_of(o->state, us_syscall_shown_name(c, name));
	if (!r)
		return -ENOMEM;
	r->n++;
	r->ns += c->end_ns - c->begin_ns;
	r->n_failed += c->end == US_SYSCALL_RESTARTED ||
		       (c->has_value && us_syscall_failed(c->value, &error));
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return x->ns > y->ns ? -1 : x->ns < y->ns ? 1 : strcmp(x->name, y->name);
}

static void print_row(FILE *out, const struct row *r, uint64_t all_ns)
{
	char failed[24] = "";
	if (r->n_failed)
		snprintf(failed, sizeof(failed), "%" PRIu64, r->n_failed);
	fprintf(out, "%6.2f %11.6f %11" PRIu64 " %9" PRIu64 " %9s %s\n",
		all_ns ? 100.0 * (double)r->ns / (double)all_ns : 0,
		(double)r->ns / 1e9, r->n ? r->ns / 1000 / r->n : 0, r->n, failed,
		r->name);
}

static int end(struct us_trace_out *o)
{
	static const char line[] = "------ ----------- ----------- --------- --------- "
				   "----------------\n";
	struct calls *s = o->state;
	struct row all = { .name = "total" };
	if (!s || !s->n) { /* that is told, in place of a table */
		free(s);
		return 0;
	}
	qsort(s->v, s->n, sizeof(*s->v), by_time);
	for (size_t i = 0; i < s->n; i++) {
		all.n += s->v[i].n;
		all.n_failed += s->v[i].n_failed;
		all.ns += s->v[i].ns;
	}
	fprintf(o->out,
		"%% time     seconds  usecs/call     calls    errors syscall\n%s",
		line);
	for (size_t i = 0; i < s->n; i++)
		print_row(o->out, &s->v[i], all.ns);
	fputs(line, o->out);
	print_row(o->out, &all, all.ns);
	free(s->v);
	free(s);
	return 0;
}

const struct us_trace_format us_trace_format_calls = {
	.name = "calls",
	.suffix = ".calls",
	.summary = "a table of the system calls, as strace -c",
	.of_calls = true,
	.begin = begin,
	.ops = { .calls = { .enter = enter, .leave = leave } },
	.end = end,
};
