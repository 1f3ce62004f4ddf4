/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_csv.c: a line for each call, when it has returned, with the columns of Nanos's
 * parse-trace.py: function,tid,latency_us,latency_us_self.  System calls have their own
 * lines, with the number of the thread.  Names with a comma or a quotation mark are
 * quoted (RFC 4180).  The file is valid UTF-8, and each call has one line.
 */
#include "report/syscall_text.h"
#include "report/trace_format.h"

#include "base/text.h"
#include "symbol/demangle.h"

#include <string.h>

static int begin(struct us_trace_out *o)
{
	fputs("function,tid,latency_us,latency_us_self\n", o->out);
	return 0;
}

/* Millions of lines have such a name. */
static bool is_plain(const char *name)
{
	while (*name >= ' ' && *name <= '~' && *name != ',' && *name != '"')
		name++;
	return !*name;
}

static void print_name(FILE *out, const char *name)
{
	char safe[US_DEMANGLED_MAX];
	if (is_plain(name)) {
		fputs_unlocked(name, out);
		return;
	}
	us_printable(safe, sizeof(safe), name);
	if (!strpbrk(safe, ",\"")) {
		fputs_unlocked(safe, out);
		return;
	}
	putc_unlocked('"', out);
	for (name = safe; *name; name++) {
		if (*name == '"')
			putc_unlocked('"', out);
		putc_unlocked(*name, out);
	}
	putc_unlocked('"', out);
}

static char *put_us(char *p, uint64_t ns)
{
	*p++ = ',';
	p = us_put_u64(p, ns / 1000, 1);
	*p++ = '.';
	return us_put_u64(p, ns % 1000, 3);
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	(void)ctx;
	(void)s;
	return 0;
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	struct us_trace_out *o = ctx;
	char line[80], *p = line;
	if (!s->known || !s->ended)
		return 0;
	print_name(o->out, o->name[s->function]);
	*p++ = ',';
	p = us_put_u64(p, s->stack, 1);
	p = put_us(p, s->end_ns - s->begin_ns);
	p = put_us(p, s->self_ns);
	*p++ = '\n';
	fwrite_unlocked(line, 1, (size_t)(p - line), o->out);
	return 0;
}

static int call_begins(void *ctx, const struct us_syscall *c)
{
	(void)ctx;
	(void)c;
	return 0;
}

static int call_ends(void *ctx, const struct us_syscall *c)
{
	struct us_trace_out *o = ctx;
	char name[US_SYSCALL_NAME], line[80], *p = line;
	if (c->end != US_SYSCALL_DONE)
		return 0;
	print_name(o->out, us_syscall_shown_name(c, name));
	*p++ = ',';
	p = us_put_u64(p, c->thread, 1);
	p = put_us(p, c->end_ns - c->begin_ns);
	p = put_us(p, c->end_ns - c->begin_ns);
	*p++ = '\n';
	fwrite_unlocked(line, 1, (size_t)(p - line), o->out);
	return 0;
}

const struct us_trace_format us_trace_format_csv = {
	.name = "csv",
	.suffix = ".csv",
	.summary = "a line for each call: function,tid,latency_us,latency_us_self",
	.begin = begin,
	.ops = { .enter = enter,
		 .leave = leave,
		 .calls = { .enter = call_begins, .leave = call_ends } },
};
