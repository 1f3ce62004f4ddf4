/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscalls.h: combines the plugin's messages about system calls (syscall_message.h)
 * into whole calls: which return belongs to which entry, and which thread made them.
 *
 * A call returns to the instruction after it, with the stack pointer and address space
 * of its caller, whatever other threads do meanwhile.  Exceptions are exec, which
 * continues elsewhere, fork, which returns twice, and exit, which never returns.  A
 * call that a signal has interrupted is made again, or returns after the handler has.
 * Threads are told apart by their kernel stacks.  If the kernel does not have one for
 * each thread, the page tables and the thread pointer are used.
 */
#ifndef US_TRACE_SYSCALLS_H
#define US_TRACE_SYSCALLS_H

#include "base/err.h"
#include "trace/syscall_message.h"

#define US_SYSCALLS_OPEN                                                               \
	(1U << 14) /* at the same time; further ones are not followed */
#define US_SYSCALLS_THREADS (1U << 16)

enum us_syscall_end {
	US_SYSCALL_OPEN,	/* still open */
	US_SYSCALL_DONE,	/* it has returned */
	US_SYSCALL_NO_RETURN,	/* exit */
	US_SYSCALL_RESTARTED,	/* a signal arrived, and it is made again */
	US_SYSCALL_THREAD_GONE, /* the thread was killed meanwhile */
	US_SYSCALL_UNFINISHED,	/* the trace ended before it */
};

struct us_syscall {
	uint64_t begin_ns, end_ns;	 /* end_ns is 0 while it is open */
	uint64_t begin_insns, end_insns; /* of the vCPU at these times */
	uint64_t number, arg[US_SYSCALL_ARGS];
	int64_t value;
	uint32_t thread; /* from 1 */
	uint16_t vcpu;	 /* that entered it */
	uint8_t abi;	 /* enum us_syscall_abi */
	uint8_t end;	 /* enum us_syscall_end */
	bool has_number, has_args, has_value;
	/* What the call has read and, after it has ended, what it has written. */
	struct us_syscall_text text[2 * US_SYSCALL_TEXTS];
	unsigned n_text;
	unsigned n_text_before; /* of these, known when it was entered */
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
/* Add a message of a vCPU (below US_MAX_VCPUS), in order of time, however hostile.
 * -ENOMEM, or the error of an operation. */
US_MUST_CHECK int us_syscalls_add(struct us_syscalls *s, unsigned vcpu, uint64_t t_ns,
				  uint64_t insns, const uint8_t *p, size_t n);
/* No more messages: open calls end as unfinished. */
US_MUST_CHECK int us_syscalls_end(struct us_syscalls *s, uint64_t t_ns);

/* What a thread's own calls tell about it; 0, "": nothing. */
struct us_syscall_thread {
	uint64_t tid;
	const char *program; /* path that it passed to exec */
};
struct us_syscall_thread us_syscalls_thread(const struct us_syscalls *s,
					    uint32_t thread);
/* Number of calls, and of calls of which nothing else is known. */
uint64_t us_syscalls_n(const struct us_syscalls *s);
uint64_t us_syscalls_n_unknown(const struct us_syscalls *s);

#endif
