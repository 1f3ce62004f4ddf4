/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_list.h: which guests run on this host, and what is known of each.
 *
 * Everything is read from /proc, nothing is asked of a VMM and nothing disturbs it.
 * A guest is a process that has KVM vCPUs (file descriptors that are
 * "anon_inode:kvm-vcpu:N"), whatever the VMM, or a QEMU system emulator under TCG.
 */
#ifndef US_VMM_GUEST_LIST_H
#define US_VMM_GUEST_LIST_H

#include "base/err.h"
#include "guest/regs.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define US_MAX_VCPUS	 64
#define US_ENDPOINT_SIZE 128

enum us_accel {
	US_ACCEL_UNKNOWN,
	US_ACCEL_KVM,
	US_ACCEL_TCG,
};

struct us_vcpu {
	unsigned index; /* as the VMM numbers them */
	pid_t tid;	/* the thread that runs it; 0: not known */
	int fd; /* of the vCPU in the VMM's process; -1: none (TCG), not known */
};

struct us_guest {
	pid_t pid;
	uint64_t start_time; /* field 22 of /proc/PID/stat: tells a reused pid */
	uid_t uid;
	enum us_accel accel;
	char vmm[32];	       /* "qemu", "firecracker", ...: name of the executable */
	char exe[256];	       /* path of the executable; "" if it may not be read */
	char name[64];	       /* -name of QEMU, --id of Firecracker; else "" */
	char kernel[PATH_MAX]; /* image named by the command line, made absolute by
				  the VMM's working directory; else "" */
	uint64_t memory; /* bytes of RAM by the command line or maps; 0: not known */
	struct us_vcpu vcpu[US_MAX_VCPUS];
	unsigned n_vcpu;
	bool limited; /* not all could be read: another user's process */

	/* Ways in that the command line offers, as TARGETs: "qmp:/run/m.sock",
	 * "qmp:127.0.0.1:4444", "gdb:127.0.0.1:1234", "gdb:/run/g.sock"; "" if none. */
	char qmp[US_ENDPOINT_SIZE], gdb[US_ENDPOINT_SIZE];
};

struct us_guest_list {
	struct us_guest *v; /* sorted by pid */
	size_t n, cap;
};

US_MUST_CHECK int us_guest_list_scan(struct us_guest_list *ret, struct us_err *e);
void us_guest_list_fini(struct us_guest_list *l);

/* Fill *ret for one process, -ENOENT if it is no guest. */
US_MUST_CHECK int us_guest_inspect(pid_t pid, struct us_guest *ret, struct us_err *e);

/*
 * The guest that a user means: NULL (the only one on this host), a pid, or a name.
 * -ENOENT: none, -EEXIST: several (the message lists them), -EACCES: it is there, but
 * may not be looked at.
 */
US_MUST_CHECK int us_guest_select(const struct us_guest_list *l, const char *target,
				  struct us_guest *ret, struct us_err *e);

/* Is it still the process that was inspected? */
bool us_guest_alive(const struct us_guest *g);

const char *us_accel_name(enum us_accel a);

#endif
