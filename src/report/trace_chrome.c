/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_chrome.c: the Trace Event Format (JSON), which Perfetto's and Chrome's viewers,
 * speedscope and others open.  Each of the guest's stacks is a thread.
 *
 * There are no args: speedscope takes one function with different args for several.
 */
#include "report/trace_format.h"

#include "base/json.h"
#include "base/vec.h"
#include "report/syscall_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct chrome {
	struct {
		char **v; /* names as JSON, by function; made when they are needed */
		size_t n, cap;
	} names;
	uint64_t after_ns[US_REPLAY_STACKS]; /* earliest time of the next event */
	bool named[US_REPLAY_STACKS];
	bool some;
	uint32_t n_thread; /* number of threads that make system calls */
};

static int begin(struct us_trace_out *o)
{
	o->state = calloc(1, sizeof(struct chrome));
	if (!o->state)
		return -ENOMEM;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", o->out);
	return 0;
}

static char *as_json(const char *text)
{
	char *s = NULL;
	size_t n;
	FILE *out = open_memstream(&s, &n);
	if (!out)
		return NULL;
	struct us_json j = us_json_to(out);
	us_json_str(&j, NULL, text);
	fclose(out);
	return s;
}

static const char *name_of(struct us_trace_out *o, uint32_t function)
{
	struct chrome *c = o->state;
	while (c->names.n <= function) {
		char **slot = us_vec_push(&c->names);
		if (!slot)
			return NULL;
	}
	char **name = &c->names.v[function];
	if (!*name)
		*name = as_json(o->name[function]);
	return *name;
}

static const char *comma(struct chrome *c)
{
	bool some = c->some;
	c->some = true;
	return some ? ",\n" : "";
}

static int name_stack(struct us_trace_out *o, const struct us_replay_span *s)
{
	struct chrome *c = o->state;
	char text[256];
	if (c->named[s->stack])
		return 0;
	c->named[s->stack] = true;
	snprintf(text, sizeof(text), "%.200s (stack %u)",
		 us_trace_stack_name(o, s->stack), s->stack);
	char *name = as_json(text);
	if (!name)
		return -ENOMEM;
	fprintf(o->out,
		"%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%u,"
		"\"args\":{\"name\":%s}}",
		comma(c), s->stack, name);
	free(name);
	return 0;
}

/* The reader orders two events of a stack at the same time: speedscope begins the later
 * function before it ends the earlier one.  So keep them a nanosecond apart. */
static uint64_t apart(struct chrome *c, uint16_t stack, uint64_t t_ns)
{
	uint64_t t = t_ns > c->after_ns[stack] ? t_ns : c->after_ns[stack];
	c->after_ns[stack] = t + 1;
	return t;
}

static int print(struct us_trace_out *o, const struct us_replay_span *s, char ph,
		 uint64_t t_ns)
{
	const char *name = name_of(o, s->function);
	int rc = name ? name_stack(o, s) : -ENOMEM;
	if (rc)
		return rc;
	t_ns = apart(o->state, s->stack, t_ns);
	fprintf(o->out,
		"%s{\"ph\":\"%c\",\"name\":%s,\"cat\":\"%s\",\"pid\":1,\"tid\":%u,"
		"\"ts\":%" PRIu64 ".%03u}",
		comma(o->state), ph, name, s->interrupt ? "interrupt" : "function",
		s->stack, t_ns / 1000, (unsigned)(t_ns % 1000));
	return 0;
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	return print(ctx, s, 'B', s->begin_ns);
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	return print(ctx, s, 'E', s->end_ns);
}

static int call_begins(void *ctx, const struct us_syscall *c)
{
	(void)ctx;
	(void)c;
	return 0;
}

/* In a separate process: threads of system calls are not the stacks of functions. */
static int call_ends(void *ctx, const struct us_syscall *c)
{
	struct us_trace_out *o = ctx;
	struct chrome *chrome = o->state;
	char buf[US_SYSCALL_NAME], *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return -ENOMEM;
	us_syscall_print_args(out, c, 0, US_SYSCALL_ARGS);
	fputs(") = ", out);
	us_syscall_print_result(out, c);
	fclose(out);
	char *name = as_json(us_syscall_shown_name(c, buf)), *args = as_json(text);
	uint64_t ns = c->end_ns - c->begin_ns;
	if (name && args)
		fprintf(o->out,
			"%s{\"ph\":\"X\",\"name\":%s,\"cat\":\"syscall\",\"pid\":2,"
			"\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64
			".%03u,\"args\":{\"call\":%s,\"cpu\":%u}}",
			comma(chrome), name, c->thread, c->begin_ns / 1000,
			(unsigned)(c->begin_ns % 1000), ns / 1000,
			(unsigned)(ns % 1000), args, c->vcpu);
	if (c->thread > chrome->n_thread)
		chrome->n_thread = c->thread;
	int rc = name && args ? 0 : -ENOMEM;
	free(name);
	free(args);
	free(text);
	return rc;
}

static void name_thread(struct us_trace_out *o, uint32_t i)
{
	struct us_syscall_thread t = us_syscalls_thread(us_replay_syscalls(o->replay),
							i);
	char text[256], tid[32] = "";
	if (t.tid)
		snprintf(tid, sizeof(tid), " (tid %" PRIu64 ")", t.tid);
	snprintf(text, sizeof(text), "%.150s%s", *t.program ? t.program : "thread",
		 tid);
	char *name = as_json(text);
	if (name)
		fprintf(o->out,
			"%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":2,\"tid\":%u,"
			"\"args\":{\"name\":%s}}",
			comma(o->state), i, name);
	free(name);
}

static void name_threads(struct us_trace_out *o)
{
	struct chrome *c = o->state;
	if (!c || !c->n_thread)
		return;
	fprintf(o->out,
		"%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,"
		"\"args\":{\"name\":\"system calls\"}}",
		comma(c));
	for (uint32_t i = 1; i <= c->n_thread; i++)
		name_thread(o, i);
}

static int end(struct us_trace_out *o)
{
	struct chrome *c = o->state;
	name_threads(o);
	fputs("\n]}\n", o->out);
	for (size_t i = 0; c && i < c->names.n; i++)
		free(c->names.v[i]);
	if (c)
		free(c->names.v);
	free(c);
	return 0;
}

const struct us_trace_format us_trace_format_chrome = {
	.name = "chrome",
	.suffix = ".json",
	.summary = "Trace Event Format: ui.perfetto.dev, speedscope, Chrome",
	.begin = begin,
	.ops = { .enter = enter,
		 .leave = leave,
		 .calls = { .enter = call_begins, .leave = call_ends } },
	.end = end,
};
