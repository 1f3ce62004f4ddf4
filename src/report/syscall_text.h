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
/* How many arguments are shown; of these, from the first on, before it has returned:
 * the same number at its entry and when it has ended. */
unsigned us_syscall_n_args(const struct us_syscall *c);
unsigned us_syscall_n_before(const struct us_syscall *c);
/* The arguments from first on, up to before end, with the commas between them; if first
 * is not 0 with the one before, too.  Where none is known, "?". */
void us_syscall_print_args(FILE *out, const struct us_syscall *c, unsigned first,
			   unsigned end);
/* "3", "-1 ENOENT (No such file or directory)", "0x7f0000000000", "?" ... */
void us_syscall_print_result(FILE *out, const struct us_syscall *c);

#endif
