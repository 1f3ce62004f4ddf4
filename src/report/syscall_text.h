/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_text.h: a system call as strace writes it. */
#ifndef US_REPORT_SYSCALL_TEXT_H
#define US_REPORT_SYSCALL_TEXT_H

#include "trace/syscalls.h"

#include <stdio.h>

#define US_SYSCALL_NAME 48

/* "read", "syscall_0x1ff", or "?" if the number is not known. */
const char *us_syscall_shown_name(const struct us_syscall *c,
				  char buf[static US_SYSCALL_NAME]);
/* The number of arguments shown, and how many of these, from the first, can be shown
 * before the call returns.  The second is the same at entry and after the call. */
unsigned us_syscall_n_args(const struct us_syscall *c);
unsigned us_syscall_n_before(const struct us_syscall *c);
/* Print arguments first to end - 1 with commas between them; if first is not 0, also a
 * comma before it.  "?" if no argument is known. */
void us_syscall_print_args(FILE *out, const struct us_syscall *c, unsigned first,
			   unsigned end);
/* "3", "-1 ENOENT (No such file or directory)", "0x7f0000000000", "?" ... */
void us_syscall_print_result(FILE *out, const struct us_syscall *c);

#endif
