/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscall_text.h: the data that pointers among a system call's arguments point to:
 * paths, and the first bytes of what is read and written.
 *
 * Data that a call writes is there only when it returns, and then the call's arguments
 * must be known.  A table has the calls that were entered last.  If another call has
 * replaced it there, there is no data.
 */
#ifndef US_TRACE_SYSCALL_TEXT_H
#define US_TRACE_SYSCALL_TEXT_H

#include "trace/plugin/program_regs.h"
#include "trace/syscall_message.h"

struct us_syscall_texts {
	uint8_t bytes[US_SYSCALL_TEXTS][US_SYSCALL_TEXT];
};

/* limit: most bytes of data that is read or written. */
void us_syscall_texts_init(unsigned limit);

/* Add to an entry's message the data that the call reads; m->n_text is 0.  The bytes
 * are in t. */
void us_syscall_texts_before(struct us_syscall_texts *t,
			     const struct us_program_regs *r,
			     struct us_syscall_message *m);
/* Look up the call that returns now.  Sets number, and has_number if it is known. */
void us_syscall_texts_recall(struct us_syscall_message *m);
/* Add the data that the call has written. */
void us_syscall_texts_after(struct us_syscall_texts *t, const struct us_program_regs *r,
			    struct us_syscall_message *m);
/* A call was entered: keep it in the table. */
void us_syscall_texts_remember(const struct us_syscall_message *m);

#endif
