/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay.h: a trace, gone through once more: which function was entered and left on
 * which of the guest's stacks, and how long it took.
 *
 * A stack is a thread, or what an interrupt has to itself.
 */
#ifndef US_TRACE_REPLAY_H
#define US_TRACE_REPLAY_H

#include "trace/syscalls.h"
#include "trace/timeline.h"

/* Numbers of stacks are below; the first 4096 are the trace's, behind these is one for
 * each vCPU of which it is not known yet where it is. */
#define US_REPLAY_STACKS (4096U + US_MAX_VCPUS)

/* A function, from its entry to its exit. */
struct us_replay_span {
	uint64_t begin_ns, end_ns; /* while it is open: end is 0 */
	uint64_t self_ns;	   /* without what it called, and what interrupted it */
	uint64_t begin_insns, end_insns; /* of the vCPU then */
	uint32_t function;
	uint32_t depth; /* 0: outermost of those that are shown */
	uint16_t stack, vcpu;
	bool interrupt; /* an interrupt, a fault or a trap entered it */
	bool known;	/* its entry was seen; else it began before begin_ns */
	bool ended;	/* its exit was seen; else the trace says no more of it */
	/* It goes on on another stack: it is left on one, and entered on another. */
	bool moved;
};

struct us_replay_ops {
	int (*enter)(void *ctx, const struct us_replay_span *s);
	int (*leave)(void *ctx, const struct us_replay_span *s);
	/* The vCPU goes on with another stack. */
	int (*move)(void *ctx, unsigned vcpu, uint16_t from, uint16_t to,
		    uint64_t t_ns);
	/* System calls; NULL: none are told of. */
	struct us_syscalls_ops calls;
};

struct us_replay_opts {
	/* Which functions are shown, by number; NULL: all, as are those from n_shown
	 * on. */
	const bool *shown;
	size_t n_shown;
	uint32_t max_depth;	 /* of those that are shown; 0: any */
	uint64_t vcpu_mask;	 /* 0: all */
	uint64_t from_ns, to_ns; /* of entries; to 0: the end */
	/* Is a system call shown?  NULL: all are. */
	bool (*is_call_shown)(void *filter, const struct us_syscall *c);
	void *filter;
};

struct us_replay;

/* ops and opts stay the caller's, and may change until the first record.  -ENOMEM. */
US_MUST_CHECK int us_replay_new(uint64_t insn_ns, const struct us_replay_ops *ops,
				void *ctx, const struct us_replay_opts *opts,
				struct us_replay **ret);
void us_replay_free(struct us_replay *r);		     /* accepts NULL */
struct us_timeline *us_replay_timeline(struct us_replay *r); /* takes the records */
/* There are no more: tell of what is open. */
US_MUST_CHECK int us_replay_end(struct us_replay *r);
/* What is known of threads that make system calls. */
const struct us_syscalls *us_replay_syscalls(const struct us_replay *r);
/* The function that is outermost on the stack; UINT32_MAX: none is known. */
uint32_t us_replay_root(const struct us_replay *r, uint16_t stack);
/* How many events there were. */
uint64_t us_replay_n_event(const struct us_replay *r);

#endif
