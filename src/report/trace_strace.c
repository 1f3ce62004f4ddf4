/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_strace.c: the system calls of a trace, as `strace -f -ttt -T -o FILE` writes
 * them: thread, seconds, the call, its result, and its duration in angle brackets.  A
 * call that has not returned when another thread's begins is split in two.
 */
#include "report/syscall_text.h"
#include "report/trace_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct strace {
	struct us_syscall last; /* entered, but not written yet */
	bool there;
};

static int begin(struct us_trace_out *o)
{
	o->state = calloc(1, sizeof(struct strace));
	return o->state ? 0 : -ENOMEM;
}

static void print_head(FILE *out, const struct us_syscall *c, uint64_t t_ns)
{
	fprintf(out, "%-5" PRIu32 " %4" PRIu64 ".%06u ", c->thread, t_ns / 1000000000,
		(unsigned)(t_ns % 1000000000 / 1000));
}

static void print_call(FILE *out, const struct us_syscall *c, unsigned n)
{
	char name[US_SYSCALL_NAME];
	print_head(out, c, c->begin_ns);
	fprintf(out, "%s(", us_syscall_shown_name(c, name));
	us_syscall_print_args(out, c, 0, n);
}

static void print_end(FILE *out, const struct us_syscall *c)
{
	uint64_t ns = c->end_ns - c->begin_ns;
	fputs(") = ", out);
	us_syscall_print_result(out, c);
	if (c->end != US_SYSCALL_NO_RETURN && c->end != US_SYSCALL_UNFINISHED)
		fprintf(out, " <%" PRIu64 ".%06u>", ns / 1000000000,
			(unsigned)(ns % 1000000000 / 1000));
	fputc('\n', out);
}

static void flush(struct us_trace_out *o)
{
	struct strace *s = o->state;
	if (!s->there)
		return;
	s->there = false;
	print_call(o->out, &s->last, us_syscall_n_before(&s->last));
	fputs(" <unfinished ...>\n", o->out);
}

static int enter(void *ctx, const struct us_syscall *c)
{
	struct us_trace_out *o = ctx;
	struct strace *s = o->state;
	flush(o);
	s->last = *c;
	s->there = true;
	return 0;
}

static int leave(void *ctx, const struct us_syscall *c)
{
	struct us_trace_out *o = ctx;
	struct strace *s = o->state;
	char name[US_SYSCALL_NAME];
	if (s->there && s->last.thread == c->thread &&
	    s->last.begin_ns == c->begin_ns && s->last.number == c->number) {
		s->there = false;
		print_call(o->out, c, US_SYSCALL_ARGS);
	} else {
		flush(o);
		print_head(o->out, c, c->end_ns);
		fprintf(o->out, "<... %s resumed>", us_syscall_shown_name(c, name));
		us_syscall_print_args(o->out, c, us_syscall_n_before(c),
				      US_SYSCALL_ARGS);
	}
	print_end(o->out, c);
	return 0;
}

static int end(struct us_trace_out *o)
{
	if (o->state)
		flush(o);
	free(o->state);
	return 0;
}

const struct us_trace_format us_trace_format_strace = {
	.name = "strace",
	.suffix = ".strace",
	.summary = "system calls, as strace -f -ttt -T",
	.of_calls = true,
	.begin = begin,
	.ops = { .calls = { .enter = enter, .leave = leave } },
	.end = end,
};
