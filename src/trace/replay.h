/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay.h: replays a trace: which function was entered and left on which of the
 * guest's stacks, and how long it took.
 *
 * A stack is a thread, or the stack of an interrupt.
 */
#ifndef US_TRACE_REPLAY_H
#define US_TRACE_REPLAY_H

#include "trace/syscalls.h"
#include "trace/timeline.h"

/* Stack numbers are below this.  The first 4096 are the trace's; after them comes one
 * for each vCPU, used while its stack is unknown. */
#define US_REPLAY_STACKS (4096U + US_MAX_VCPUS)

/* A function, from its entry to its exit. */
struct us_replay_span {
	uint64_t begin_ns, end_ns;	 /* end is 0 while it is open */
	uint64_t self_ns;		 /* without callees and interrupts */
	uint64_t begin_insns, end_insns; /* of the vCPU at these times */
	uint32_t function;
	uint32_t depth; /* 0: outermost of the functions shown */
	uint16_t stack, vcpu;
	bool interrupt; /* an interrupt, a fault or a trap entered it */
	bool known;	/* its entry was seen; else it began earlier */
	bool ended;	/* its exit was seen; else it is unknown */
	/* It continues on another stack: it is left on one and entered on the other. */
	bool moved;
	/* Not known, and innermost on the stack that its vCPU was on before, too:
	 * perhaps the same call, which has loaded another stack pointer. */
	bool again;
};

struct us_replay_ops {
	int (*enter)(void *ctx, const struct us_replay_span *s);
	int (*leave)(void *ctx, const struct us_replay_span *s);
	/* The vCPU switches to another stack. */
	int (*move)(void *ctx, unsigned vcpu, uint16_t from, uint16_t to,
		    uint64_t t_ns);
	/* System calls; NULL: not reported. */
	struct us_syscalls_ops calls;
};

struct us_replay_opts {
	/* Which functions are shown, by number; NULL: all.  Those from n_shown on are
	 * always shown. */
	const bool *shown;
	size_t n_shown;
	uint32_t max_depth;	 /* of the functions shown; 0: any */
	uint64_t vcpu_mask;	 /* 0: all */
	uint64_t from_ns, to_ns; /* range of entries; to_ns 0: to the end */
	/* Is this system call shown?  NULL: all are. */
	bool (*is_call_shown)(void *filter, const struct us_syscall *c);
	void *filter;
};

/* A call that is shown may still end on another one, which its thread moved to. */
bool us_replay_shows_vcpu(const struct us_replay_opts *o, unsigned vcpu);

struct us_replay;

/* ops and opts stay the caller's, and may change until the first record.  -ENOMEM. */
US_MUST_CHECK int us_replay_new(uint64_t insn_ns, const struct us_replay_ops *ops,
				void *ctx, const struct us_replay_opts *opts,
				struct us_replay **ret);
void us_replay_free(struct us_replay *r);		     /* accepts NULL */
struct us_timeline *us_replay_timeline(struct us_replay *r); /* takes the records */
/* No more records: report what is still open. */
US_MUST_CHECK int us_replay_end(struct us_replay *r);
/* The threads that make system calls. */
const struct us_syscalls *us_replay_syscalls(const struct us_replay *r);
/* The outermost function on the stack; UINT32_MAX: not known. */
uint32_t us_replay_root(const struct us_replay *r, uint16_t stack);
/* Number of events so far. */
uint64_t us_replay_n_event(const struct us_replay *r);

#endif
