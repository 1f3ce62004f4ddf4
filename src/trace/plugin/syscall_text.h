/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscall_text.h: what the addresses among a system call's arguments lead to: paths,
 * and the first bytes of what is read and written.
 *
 * What a call has read is there when it returns, and then what call it was has to be
 * known: a table has those that were entered last.  Another's may be in its place; then
 * there is nothing.
 */
#ifndef US_TRACE_SYSCALL_TEXT_H
#define US_TRACE_SYSCALL_TEXT_H

#include "trace/plugin/program_regs.h"
#include "trace/syscall_message.h"

struct us_syscall_texts {
	uint8_t bytes[US_SYSCALL_TEXTS][US_SYSCALL_TEXT];
};

/* limit: bytes of what is read and written. */
void us_syscall_texts_init(unsigned limit);

/* Add to a message what its call has to read; n_text is 0.  The bytes are in t. */
void us_syscall_texts_before(struct us_syscall_texts *t,
			     const struct us_program_regs *r,
			     struct us_syscall_message *m);
/* What call was it, that returns now?  Sets number, and has_number if it is known. */
void us_syscall_texts_recall(struct us_syscall_message *m);
/* And what it has written. */
void us_syscall_texts_after(struct us_syscall_texts *t, const struct us_program_regs *r,
			    struct us_syscall_message *m);
/* It was entered. */
void us_syscall_texts_remember(const struct us_syscall_message *m);

#endif
