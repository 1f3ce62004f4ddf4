/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscall_table.h: the names and arguments of system calls in Linux's ABIs, which other
 * kernels use too.
 */
#ifndef US_TRACE_SYSCALL_TABLE_H
#define US_TRACE_SYSCALL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_SYSCALL_ARGS 6

/* Stored in files: append only. */
enum us_syscall_abi { US_ABI_X86_64, US_ABI_I386, US_ABI_AARCH64, US_N_ABI };

struct us_syscall_numbers {
	const char *const *name; /* by number; NULL: none */
	size_t n;
};
extern const struct us_syscall_numbers us_syscall_numbers[US_N_ABI];

/* NULL: no such number. */
const char *us_syscall_name(enum us_syscall_abi abi, uint64_t number);
/* By its name, or its number in digits.  False: the ABI has no such call. */
bool us_syscall_number(enum us_syscall_abi abi, const char *name, uint64_t *ret);

/*
 * The arguments, a letter for each:
 *
 * d u l  a number: an int, unsigned, long
 * x p    in hexadecimal; a pointer
 * f A    a file descriptor; one that may be AT_FDCWD
 * s      the address of a NUL-terminated string: a path
 * b B    the address of bytes; b: the call reads as many as the next argument says;
 *        B: the call writes as many as it returns
 * O P M  flags of open(), of memory protection, of mmap()
 * o S W  permissions, in octal; a signal; whence of lseek()
 * L H    the low half of a number, and the high half, which follows
 */
const char *us_syscall_args(enum us_syscall_abi abi,
			    uint64_t number); /* NULL: not known */

/* How a call ends. */
enum us_syscall_fate {
	US_SYSCALL_RETURNS,
	US_SYSCALL_NEVER,    /* exit */
	US_SYSCALL_FORKS,    /* returns twice, with 0 in the new task */
	US_SYSCALL_EXECS,    /* continues as another program */
	US_SYSCALL_RESTORES, /* continues where a signal arrived */
};
enum us_syscall_fate us_syscall_fate(enum us_syscall_abi abi, uint64_t number);

/* Is the returned value an error?  *ret_errno: its errno, or 0. */
static inline bool us_syscall_failed(int64_t value, int *ret_errno)
{
	bool failed = value < 0 && value > -4096;
	*ret_errno = failed ? (int)-value : 0;
	return failed;
}

#endif
