/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscall_message.h: what the plugin reports about system calls, as messages among the
 * records of a trace (events.h).  A message says that a call was entered, which kernel
 * stack its entry uses, or that a program continues after a call.  The reader finds out
 * which messages belong together: syscalls.h.
 *
 *	u8 type, u8 ABI, u8 flags, varint pc, sp, root, thread, and
 *	for an entry: varint number, 6 varint arguments
 *	for a kernel stack, and for leaving it: varint its address
 *	for a return: varint the stack, value, number
 *	texts: u8 argument (| 0x80: truncated), varint n, n bytes
 *
 * An unknown value is stored as 0.
 */
#ifndef US_TRACE_SYSCALL_MESSAGE_H
#define US_TRACE_SYSCALL_MESSAGE_H

#include "trace/events.h"
#include "trace/syscall_table.h"

#define US_SYSCALL_TEXTS 2U    /* most texts of a call */
#define US_SYSCALL_TEXT	 1024U /* most bytes of a text */
/* The bits of a root that identify the page tables.  x86 has PCIDs below, and the flag
 * that keeps translations; ARM has ASIDs above.  These change when a process moves to
 * another vCPU. */
#define US_SYSCALL_ROOT_MASK 0x0000fffffffff000ULL
#define US_SYSCALL_MESSAGE   (US_SYSCALL_TEXTS * (US_SYSCALL_TEXT + 4) + 160)

/* Stored in files. */
enum us_syscall_told {
	US_SYSCALL_ENTERED = 1,
	US_SYSCALL_ON_STACK = 2,
	US_SYSCALL_RETURNED = 3,
	/* Left the kernel, perhaps not to the instruction after the call. */
	US_SYSCALL_LEFT = 4,
};

struct us_syscall_text {
	uint8_t arg; /* number of its argument */
	bool cut;    /* truncated */
	uint16_t n;
	const uint8_t *bytes;
};

struct us_syscall_message {
	uint8_t type, abi;
	bool has_number; /* for an entry: the number is known */
	bool has_regs; /* the arguments or the value, and sp, root, thread, are known */
	uint64_t pc;   /* of the instruction after the call */
	uint64_t sp;   /* the program's */
	uint64_t root; /* of its page tables, as in the register */
	uint64_t thread; /* the program's thread pointer */
	uint64_t number, arg[US_SYSCALL_ARGS];
	uint64_t stack; /* kernel stack, where last seen; 0: not known */
	uint64_t value;
	struct us_syscall_text text[US_SYSCALL_TEXTS];
	unsigned n_text;
};

/* Returns the size in bytes. */
size_t us_syscall_message_put(const struct us_syscall_message *m,
			      uint8_t ret[static US_SYSCALL_MESSAGE]);
/* Decode n hostile bytes, which stay the caller's.  False: they are not a message. */
bool us_syscall_message_get(const uint8_t *p, size_t n, struct us_syscall_message *ret);

#endif
