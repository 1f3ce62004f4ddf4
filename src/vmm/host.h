/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host.h: what this host is and what this process may do on it, as far as a profiler of
 * its guests needs it.  Read from /proc, /sys and /dev; nothing is changed.
 */
#ifndef US_VMM_HOST_H
#define US_VMM_HOST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct us_host {
	char release[65], machine[65]; /* from uname() */
	unsigned n_cpu;		       /* online */
	bool is_guest;		       /* a virtual machine itself; only x86 tells */

	bool has_kvm; /* /dev/kvm exists */
	bool may_run; /* this process may start guests with it */
	/* The kernel module, "kvm_amd", or "kvm" on arm64, where Linux has it built in;
	 * "": not known. */
	char kvm[16];
	char wanted[16]; /* the module for this processor; "": none */
	bool is_nested;	 /* its guests may have guests */
};

void us_host_read(struct us_host *ret);

/* Is that capability (linux/capability.h) in effect for this process? */
bool us_host_capable(unsigned capability);

/*
 * May this process trace others, and read their memory?  -errno: no, and *why says why;
 * 0 with a message in *why: only processes of its own user; else 0.
 */
int us_host_may_trace(struct us_err *why);

/* Yama's ptrace_scope (Documentation/admin-guide/LSM/Yama.rst); 0 without Yama. */
int us_host_ptrace_scope(void);

/* May this process take real-time priority? */
bool us_host_realtime(void);

/* A QEMU that is installed. */
struct us_host_qemu {
	char path[256];
	dev_t device; /* of the file */
	ino_t inode;
	bool has_plugins; /* TCG plugins can be loaded into it */
};

/* Can plugins be loaded into this program, as execvp() finds it?  False only if it is
 * certain that they cannot; for a script it is not known. */
bool us_host_takes_plugins(const char *program);

/* The QEMUs in a list of folders such as PATH, by file name, each file once; returns
 * their number, at most max. */
size_t us_host_qemus(const char *folders, struct us_host_qemu *ret, size_t max);

#endif
