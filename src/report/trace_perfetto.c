/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_perfetto.c: Perfetto's own format, for ui.perfetto.dev and trace_processor: a
 * Trace of packets (protos/perfetto/trace/trace_packet.proto there).
 *
 * The guest is a process, and each of its stacks a thread with a slice for each call.
 * Each vCPU is a track that shows which stack was on it.  Names are written once, and
 * referred to by number.
 */
#include "report/trace_format.h"

#include "report/syscall_text.h"

#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "backend/backend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_PACKET = 1 };

enum packet {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
};

enum sequence_flags { STATE_CLEARED = 1, NEEDS_STATE = 2 };

enum track_descriptor {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
};

enum track_event {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_NAME = 23,
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_STRING = 6,
};

enum event_type { SLICE_BEGIN = 1, SLICE_END = 2 };

enum interned {
	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_IID = 1,
	INTERNED_NAME = 2,
};

enum category { CATEGORY_FUNCTION = 1, CATEGORY_INTERRUPT, CATEGORY_SYSCALL };

#define SEQUENCE    1
#define PID	    1
#define PROCESS	    1U /* tracks: */
#define STACK(n)    (3U + (n))
#define VCPU(n)	    (1000000U + (n))
#define CALLS	    2U		     /* the process of system calls */
#define CALLER(n)   (2000000U + (n)) /* one of its threads */
#define CPU_NAME    1		     /* of annotations */
#define CALL_NAME   2
#define NAME_OF(fn) (1U + (fn))

struct perfetto {
	struct us_protobuf packet, part, item;
	bool *named; /* by function */
	size_t n_named;
	bool stack[US_REPLAY_STACKS];
	uint64_t last_ns[US_REPLAY_STACKS]; /* of the last event on its track */
	bool vcpu[US_MAX_VCPUS], running[US_MAX_VCPUS];
	uint32_t n_caller; /* number of threads that make system calls */
};

/* A packet is a field of the file's one message, Trace. */
static int write_packet(const struct us_trace_out *o)
{
	struct perfetto *x = o->state;
	us_protobuf_u64(&x->packet, PACKET_SEQUENCE_ID, SEQUENCE);
	struct us_protobuf *framed = us_protobuf_clear(&x->part);
	us_protobuf_message(framed, TRACE_PACKET, &x->packet);
	if (framed->failed)
		return -ENOMEM;
	fwrite_unlocked(framed->v, 1, framed->n, o->out);
	return 0;
}

static void intern(struct us_protobuf *data, struct us_protobuf *item, uint32_t kind,
		   uint64_t iid, const char *name)
{
	us_protobuf_u64(us_protobuf_clear(item), INTERNED_IID, iid);
	us_protobuf_str(item, INTERNED_NAME, name);
	us_protobuf_message(data, kind, item);
}

static const char *title(const struct us_trace_out *o)
{
	const char *guest = o->profile ? us_profile_fact(o->profile, "guest") : NULL;
	return guest ? guest : "guest";
}

/* Write into the packet, which must be empty. */
static void describe_process(struct perfetto *x, uint32_t track, unsigned pid,
			     const char *name)
{
	us_protobuf_u64(us_protobuf_clear(&x->item), PROCESS_PID, pid);
	us_protobuf_str(&x->item, PROCESS_NAME, name);
	us_protobuf_u64(us_protobuf_clear(&x->part), TRACK_UUID, track);
	us_protobuf_message(&x->part, TRACK_PROCESS, &x->item);
	us_protobuf_message(us_protobuf_clear(&x->packet), PACKET_TRACK_DESCRIPTOR,
			    &x->part);
}

static int tell_thread(const struct us_trace_out *o, uint32_t track, uint32_t process,
		       uint64_t tid, const char *name)
{
	struct perfetto *x = o->state;
	us_protobuf_u64(us_protobuf_clear(&x->item), THREAD_PID, process);
	us_protobuf_u64(&x->item, THREAD_TID, tid);
	us_protobuf_str(&x->item, THREAD_NAME, name);
	us_protobuf_u64(us_protobuf_clear(&x->part), TRACK_UUID, track);
	us_protobuf_u64(&x->part, TRACK_PARENT, process);
	us_protobuf_message(&x->part, TRACK_THREAD, &x->item);
	us_protobuf_message(us_protobuf_clear(&x->packet), PACKET_TRACK_DESCRIPTOR,
			    &x->part);
	return write_packet(o);
}

static int begin(struct us_trace_out *o)
{
	struct perfetto *x = calloc(1, sizeof(*x));
	char safe[1024];
	o->state = x;
	if (!x)
		return -ENOMEM;
	describe_process(x, PROCESS, PID, us_printable(safe, sizeof(safe), title(o)));
	struct us_protobuf *data = us_protobuf_clear(&x->part);
	intern(data, &x->item, INTERNED_CATEGORIES, CATEGORY_FUNCTION, "function");
	intern(data, &x->item, INTERNED_CATEGORIES, CATEGORY_INTERRUPT, "interrupt");
	intern(data, &x->item, INTERNED_CATEGORIES, CATEGORY_SYSCALL, "syscall");
	intern(data, &x->item, INTERNED_ANNOTATION_NAMES, CPU_NAME, "cpu");
	intern(data, &x->item, INTERNED_ANNOTATION_NAMES, CALL_NAME, "call");
	us_protobuf_message(&x->packet, PACKET_INTERNED_DATA, data);
	us_protobuf_u64(&x->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED | NEEDS_STATE);
	return write_packet(o);
}

/* Write the name of a stack before its first event. */
static int tell_stack(const struct us_trace_out *o, uint16_t stack)
{
	struct perfetto *x = o->state;
	char safe[512], name[600];
	if (x->stack[stack])
		return 0;
	x->stack[stack] = true;
	us_printable(safe, sizeof(safe), us_trace_stack_name(o, stack));
	snprintf(name, sizeof(name), "%s (stack %u)", safe, stack);
	/* 0 is Linux's idle task. */
	return tell_thread(o, STACK(stack), PROCESS, 1U + stack, name);
}

static int tell_vcpu(const struct us_trace_out *o, unsigned vcpu)
{
	struct perfetto *x = o->state;
	char name[24];
	if (x->vcpu[vcpu])
		return 0;
	x->vcpu[vcpu] = true;
	snprintf(name, sizeof(name), "vCPU %u", vcpu);
	us_protobuf_u64(us_protobuf_clear(&x->part), TRACK_UUID, VCPU(vcpu));
	us_protobuf_str(&x->part, TRACK_NAME, name);
	us_protobuf_u64(&x->part, TRACK_PARENT, PROCESS);
	us_protobuf_message(us_protobuf_clear(&x->packet), PACKET_TRACK_DESCRIPTOR,
			    &x->part);
	return write_packet(o);
}

static bool *named(struct perfetto *x, uint32_t function)
{
	if (function >= x->n_named) {
		size_t n = 2 * (size_t)function + 64;
		bool *v = realloc(x->named, n);
		if (!v)
			return NULL;
		memset(v + x->n_named, 0, n - x->n_named);
		x->named = v;
		x->n_named = n;
	}
	return &x->named[function];
}

/* Write the name of a function in the packet that uses it first. */
static int name_function(const struct us_trace_out *o, uint32_t function)
{
	struct perfetto *x = o->state;
	char safe[2048];
	bool *done = named(x, function);
	if (!done || *done)
		return done ? 0 : -ENOMEM;
	*done = true;
	intern(us_protobuf_clear(&x->part), &x->item, INTERNED_NAMES, NAME_OF(function),
	       us_printable(safe, sizeof(safe), o->name[function]));
	us_protobuf_message(&x->packet, PACKET_INTERNED_DATA, &x->part);
	return 0;
}

static void begin_event(struct perfetto *x, uint64_t t_ns)
{
	us_protobuf_u64(us_protobuf_clear(&x->packet), PACKET_TIMESTAMP, t_ns);
	us_protobuf_u64(&x->packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	const struct us_trace_out *o = ctx;
	struct perfetto *x = o->state;
	int rc = tell_stack(o, s->stack);
	/* A call from another stack may have begun before the last event on this one.
	 */
	uint64_t *last = &x->last_ns[s->stack];
	*last = s->begin_ns > *last ? s->begin_ns : *last;
	begin_event(x, *last);
	if (!rc)
		rc = name_function(o, s->function);
	if (rc)
		return rc;
	us_protobuf_u64(us_protobuf_clear(&x->item), ANNOTATION_NAME_IID, CPU_NAME);
	us_protobuf_u64(&x->item, ANNOTATION_UINT, s->vcpu);
	us_protobuf_u64(us_protobuf_clear(&x->part), EVENT_CATEGORY_IIDS,
			s->interrupt ? CATEGORY_INTERRUPT : CATEGORY_FUNCTION);
	us_protobuf_message(&x->part, EVENT_ANNOTATIONS, &x->item);
	us_protobuf_u64(&x->part, EVENT_TYPE, SLICE_BEGIN);
	us_protobuf_u64(&x->part, EVENT_NAME_IID, NAME_OF(s->function));
	us_protobuf_u64(&x->part, EVENT_TRACK_UUID, STACK(s->stack));
	us_protobuf_message(&x->packet, PACKET_TRACK_EVENT, &x->part);
	return write_packet(o);
}

static int end_slice(const struct us_trace_out *o, uint32_t track, uint64_t t_ns)
{
	struct perfetto *x = o->state;
	begin_event(x, t_ns);
	us_protobuf_u64(us_protobuf_clear(&x->part), EVENT_TYPE, SLICE_END);
	us_protobuf_u64(&x->part, EVENT_TRACK_UUID, track);
	us_protobuf_message(&x->packet, PACKET_TRACK_EVENT, &x->part);
	return write_packet(o);
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	const struct us_trace_out *o = ctx;
	struct perfetto *x = o->state;
	x->last_ns[s->stack] = s->end_ns;
	return end_slice(ctx, STACK(s->stack), s->end_ns);
}

/* From now on the stack `to` is on the vCPU. */
static int move(void *ctx, unsigned vcpu, uint16_t from, uint16_t to, uint64_t t_ns)
{
	const struct us_trace_out *o = ctx;
	struct perfetto *x = o->state;
	char safe[512], name[600];
	bool was = x->running[vcpu];
	bool within = t_ns >= o->opts->from_ns &&
		      (!o->opts->to_ns || t_ns < o->opts->to_ns);
	int rc = within ? tell_vcpu(o, vcpu) : 0;
	(void)from;
	x->running[vcpu] = within;
	if (!rc && was)
		rc = end_slice(o, VCPU(vcpu), t_ns);
	if (rc || !within)
		return rc;
	us_printable(safe, sizeof(safe), us_trace_stack_name(o, to));
	snprintf(name, sizeof(name), "%s (stack %u)", safe, to);
	begin_event(x, t_ns);
	us_protobuf_u64(us_protobuf_clear(&x->part), EVENT_TYPE, SLICE_BEGIN);
	us_protobuf_u64(&x->part, EVENT_TRACK_UUID, VCPU(vcpu));
	us_protobuf_str(&x->part, EVENT_NAME, name);
	us_protobuf_message(&x->packet, PACKET_TRACK_EVENT, &x->part);
	return write_packet(o);
}

/* ---- System calls: their threads are not the stacks of functions ---- */

static int tell_caller(const struct us_trace_out *o, uint32_t thread)
{
	struct us_syscall_thread t = us_syscalls_thread(us_replay_syscalls(o->replay),
							thread);
	char safe[160], name[200], tid[32] = "";
	if (t.tid)
		snprintf(tid, sizeof(tid), " (tid %" PRIu64 ")", t.tid);
	us_printable(safe, sizeof(safe), *t.program ? t.program : "thread");
	snprintf(name, sizeof(name), "%s%s", safe, tid);
	return tell_thread(o, CALLER(thread), CALLS, CALLER(thread), name);
}

/* Describe threads with what is known of them so far; end() may add more. */
static int tell_callers(const struct us_trace_out *o, uint32_t until)
{
	struct perfetto *x = o->state;
	int rc = 0;
	if (!x->n_caller) {
		describe_process(x, CALLS, CALLS, "system calls");
		rc = write_packet(o);
	}
	while (!rc && x->n_caller < until)
		rc = tell_caller(o, ++x->n_caller);
	return rc;
}

/* "(3, 0x7f..., 4096) = 4096" */
static char *call_text(const struct us_syscall *c)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return NULL;
	fputc('(', out);
	us_syscall_print_args(out, c, 0, US_SYSCALL_ARGS);
	fputs(") = ", out);
	us_syscall_print_result(out, c);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static int call_begins(void *ctx, const struct us_syscall *c)
{
	(void)ctx, (void)c;
	return 0;
}

static int call_ends(void *ctx, const struct us_syscall *c)
{
	const struct us_trace_out *o = ctx;
	struct perfetto *x = o->state;
	char buf[US_SYSCALL_NAME], safe[2048];
	_cleanup_free_ char *text = call_text(c);
	int rc = tell_callers(o, c->thread);
	if (rc || !text)
		return rc ? rc : -ENOMEM;
	begin_event(x, c->begin_ns);
	us_protobuf_u64(us_protobuf_clear(&x->part), EVENT_CATEGORY_IIDS,
			CATEGORY_SYSCALL);
	us_protobuf_u64(us_protobuf_clear(&x->item), ANNOTATION_NAME_IID, CPU_NAME);
	us_protobuf_u64(&x->item, ANNOTATION_UINT, c->vcpu);
	us_protobuf_message(&x->part, EVENT_ANNOTATIONS, &x->item);
	us_protobuf_u64(us_protobuf_clear(&x->item), ANNOTATION_NAME_IID, CALL_NAME);
	us_protobuf_str(&x->item, ANNOTATION_STRING,
			us_printable(safe, sizeof(safe), text));
	us_protobuf_message(&x->part, EVENT_ANNOTATIONS, &x->item);
	us_protobuf_u64(&x->part, EVENT_TYPE, SLICE_BEGIN);
	us_protobuf_str(&x->part, EVENT_NAME, us_syscall_shown_name(c, buf));
	us_protobuf_u64(&x->part, EVENT_TRACK_UUID, CALLER(c->thread));
	us_protobuf_message(&x->packet, PACKET_TRACK_EVENT, &x->part);
	rc = write_packet(o);
	return rc ? rc : end_slice(o, CALLER(c->thread), c->end_ns);
}

static int end(struct us_trace_out *o)
{
	struct perfetto *x = o->state;
	int rc = 0;
	/* Describe them again, with what was learned since. */
	for (uint32_t i = 1; x && !rc && i <= x->n_caller; i++)
		rc = tell_caller(o, i);
	if (x) {
		us_protobuf_free(&x->packet);
		us_protobuf_free(&x->part);
		us_protobuf_free(&x->item);
		free(x->named);
	}
	free(x);
	o->state = NULL;
	return rc;
}

const struct us_trace_format us_trace_format_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.also = ".perfetto-trace",
	.binary = true,
	.summary =
		"Perfetto's own, smaller than chrome: ui.perfetto.dev, trace_processor",
	.begin = begin,
	.ops = { .enter = enter,
		 .leave = leave,
		 .move = move,
		 .calls = { .enter = call_begins, .leave = call_ends } },
	.end = end,
};
