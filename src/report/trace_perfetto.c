/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_perfetto.c: Perfetto's own format, for ui.perfetto.dev and trace_processor: a
 * Trace of packets (protos/perfetto/trace/trace_packet.proto there).
 *
 * The guest is a process, each of its stacks a thread with a slice for each call, and
 * each vCPU a track that says which stack was on it.  Names stand once, by number.
 */
#include "report/trace_format.h"

#include "base/protobuf.h"
#include "base/text.h"
#include "backend/backend.h"

#include <errno.h>
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
};

enum event_type { SLICE_BEGIN = 1, SLICE_END = 2 };

enum interned {
	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_IID = 1,
	INTERNED_NAME = 2,
};

enum category { CATEGORY_FUNCTION = 1, CATEGORY_INTERRUPT };

#define SEQUENCE    1
#define PID	    1
#define PROCESS	    1U /* a track, as these: */
#define STACK(n)    (2U + (n))
#define VCPU(n)	    (1000000U + (n))
#define CPU_NAME    1 /* of annotations */
#define NAME_OF(fn) (1U + (fn))

struct perfetto {
	struct us_protobuf packet, part, item;
	bool *named; /* by function */
	size_t n_named;
	bool stack[US_REPLAY_STACKS];
	bool vcpu[US_MAX_VCPUS], running[US_MAX_VCPUS];
};

static struct us_protobuf *cleared(struct us_protobuf *m)
{
	us_protobuf_clear(m);
	return m;
}

/* A packet is a field of the file's one message, Trace. */
static int write_packet(const struct us_trace_out *o)
{
	struct perfetto *x = o->state;
	us_protobuf_u64(&x->packet, PACKET_SEQUENCE_ID, SEQUENCE);
	struct us_protobuf *framed = cleared(&x->part);
	us_protobuf_message(framed, TRACE_PACKET, &x->packet);
	if (framed->failed)
		return -ENOMEM;
	fwrite_unlocked(framed->v, 1, framed->n, o->out);
	return 0;
}

static void intern(struct us_protobuf *data, struct us_protobuf *item, uint32_t kind,
		   uint64_t iid, const char *name)
{
	us_protobuf_u64(cleared(item), INTERNED_IID, iid);
	us_protobuf_str(item, INTERNED_NAME, name);
	us_protobuf_message(data, kind, item);
}

static const char *title(const struct us_trace_out *o)
{
	const char *guest = o->profile ? us_profile_fact(o->profile, "guest") : NULL;
	return guest ? guest : "guest";
}

static int begin(struct us_trace_out *o)
{
	struct perfetto *x = calloc(1, sizeof(*x));
	char safe[1024];
	o->state = x;
	if (!x)
		return -ENOMEM;
	us_protobuf_u64(&x->item, PROCESS_PID, PID);
	us_protobuf_str(&x->item, PROCESS_NAME,
			us_printable(safe, sizeof(safe), title(o)));
	us_protobuf_u64(&x->part, TRACK_UUID, PROCESS);
	us_protobuf_message(&x->part, TRACK_PROCESS, &x->item);
	us_protobuf_message(&x->packet, PACKET_TRACK_DESCRIPTOR, &x->part);
	struct us_protobuf *data = cleared(&x->part);
	intern(data, &x->item, INTERNED_CATEGORIES, CATEGORY_FUNCTION, "function");
	intern(data, &x->item, INTERNED_CATEGORIES, CATEGORY_INTERRUPT, "interrupt");
	intern(data, &x->item, INTERNED_ANNOTATION_NAMES, CPU_NAME, "cpu");
	us_protobuf_message(&x->packet, PACKET_INTERNED_DATA, data);
	us_protobuf_u64(&x->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED | NEEDS_STATE);
	return write_packet(o);
}

/* Its name, before the first event on it. */
static int tell_stack(const struct us_trace_out *o, uint16_t stack)
{
	struct perfetto *x = o->state;
	char safe[512], name[600];
	if (x->stack[stack])
		return 0;
	x->stack[stack] = true;
	us_printable(safe, sizeof(safe), us_trace_stack_name(o, stack));
	snprintf(name, sizeof(name), "%s (stack %u)", safe, stack);
	us_protobuf_u64(cleared(&x->item), THREAD_PID, PID);
	us_protobuf_u64(&x->item, THREAD_TID, 1U + stack); /* 0 is Linux's idle task */
	us_protobuf_str(&x->item, THREAD_NAME, name);
	us_protobuf_u64(cleared(&x->part), TRACK_UUID, STACK(stack));
	us_protobuf_u64(&x->part, TRACK_PARENT, PROCESS);
	us_protobuf_message(&x->part, TRACK_THREAD, &x->item);
	us_protobuf_message(cleared(&x->packet), PACKET_TRACK_DESCRIPTOR, &x->part);
	return write_packet(o);
}

static int tell_vcpu(const struct us_trace_out *o, unsigned vcpu)
{
	struct perfetto *x = o->state;
	char name[24];
	if (x->vcpu[vcpu])
		return 0;
	x->vcpu[vcpu] = true;
	snprintf(name, sizeof(name), "vCPU %u", vcpu);
	us_protobuf_u64(cleared(&x->part), TRACK_UUID, VCPU(vcpu));
	us_protobuf_str(&x->part, TRACK_NAME, name);
	us_protobuf_u64(&x->part, TRACK_PARENT, PROCESS);
	us_protobuf_message(cleared(&x->packet), PACKET_TRACK_DESCRIPTOR, &x->part);
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

/* The function's name, in the packet that uses it first. */
static int name_function(const struct us_trace_out *o, uint32_t function)
{
	struct perfetto *x = o->state;
	char safe[2048];
	bool *done = named(x, function);
	if (!done || *done)
		return done ? 0 : -ENOMEM;
	*done = true;
	intern(cleared(&x->part), &x->item, INTERNED_NAMES, NAME_OF(function),
	       us_printable(safe, sizeof(safe), o->name[function]));
	us_protobuf_message(&x->packet, PACKET_INTERNED_DATA, &x->part);
	return 0;
}

static void begin_event(struct perfetto *x, uint64_t t_ns)
{
	us_protobuf_u64(cleared(&x->packet), PACKET_TIMESTAMP, t_ns);
	us_protobuf_u64(&x->packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	const struct us_trace_out *o = ctx;
	struct perfetto *x = o->state;
	int rc = tell_stack(o, s->stack);
	begin_event(x, s->begin_ns);
	if (!rc)
		rc = name_function(o, s->function);
	if (rc)
		return rc;
	us_protobuf_u64(cleared(&x->item), ANNOTATION_NAME_IID, CPU_NAME);
	us_protobuf_u64(&x->item, ANNOTATION_UINT, s->vcpu);
	us_protobuf_u64(cleared(&x->part), EVENT_CATEGORY_IIDS,
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
	us_protobuf_u64(cleared(&x->part), EVENT_TYPE, SLICE_END);
	us_protobuf_u64(&x->part, EVENT_TRACK_UUID, track);
	us_protobuf_message(&x->packet, PACKET_TRACK_EVENT, &x->part);
	return write_packet(o);
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	return end_slice(ctx, STACK(s->stack), s->end_ns);
}

/* From now on that stack is on the vCPU. */
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
	us_protobuf_u64(cleared(&x->part), EVENT_TYPE, SLICE_BEGIN);
	us_protobuf_u64(&x->part, EVENT_TRACK_UUID, VCPU(vcpu));
	us_protobuf_str(&x->part, EVENT_NAME, name);
	us_protobuf_message(&x->packet, PACKET_TRACK_EVENT, &x->part);
	return write_packet(o);
}

static int end(struct us_trace_out *o)
{
	struct perfetto *x = o->state;
	if (x) {
		us_protobuf_free(&x->packet);
		us_protobuf_free(&x->part);
		us_protobuf_free(&x->item);
		free(x->named);
	}
	free(x);
	o->state = NULL;
	return 0;
}

const struct us_trace_format us_trace_format_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.also = ".perfetto-trace",
	.summary =
		"Perfetto's own, smaller than chrome: ui.perfetto.dev, trace_processor",
	.begin = begin,
	.ops = { .enter = enter, .leave = leave, .move = move },
	.end = end,
};
