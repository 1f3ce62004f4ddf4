/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_graph.c: text as of Linux's function_graph tracer
 * (kernel/trace/trace_functions_graph.c) and of Nanos's ftrace (src/unix/ftrace.c).
 * Nanos's tools/trace-utilities/parse-trace.py accepts this form, and skips lines that
 * do not match.
 *
 * System calls are comments in between, like user events in uftrace's text.
 *
 * A function that calls no shown function takes one line, so a line is written only
 * when the vCPU's next one comes.
 */
#include "report/syscall_text.h"
#include "report/trace_format.h"

#include "backend/backend.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pending {
	struct us_replay_span span;
	bool there;
};

struct graph {
	struct pending pending[US_MAX_VCPUS]; /* the function entered last */
	uint16_t on[US_MAX_VCPUS];	      /* the stack that the text is at */
	bool begun[US_MAX_VCPUS];
};

static int begin(struct us_trace_out *o)
{
	o->state = calloc(1, sizeof(struct graph));
	if (!o->state)
		return -ENOMEM;
	fputs("# tracer: function_graph\n"
	      "#\n"
	      "# CPU  DURATION                  FUNCTION CALLS\n"
	      "# |     |   |                     |   |   |   |\n",
	      o->out);
	return 0;
}

/* From a second on, Linux has a '$'; Nanos does not. */
static char mark_of(uint64_t ns)
{
	static const struct {
		uint64_t above;
		char mark;
	} marks[] = {
		{ 100000000, '@' }, { 10000000, '*' }, { 1000000, '#' },
		{ 100000, '!' },    { 10000, '+' },
	};
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (ns > marks[i].above)
			return marks[i].mark;
	return ' ';
}

static char *put_spaces(char *p, unsigned n)
{
	memset(p, ' ', n);
	return p + n;
}

/* Seven columns: as many digits after the decimal point as fit. */
static char *put_duration(char *p, uint64_t ns)
{
	char part[4];
	*p++ = mark_of(ns);
	*p++ = ' ';
	char *begin = p;
	p = us_put_u64(p, ns / 1000, 1);
	unsigned n = (unsigned)(p - begin);
	unsigned digits = n > 6 ? 0 : n > 4 ? 7 - n : 3;
	us_put_u64(part, ns % 1000, 3);
	if (digits)
		*p++ = '.';
	memcpy(p, part, digits);
	p += digits;
	memcpy(p, " us ", 4);
	p += 4;
	n = (unsigned)(p - begin);
	return n < 12 ? put_spaces(p, 12 - n) : p;
}

/* Not printf(): it would take most of the time. */
static void print_head(FILE *out, const struct us_replay_span *s, bool duration)
{
	char line[128], *p = line;
	unsigned indent = 2 * s->depth;
	*p++ = ' ';
	p = us_put_u64(p, s->vcpu, 1);
	*p++ = ')';
	*p++ = ' ';
	p = duration ? put_duration(p, s->end_ns - s->begin_ns) : put_spaces(p, 14);
	*p++ = '|';
	p = put_spaces(p, 2);
	for (; indent > 32; indent -= 32) {
		p = put_spaces(p, 32);
		fwrite_unlocked(line, 1, (size_t)(p - line), out);
		p = line;
	}
	p = put_spaces(p, indent);
	fwrite_unlocked(line, 1, (size_t)(p - line), out);
}

/* "NAME-NUMBER", with only letters, digits and underscores. */
static void print_stack(const struct us_trace_out *o, uint16_t stack)
{
	const char *name = us_trace_stack_name(o, stack);
	for (; *name; name++)
		fputc(isalnum((unsigned char)*name) ? *name : '_', o->out);
	fprintf(o->out, "-%u", stack);
}

/* What follows belongs to this stack.  As in Linux, write a line if the stack changed.
 * Readers begin with stack 0. */
static void go_to(const struct us_trace_out *o, const struct us_replay_span *s)
{
	static const char line[] = "------------------------------------------";
	struct graph *g = o->state;
	bool begun = g->begun[s->vcpu];
	uint16_t from = g->on[s->vcpu];
	g->begun[s->vcpu] = true;
	g->on[s->vcpu] = s->stack;
	if (s->stack == from)
		return;
	fprintf(o->out, "%s\n %u) ", line, s->vcpu);
	if (begun)
		print_stack(o, from);
	else
		fputs("unknown-0", o->out);
	fputs("  => ", o->out);
	print_stack(o, s->stack);
	fprintf(o->out, "\n%s\n", line);
}

static void arrow(FILE *out, const struct us_replay_span *s, bool in)
{
	if (s->interrupt)
		fprintf(out, " %u)   %s|\n", s->vcpu,
			in ? "==========> " : "<========== ");
}

static void flush(struct us_trace_out *o, struct pending *p)
{
	if (!p->there)
		return;
	p->there = false;
	go_to(o, &p->span);
	arrow(o->out, &p->span, true);
	print_head(o->out, &p->span, false);
	fputs_unlocked(o->name[p->span.function], o->out);
	fputs_unlocked(p->span.known ? "() {\n" : "() { /* entered before */\n",
		       o->out);
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	struct us_trace_out *o = ctx;
	struct pending *p = &((struct graph *)o->state)->pending[s->vcpu];
	flush(o, p);
	p->span = *s;
	p->there = true;
	return 0;
}

/* The brace of a function says so if it did not end, or not here.  A brace with a time
 * ends the innermost open function on the vCPU's stack. */
static void close_brace(const struct us_trace_out *o, const struct us_replay_span *s)
{
	const struct graph *g = o->state;
	if (s->ended)
		go_to(o, s);
	print_head(o->out, s, g->on[s->vcpu] == s->stack);
	if (s->known && s->ended)
		fputs_unlocked("}\n", o->out);
	else
		fprintf(o->out, "} /* %s: %s */\n", o->name[s->function],
			s->ended   ? "entered before"
			: s->moved ? "continues on another stack"
				   : "not seen to return");
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	struct us_trace_out *o = ctx;
	struct pending *p = &((struct graph *)o->state)->pending[s->vcpu];
	bool leaf = p->there && p->span.stack == s->stack &&
		    p->span.function == s->function && p->span.depth == s->depth &&
		    (s->ended || s->moved);
	if (leaf && s->moved) {
		p->there = false; /* it is printed where it continues */
		return 0;
	}
	if (leaf) {
		p->there = false;
		go_to(o, s);
		arrow(o->out, s, true);
		print_head(o->out, s, s->known);
		fputs_unlocked(o->name[s->function], o->out);
		fputs_unlocked("();\n", o->out);
	} else {
		flush(o, p);
		close_brace(o, s);
	}
	arrow(o->out, s, false);
	return 0;
}

static void comment_begins(struct us_trace_out *o, const struct us_syscall *c)
{
	char name[US_SYSCALL_NAME];
	flush(o, &((struct graph *)o->state)->pending[c->vcpu]);
	fprintf(o->out, " %u) %14s|  /* %s", c->vcpu, "",
		us_syscall_shown_name(c, name));
}

static int call_begins(void *ctx, const struct us_syscall *c)
{
	struct us_trace_out *o = ctx;
	comment_begins(o, c);
	fputc('(', o->out);
	unsigned n = us_syscall_n_before(c);
	us_syscall_print_args(o->out, c, 0, n);
	if (n < us_syscall_n_args(c))
		fputs(n ? ", ..." : "...", o->out);
	fputs(") */\n", o->out);
	return 0;
}

static int call_ends(void *ctx, const struct us_syscall *c)
{
	struct us_trace_out *o = ctx;
	comment_begins(o, c);
	unsigned n = us_syscall_n_before(c);
	if (n < us_syscall_n_args(c)) {
		fputs(n ? "(..." : "(", o->out);
		us_syscall_print_args(o->out, c, n, US_SYSCALL_ARGS);
		fputc(')', o->out);
	}
	fputs(" = ", o->out);
	us_syscall_print_result(o->out, c);
	fputs(" */\n", o->out);
	return 0;
}

static int end(struct us_trace_out *o)
{
	struct graph *g = o->state;
	for (unsigned i = 0; g && i < US_MAX_VCPUS; i++)
		flush(o, &g->pending[i]);
	free(g);
	return 0;
}

const struct us_trace_format us_trace_format_graph = {
	.name = "graph",
	.suffix = ".txt",
	.summary = "as Linux's function_graph tracer",
	.begin = begin,
	.ops = { .enter = enter,
		 .leave = leave,
		 .calls = { .enter = call_begins, .leave = call_ends } },
	.end = end,
};
