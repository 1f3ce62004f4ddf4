/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h: the file in which QEMU's plugin writes down what functions are entered and
 * left, and which uniscope reads while the guest runs and after it has ended.
 *
 * A shared mapping of a file of fixed size, whose blocks are allocated before the guest
 * starts.  Little-endian.  A reader trusts nothing in it: QEMU may be writing just now.
 *
 *	struct us_events_head
 *	uint64_t address[US_EVENTS_FUNCTIONS], by a function's number
 *	struct us_events_vcpu [head.n_vcpu], each with its ring:
 *	uint64_t record[head.n_record] for each vCPU
 *
 * A record has a kind, a number and how many instructions the vCPU had executed, of
 * which the lowest bits are there:
 *
 *	63..61 kind, 60..41 number, 40..0 instructions
 *
 * but for those of the time, which have nanoseconds in all of the lower bits, and those
 * of a message, which is more than fits into a record: a system call
 *(syscall_message.h). Its bytes, of which the first are its size and the instructions
 *(both as varints), stand in records that follow each other:
 *
 *	63..61 kind, 60 it is the first, 59..56 how many bytes, 55..0 they, lowest first
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
#define US_EVENTS_MAX_RECORD (1U << 28) /* of a vCPU */
/* A record of the time stands before at least each so manieth event. */
#define US_EVENTS_PER_TIME 64U

enum us_event_kind {
	US_EVENT_DATA,	    /* a piece of a message, see below */
	US_EVENT_ENTER,	    /* number: the function */
	US_EVENT_INTERRUPT, /* the same, by an interrupt, a fault or a trap */
	US_EVENT_EXIT,
	US_EVENT_JUMP,	/* the function on top has ended by a jump to this one */
	US_EVENT_OPEN,	/* was entered before: nobody saw when */
	US_EVENT_STACK, /* the vCPU goes on with this stack */
	US_EVENT_TIME,	/* of the record that follows */
};

#define US_EVENT_KIND_SHIFT   61
#define US_EVENT_NUMBER_SHIFT 41
#define US_EVENT_NUMBER_MASK  ((1U << 20) - 1)
#define US_EVENT_INSNS_MASK   ((1ULL << US_EVENT_NUMBER_SHIFT) - 1)
#define US_EVENT_TIME_MASK    ((1ULL << US_EVENT_KIND_SHIFT) - 1)

/* Of a stack: its number, and with it perhaps: */
#define US_EVENT_STACK_MASK 0xfffU
#define US_EVENT_FORGET	    (1U << 12) /* nothing is known of it; what is open follows */
/* The vCPU does not go there: the function on top of that stack goes on on this one. */
#define US_EVENT_MOVED (1U << 13)

/* Of a message. */
#define US_EVENT_DATA_FIRST (1ULL << 60)
#define US_EVENT_DATA_SHIFT 56	  /* of how many bytes */
#define US_EVENT_DATA_BYTES 7U	  /* in a record, at most */
#define US_EVENT_DATA_MAX   4096U /* bytes of a message */

/* One for each vCPU, on a page of its own. */
struct us_events_vcpu {
	uint64_t written;   /* records, ever: the last is at (written - 1) % n_record */
	uint64_t read;	    /* the reader's, of a stream */
	uint64_t waited_ns; /* for the reader */
};

struct us_events_head {
	char magic[8];
	uint32_t version;
	uint32_t n_vcpu;
	uint64_t n_record;		   /* of a vCPU; a power of two */
	uint64_t vcpu_offset, vcpu_stride; /* bytes from the start, and between two */
	uint64_t record_offset; /* bytes from a vCPU's start to its records */
	uint64_t function_offset;
	uint64_t size;	   /* of the file */
	uint64_t start_ns; /* of CLOCK_MONOTONIC: times are since then */
	uint32_t has_time; /* 0: instructions are the only clock */
	uint32_t stream;   /* 1: what was not read is not written over, as long as there
			      is a reader */
	uint32_t n_function; /* numbers below have addresses */
	uint32_t n_seen;     /* vCPUs that were started */
	uint32_t epoch; /* changed by both sides; 0: off.  Each time that it is on is
			   another one */
	uint32_t last_epoch;
	uint32_t ended;	    /* 1: QEMU came to its end in good order */
	uint32_t abandoned; /* 1: the reader of a stream was too slow, or is gone */
	uint64_t reader_ns; /* of CLOCK_MONOTONIC: when it was last there */
};

struct us_track_stack;

/* What a vCPU writes to. */
struct us_events {
	struct us_events_head *head;
	struct us_events_vcpu *vcpu;
	uint64_t *record;
	uint64_t n, mask;
	/* Records, ever, that there is room for; at which one of the time is due; and
	 * below which there is nothing to be done but to write. */
	uint64_t room_until, time_at, calm_until;
	const struct us_track_stack *stack; /* of the last record */
	uint16_t max_depth; /* of functions in functions that are written down */
	bool halted;	    /* since the last record */
};

/* On or off, from now on.  Any thread, any process that has the mapping. */
void us_events_switch(struct us_events_head *h, bool on);
/* If it is on: what is open on each stack is told once more.  As above. */
void us_events_renew(struct us_events_head *h);

static inline uint32_t us_events_epoch(const struct us_events *e)
{
	return __atomic_load_n(&e->head->epoch, __ATOMIC_RELAXED);
}

/* ---- Hot path ---- */

void us_events_wait_for_room(struct us_events *e);
void us_events_write_time(struct us_events *e);

/* A message of n bytes, no more than US_EVENT_DATA_MAX - 20. */
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

static inline void us_events_put(struct us_events *e, enum us_event_kind kind,
				 uint32_t number, uint64_t insns)
{
	if (e->n >= e->time_at || e->halted || kind == US_EVENT_INTERRUPT ||
	    kind == US_EVENT_STACK)
		us_events_write_time(e);
	us_events_write(e, us_events_word(kind, number, insns));
	e->calm_until = e->time_at < e->room_until ? e->time_at : e->room_until;
}

/* The vCPU waits from now on. */
static inline void us_events_halt(struct us_events *e)
{
	e->halted = true;
	e->calm_until = 0;
}

/* ---- What reads a message ---- */

/* As far as it came. */
struct us_event_data {
	uint8_t bytes[US_EVENT_DATA_MAX];
	size_t n;
};

/* The next record of the vCPU, of whatever kind and however hostile.  True: with it a
 * message is whole, of *ret_n bytes at the address that is returned. */
const uint8_t *us_event_data_add(struct us_event_data *d, uint64_t record,
				 uint64_t *ret_insns, size_t *ret_n);

#endif
