/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscalls.h: how the plugin sees the system calls of a guest's programs, and writes
 * them as messages (syscall_message.h).
 *
 * The code shows which instructions call the kernel.  The next executed block is the
 * kernel's entry.  There, all of the program's registers are unchanged, except those
 * that the instruction itself changes.  The call has returned when a block of a program
 * is executed that begins after such an instruction, and an instruction that returns to
 * programs was executed right before.  Nothing needs to be known about the kernel.
 *
 * The thread is known from its kernel stack: the first call in the entry's code stores
 * its return address there.  Where the code continues after that call, the stack is the
 * same.
 */
#ifndef US_TRACE_PLUGIN_SYSCALLS_H
#define US_TRACE_PLUGIN_SYSCALLS_H

#include "trace/plugin/qemu_api.h"

struct us_syscall_options {
	bool on;
	bool alone;	   /* trace nothing else */
	unsigned text;	   /* most bytes of read and written data that are kept */
	const char *calls; /* "read+write+..."; NULL: all */
};

/* Parse one of these options, "name=value"; false: not an option, or a bad value. */
bool us_syscall_option(struct us_syscall_options *o, const char *text);

/* -ENOMEM; -ENOTSUP: the target has no known ABI, or this QEMU does not give its
 * registers; -EINVAL: unknown call name. */
int us_syscalls_init(const struct us_syscall_options *o, const char *target,
		     unsigned n_vcpu);
void us_syscalls_start(unsigned vcpu);
/* Instrument a block, under the lock of us_translate(). */
void us_syscalls_translate(struct qemu_plugin_tb *tb);

#endif
