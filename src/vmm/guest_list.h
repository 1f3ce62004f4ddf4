/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_list.h: which guests run on this host, and what is known of each.
 *
 * Everything is read from /proc; no VMM is asked or disturbed.  A guest is a process
 * that has KVM vCPUs (file descriptors that are "anon_inode:kvm-vcpu:N"), whatever the
 * VMM, or a QEMU system emulator under TCG.
 *
 * /proc shows which thread runs which vCPU only
 *
 * - if the thread is named for it ("CPU 0/KVM" of QEMU with -name debug-threads=on,
 *   "fc_vcpu 0", "vcpu0", ...),
 * - if it sleeps in ioctl(vcpu fd, KVM_RUN) at that moment, or
 * - if the process has only one thread.
 *
 * Else tid is 0: the monitor can tell (us_guest_vcpus_from_monitor), or a backend that
 * stops the threads.
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
#define US_MORE_FDS	 3

enum us_accel {
	US_ACCEL_UNKNOWN,
	US_ACCEL_KVM,
	US_ACCEL_TCG,
};

struct us_vcpu {
	unsigned index; /* as the VMM numbers them; under KVM the N of its fd, which is
			   the APIC id on x86 */
	pid_t tid;	/* the thread that runs it; 0: not known.  Under TCG one thread
			   may run them all */
	int fd; /* file descriptor of the vCPU in the VMM; -1: none (TCG), not known */
	int more_fd[US_MORE_FDS]; /* others of the same vCPU (dup(2)), which its thread
				     may use instead; as many as fit */
	unsigned n_more_fd;
};

struct us_guest {
	pid_t pid;
	uint64_t start_time; /* field 22 of /proc/PID/stat: detects a reused pid */
	uid_t uid;
	enum us_accel accel;
	char vmm[32];	       /* "qemu", "firecracker", ...: name of the executable */
	char exe[256];	       /* path of the executable; "" if not permitted */
	char processor[16];    /* what a QEMU emulates: us_qemu_processor() */
	char protection[16];   /* "SEV-SNP", ...: us_cmdline.protection; "" if none */
	char name[64];	       /* -name of QEMU, --id of Firecracker; else "" */
	char kernel[PATH_MAX]; /* image named by the command line, made absolute with
				  the VMM's working directory; else "". A path of the
				  VMM: open it through us_guest_kernel_path() */
	char boot[PATH_MAX];   /* a file of a disk or of firmware from which it may boot
				  without a kernel; likewise */
	char counts[PATH_MAX]; /* the file that QEMU's plugin counts in; likewise */
	uint64_t memory; /* bytes of RAM, from the command line or the maps; 0: not
			    known */
	struct us_vcpu vcpu[US_MAX_VCPUS]; /* sorted by index */
	unsigned n_vcpu;
	unsigned n_vcpu_beyond; /* further vCPUs, beyond US_MAX_VCPUS */
	bool limited; /* not everything could be read: another user's process */
	bool several; /* the process runs more than one machine, or has a second one and
			 more than one vCPU; vcpu[] has the vCPUs of all */
	bool jailed; /* by itself (-chroot), after it had opened the files named here */
	bool libvirt;	  /* libvirt started it, and is connected to its monitor */
	bool qmp_is_ours; /* uniscope started it with the monitor qmp, and its user gave
			     it no other */

	/* Monitor and stub that the command line offers, as TARGETs: "qmp:/run/m.sock",
	 * "qmp:127.0.0.1:4444", "gdb:127.0.0.1:1234", "gdb:/run/g.sock"; "" if none.
	 * Of several monitors, one without a client.  Sockets in another mount
	 * namespace or root directory are reached through /proc/PID/root; a TCP port in
	 * another network namespace is left out. */
	char qmp[US_ENDPOINT_SIZE], gdb[US_ENDPOINT_SIZE];
	/* As written, if one is offered that cannot be reached from here: its path is
	 * relative to a folder that is not known, or its port is in another network
	 * namespace. */
	char lost_qmp[US_ENDPOINT_SIZE], lost_gdb[US_ENDPOINT_SIZE];
};

/* Fail with the reason why such an endpoint, of scheme "gdb" or "qmp", is not used. */
int us_guest_fail_lost(const struct us_guest *g, const char *scheme, struct us_err *e);
/* Is its VMM stopped by a signal, so that its monitor and stub answer nobody?  Then why
 * says so.  g may be NULL: false. */
bool us_guest_is_stopped(const struct us_guest *g, struct us_err *why);

struct us_guest_list {
	struct us_guest *v; /* sorted by pid */
	size_t n, cap;
};

US_MUST_CHECK int us_guest_list_scan(struct us_guest_list *ret, struct us_err *e);
void us_guest_list_fini(struct us_guest_list *l);

/* Fill *ret for one process. -ENOENT: it is no guest, or a helper that a VMM forked,
 * which has the VMM's files; -EMFILE, -ENFILE: there are too few descriptors to tell.
 */
US_MUST_CHECK int us_guest_inspect(pid_t pid, struct us_guest *ret, struct us_err *e);

/*
 * The guest that a user means: target is NULL (the only one on this host), a pid, or a
 * name.  -ENOENT: none; -EEXIST: several (the message lists them); -EACCES: it exists,
 * but this user may not inspect it; -ENOTSUP: several machines in one process.
 */
US_MUST_CHECK int us_guest_select(const struct us_guest_list *l, const char *target,
				  struct us_guest *ret, struct us_err *e);

/* Hot path: is fd one of the vCPU's?  False for -1. */
bool us_vcpu_has_fd(const struct us_vcpu *v, long fd);

/* May it be profiled, and can it?  0, -EACCES, -ENOTSUP.  Of another user's guest the
 * stub or the monitor suffices. */
US_MUST_CHECK int us_guest_check(const struct us_guest *g, struct us_err *e);

/* Is it still the process that was inspected? A zombie is not. */
bool us_guest_alive(const struct us_guest *g);

/* The path under which we can open g->kernel: the same, or through /proc/PID/root if
 * the VMM is in another mount namespace or has another root directory (its absolute
 * symbolic links then resolve wrongly).  false: no kernel is known, or the path is too
 * long. */
bool us_guest_kernel_path(const struct us_guest *g, char *ret, size_t size);
/* The same for g->boot, and for g->counts. */
bool us_guest_boot_path(const struct us_guest *g, char *ret, size_t size);
bool us_guest_counts_path(const struct us_guest *g, char *ret, size_t size);

struct us_qmp;

/*
 * Learn from QEMU's monitor (query-cpus-fast) which thread runs which vCPU, and under
 * TCG how many there are.  Costs the guest nothing, the monitor about 0.2 ms.  -EPROTO:
 * the answer does not fit this process (the monitor belongs to another one).
 */
US_MUST_CHECK int us_guest_vcpus_from_monitor(struct us_guest *g, struct us_qmp *q,
					      struct us_err *e);

const char *us_accel_name(enum us_accel a);

#endif
