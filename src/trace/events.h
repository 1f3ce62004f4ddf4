/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h: the file in which QEMU's plugin records which functions are entered and
 * left.  uniscope reads it while the guest runs and after it has ended.
 *
 * It is a shared mapping of a file of fixed size, whose blocks are allocated before the
 * guest starts.  Little-endian.  A reader trusts nothing in it: QEMU may be writing at
 * the same time.
 *
 *	struct us_events_head
 *	uint64_t address[US_EVENTS_FUNCTIONS], by a function's number
 *	struct us_events_vcpu [head.n_vcpu], each with its ring:
 *	uint64_t record[head.n_record] for each vCPU
 *
 * A record has a kind, a number, and the lowest bits of the number of instructions that
 * the vCPU had executed:
 *
 *	63..61 kind, 60..41 number, 40..0 instructions
 *
 * There are two exceptions.  Records of the time have nanoseconds in all lower bits.  A
 * message does not fit into one record: it is about a system call (syscall_message.h).
 * Its bytes, which begin with its size and the instructions (both as varints), are in
 * successive records:
 *
 *	63..61 kind, 60 first record, 59..56 number of bytes, 55..0 bytes, lowest first
 */
#ifndef US_TRACE_EVENTS_H
#define US_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_EVENTS_MAGIC	     "USEVENTS" /* 8 bytes, no NUL */
#define US_EVENTS_VERSION    1U
#define US_EVENTS_PAGE	     4096U
#define US_EVENTS_FUNCTIONS  (1U << 20)
#define US_EVENTS_MIN_RECORD (1U << 10)
#define US_EVENTS_MAX_RECORD (1U << 28) /* for each vCPU */
/* At least one in so many events has a record of the time before it, and so has an
 * event that comes so many instructions or more after the last of those. */
#define US_EVENTS_PER_TIME	 64U
#define US_EVENTS_INSNS_PER_TIME 4096U
/* Where events are not dense enough for that, the time between two such records is
 * about half of this, and every event that comes later has one.  A stall in dense
 * events may take longer. */
#define US_EVENTS_SPAN_NS 10000U

enum us_event_kind {
	US_EVENT_DATA,	    /* a piece of a message */
	US_EVENT_ENTER,	    /* number: the function */
	US_EVENT_INTERRUPT, /* entered by an interrupt, a fault or a trap */
	US_EVENT_EXIT,
	US_EVENT_JUMP,	/* the function on top has jumped to this one */
	US_EVENT_OPEN,	/* was entered before, at an unknown time */
	US_EVENT_STACK, /* the vCPU continues on this stack */
	US_EVENT_TIME,	/* of the record that follows */
};

#define US_EVENT_KIND_SHIFT   61
#define US_EVENT_NUMBER_SHIFT 41
#define US_EVENT_NUMBER_MASK  ((1U << 20) - 1)
#define US_EVENT_INSNS_MASK   ((1ULL << US_EVENT_NUMBER_SHIFT) - 1)
#define US_EVENT_TIME_MASK    ((1ULL << US_EVENT_KIND_SHIFT) - 1)

/* For a stack: its number, and perhaps these flags: */
#define US_EVENT_STACK_MASK 0xfffU
#define US_EVENT_FORGET	    (1U << 12) /* forget its state; its open functions follow */
/* The vCPU does not go to that stack: the function on top of it continues on this
 * one. */
#define US_EVENT_MOVED (1U << 13)

/* For a message. */
#define US_EVENT_DATA_FIRST (1ULL << 60)
#define US_EVENT_DATA_SHIFT 56	  /* position of the number of bytes */
#define US_EVENT_DATA_BYTES 7U	  /* most bytes in a record */
#define US_EVENT_DATA_MAX   4096U /* bytes of a message */

/* One for each vCPU, on a page of its own. */
struct us_events_vcpu {
	uint64_t written;   /* total records; the last is at (written - 1) % n_record */
	uint64_t read;	    /* total read; the reader of a stream sets it */
	uint64_t waited_ns; /* time that the vCPU waited for the reader */
};

struct us_events_head {
	char magic[8];
	uint32_t version;
	uint32_t n_vcpu;
	uint64_t n_record;		   /* for each vCPU; a power of two */
	uint64_t vcpu_offset, vcpu_stride; /* bytes from the start, and between two */
	uint64_t record_offset; /* bytes from a vCPU's start to its records */
	uint64_t function_offset;
	uint64_t size;	   /* of the file */
	uint64_t start_ns; /* CLOCK_MONOTONIC; times are relative to it */
	uint32_t has_time; /* 0: instructions are the only clock */
	/* 1: unread records are not overwritten while there is a reader. */
	uint32_t stream;
	uint32_t n_function; /* functions below this number have addresses */
	uint32_t n_seen;     /* vCPUs that were started */
	/* Changed by both sides; 0: off.  Each time that tracing is on has another
	 * value. */
	uint32_t epoch;
	uint32_t last_epoch;
	uint32_t ended;	    /* 1: QEMU exited normally */
	uint32_t abandoned; /* 1: the reader of a stream was too slow, or is gone */
	uint64_t reader_ns; /* CLOCK_MONOTONIC: last sign of life of the reader */
};

struct us_track_stack;

/* Decides how many events have a record of the time; see events.c. */
struct us_events_pace {
	uint64_t last_ns, last_insns, last_n; /* at the last record of the time */
	uint64_t run_ns, run_n; /* of events without a stall: since when, how many */
	uint32_t per_time;	/* events for each record of the time; 0: not begun */
	uint32_t need; /* length of a run after which not every event has its time */
};

/* The writer's side of a vCPU.  What each event needs comes first. */
struct us_events {
	struct us_events_head *head;
	struct us_events_vcpu *vcpu;
	uint64_t *record;
	uint64_t n, mask;
	/* Total records: below calm_until nothing has to be done except to write, as
	 * long as the vCPU has executed fewer instructions than insns_at. */
	uint64_t calm_until, insns_at;
	const struct us_track_stack *stack; /* of the last record */
	/* Total records: at room_until the ring is full; at time_at a record of the
	 * time is due. */
	uint64_t room_until, time_at;
	struct us_events_pace pace;
	uint16_t max_depth; /* largest depth of functions that is traced */
	bool halted;	    /* the vCPU has halted since the last record */
};

/* Switch tracing on or off.  Any thread of any process that has the mapping. */
void us_events_switch(struct us_events_head *h, bool on);
/* If it is on, write the open functions of each stack once more.  Any thread, as
 * above. */
void us_events_renew(struct us_events_head *h);

static inline uint32_t us_events_epoch(const struct us_events *e)
{
	return __atomic_load_n(&e->head->epoch, __ATOMIC_RELAXED);
}

/* ---- Hot path ---- */

void us_events_wait_for_room(struct us_events *e);
/* insns: of the record that follows. */
void us_events_write_time(struct us_events *e, uint64_t insns);

/* Write a message of n bytes, at most US_EVENT_DATA_MAX - 20. */
void us_events_put_data(struct us_events *e, uint64_t insns, const uint8_t *p,
			size_t n);

static inline void us_events_write(struct us_events *e, uint64_t record)
{
	if (__builtin_expect(e->n >= e->room_until, false))
		us_events_wait_for_room(e);
	e->record[e->n++ & e->mask] = record;
	__atomic_store_n(&e->vcpu->written, e->n, __ATOMIC_RELEASE);
}

static inline uint64_t us_events_word(enum us_event_kind kind, uint32_t number,
				      uint64_t insns)
{
	return (uint64_t)kind << US_EVENT_KIND_SHIFT |
	       (uint64_t)number << US_EVENT_NUMBER_SHIFT |
	       (insns & US_EVENT_INSNS_MASK);
}

/* The open functions of a stack are written at once: the stack's time is theirs. */
static inline bool us_events_is_due(const struct us_events *e, enum us_event_kind kind,
				    uint64_t insns)
{
	if (e->halted || kind == US_EVENT_INTERRUPT || kind == US_EVENT_STACK ||
	    insns >= e->insns_at)
		return true;
	return e->n >= e->time_at &&
	       (kind != US_EVENT_OPEN || insns != e->pace.last_insns);
}

static inline void us_events_put(struct us_events *e, enum us_event_kind kind,
				 uint32_t number, uint64_t insns)
{
	if (us_events_is_due(e, kind, insns))
		us_events_write_time(e, insns);
	us_events_write(e, us_events_word(kind, number, insns));
	e->calm_until = e->time_at < e->room_until ? e->time_at : e->room_until;
}

/* The vCPU halts now. */
static inline void us_events_halt(struct us_events *e)
{
	e->halted = true;
	e->calm_until = 0;
}

/* ---- Reading a message ---- */

/* A message as far as it was read. */
struct us_event_data {
	uint8_t bytes[US_EVENT_DATA_MAX];
	size_t n;
};

/* Add the vCPU's next record, of any kind, however hostile.  If it completes a message,
 * returns the address of its *ret_n bytes; else NULL. */
const uint8_t *us_event_data_add(struct us_event_data *d, uint64_t record,
				 uint64_t *ret_insns, size_t *ret_n);

#endif
