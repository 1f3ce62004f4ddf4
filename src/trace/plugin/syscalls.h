/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscalls.h: the system calls of a guest's programs, as the plugin sees them, written
 * down as messages (syscall_message.h).
 *
 * An instruction that calls the kernel is known by its code; the block of code that is
 * executed next is the kernel's entry, at which all of the program's registers but what
 * the instruction itself changes are as they were.  The call has returned when a
 * program's block is executed that begins behind such an instruction, and a return to
 * programs was executed right before it.  So nothing has to be known of the kernel.
 *
 * What thread it is: the first call in the entry's code stores its return address on
 * the thread's kernel stack, and where the code goes on behind that call, the stack is
 * the same.
 */
#ifndef US_TRACE_PLUGIN_SYSCALLS_H
#define US_TRACE_PLUGIN_SYSCALLS_H

#include "trace/plugin/qemu_api.h"

struct us_syscall_options {
	bool on;
	bool alone;	   /* nothing else is traced */
	unsigned text;	   /* bytes of what is read and written that are kept */
	const char *calls; /* "read+write+..."; NULL: all */
};

/* One of these options, "name=value"; false: it is none, or a bad one. */
bool us_syscall_option(struct us_syscall_options *o, const char *text);

/* -ENOMEM; -ENOTSUP: the target has no known ABI, or its registers
 * are not told by this QEMU; -EINVAL: no such call. */
int us_syscalls_init(const struct us_syscall_options *o, const char *target,
		     unsigned n_vcpu);
void us_syscalls_start(unsigned vcpu);
/* A block is translated, under the lock of us_translate(). */
void us_syscalls_translate(struct qemu_plugin_tb *tb);

#endif
