/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscall_message.h: what the plugin tells of a system call, as a message among the
 * records of a trace (events.h): that one was entered, by what kernel stack the entry
 * goes on, that a program goes on behind one.  Which of them belong together is found
 * out by who reads them: syscalls.h.
 *
 *	u8 type, u8 ABI, u8 flags, varint pc, sp, root, thread, and
 *	of an entry: varint number, 6 varint arguments
 *	of a kernel stack, and where it is left: varint its address
 *	of a return: varint the stack, value, number
 *	texts: u8 argument (| 0x80: it goes on), varint n, n bytes
 *
 * A varint for which there is no value is 0.
 */
#ifndef US_TRACE_SYSCALL_MESSAGE_H
#define US_TRACE_SYSCALL_MESSAGE_H

#include "trace/events.h"
#include "trace/syscall_table.h"

#define US_SYSCALL_TEXTS 2U    /* of a call */
#define US_SYSCALL_TEXT	 1024U /* bytes of one, at most */
/* Of a root, which page tables it is.  x86: PCIDs below, and what says that
 * translations are kept; ARM's ASIDs above.  These change when a process goes to
 * another vCPU. */
#define US_SYSCALL_ROOT_MASK 0x0000fffffffff000ULL
#define US_SYSCALL_MESSAGE   (US_SYSCALL_TEXTS * (US_SYSCALL_TEXT + 4) + 160)

/* Stored. */
enum us_syscall_told {
	US_SYSCALL_ENTERED = 1,
	US_SYSCALL_ON_STACK = 2,
	US_SYSCALL_RETURNED = 3,
	US_SYSCALL_LEFT = 4, /* the kernel: elsewhere, perhaps, than behind the call */
};

struct us_syscall_text {
	uint8_t arg; /* which argument's it is */
	bool cut;    /* it goes on */
	uint16_t n;
	const uint8_t *bytes;
};

struct us_syscall_message {
	uint8_t type, abi;
	bool has_number; /* of an entry */
	bool has_regs;	 /* the arguments, or the value, and sp, root, thread */
	uint64_t pc;	 /* of the instruction behind the one that calls */
	uint64_t sp;	 /* the program's */
	uint64_t root;	 /* of its page tables, as the register has it */
	uint64_t thread; /* what the program's thread pointer is */
	uint64_t number, arg[US_SYSCALL_ARGS];
	uint64_t stack; /* the kernel's, where it was last seen; 0: not known */
	uint64_t value;
	struct us_syscall_text text[US_SYSCALL_TEXTS];
	unsigned n_text;
};

/* The size in bytes. */
size_t us_syscall_message_put(const struct us_syscall_message *m,
			      uint8_t ret[static US_SYSCALL_MESSAGE]);
/* Of n hostile bytes, which stay the caller's.  False: it is none. */
bool us_syscall_message_get(const uint8_t *p, size_t n, struct us_syscall_message *ret);

#endif
