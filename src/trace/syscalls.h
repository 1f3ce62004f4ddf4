/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscalls.h: from what the plugin has told of system calls (syscall_message.h) to
 * whole calls: which return belongs to which entry, and which thread's they are.
 *
 * A call returns to the instruction behind it, with the stack pointer and in the
 * address space from which it was made: whatever other threads do meanwhile.  Some do
 * not: exec goes on elsewhere, fork returns twice, exit never, and what a signal has
 * interrupted is made again or returns after the handler has.  Threads are told apart
 * by their kernel stacks; where a kernel has none for each, by the page tables and the
 * thread pointer.
 */
#ifndef US_TRACE_SYSCALLS_H
#define US_TRACE_SYSCALLS_H

#include "base/err.h"
#include "trace/syscall_message.h"

#define US_SYSCALLS_OPEN    (1U << 14) /* at once; more are not followed */
#define US_SYSCALLS_THREADS (1U << 16)

enum us_syscall_end {
	US_SYSCALL_OPEN,	/* not yet */
	US_SYSCALL_DONE,	/* it has returned */
	US_SYSCALL_NO_RETURN,	/* exit */
	US_SYSCALL_RESTARTED,	/* a signal came, and it is made once more */
	US_SYSCALL_THREAD_GONE, /* it was killed meanwhile */
	US_SYSCALL_UNFINISHED,	/* the trace has no more of it */
};

struct us_syscall {
	uint64_t begin_ns, end_ns;	 /* end: 0 while it is open */
	uint64_t begin_insns, end_insns; /* of the vCPU then */
	uint64_t number, arg[US_SYSCALL_ARGS];
	int64_t value;
	uint32_t thread; /* from 1 */
	uint16_t vcpu;	 /* that entered it */
	uint8_t abi;	 /* enum us_syscall_abi */
	uint8_t end;	 /* enum us_syscall_end */
	bool has_number, has_args, has_value;
	/* What it has read, and once it has ended what it has written. */
	struct us_syscall_text text[2 * US_SYSCALL_TEXTS];
	unsigned n_text;
	unsigned n_text_before; /* of these: told when it was entered */
};

struct us_syscalls_ops {
	int (*enter)(void *ctx, const struct us_syscall *c);
	int (*leave)(void *ctx, const struct us_syscall *c);
};

struct us_syscalls;

/* ops and ctx stay the caller's.  -ENOMEM. */
US_MUST_CHECK int us_syscalls_new(const struct us_syscalls_ops *ops, void *ctx,
				  struct us_syscalls **ret);
void us_syscalls_free(struct us_syscalls *s); /* accepts NULL */
/* A message of a vCPU (less than US_MAX_VCPUS), in order of time, however hostile.
 * -ENOMEM, or what the operations return. */
US_MUST_CHECK int us_syscalls_add(struct us_syscalls *s, unsigned vcpu, uint64_t t_ns,
				  uint64_t insns, const uint8_t *p, size_t n);
/* There are no more: what is open ends unfinished. */
US_MUST_CHECK int us_syscalls_end(struct us_syscalls *s, uint64_t t_ns);

/* What is known of a thread by its own calls; 0, "": nothing. */
struct us_syscall_thread {
	uint64_t tid;
	const char *program; /* the path that it has executed */
};
struct us_syscall_thread us_syscalls_thread(const struct us_syscalls *s,
					    uint32_t thread);
/* How many calls were there, and of how many nothing but that they were. */
uint64_t us_syscalls_n(const struct us_syscalls *s);
uint64_t us_syscalls_n_unknown(const struct us_syscalls *s);

#endif
