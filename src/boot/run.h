/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.h: one boot, and when it passed each point of the plan. */
#ifndef US_BOOT_RUN_H
#define US_BOOT_RUN_H

#include "backend/bpf/boot_events.h"
#include "boot/exits.h"
#include "boot/plan.h"
#include "boot/uses.h"

#include <sys/types.h>

#define US_BOOT_TAIL 4096 /* KVM's error is followed by all registers */

struct us_boot_moment {
	uint64_t wall_ns;  /* since the VMM's program was executed */
	uint64_t clock_ns; /* CLOCK_MONOTONIC then */
	uint64_t cpu_ns;   /* CPU time of the VMM's process; 0: not known */
	uint64_t insns;	   /* executed by the guest; 0: not known */
	uint64_t error_ns; /* it may have been passed this much earlier */
	/* Samples: the same if the call that was seen is the first; 0: not known. */
	uint64_t first_error_ns;
	enum us_boot_way way;
	bool seen;
};

struct us_boot_run {
	struct us_boot_moment at[US_BOOT_MAX_POINT]; /* of each point */
	bool whole;				     /* passed all wanted points */
	bool ended;				     /* the VMM ended before that */
	bool held;  /* then: something that it has started still had its output */
	int status; /* then: as from waitpid */
	/* QEMU has stopped the guest for good before that, and stays: its run state;
	 * NULL: no.  Static. */
	const char *stuck;
	uint64_t end_ns, end_clock_ns; /* end of the run; as in us_boot_moment */
	/* How often the guest reached its first instruction: more than once if the
	 * machine is reset; 0: not known. */
	uint64_t n_start;
	bool uncounted;	   /* the plugin cannot count instructions here */
	uint64_t n_sample; /* taken by the sampler */
	struct us_boot_exits exits;
	/* The last output of the guest, and of the VMM; hostile. */
	struct us_boot_tail {
		char text[US_BOOT_TAIL]; /* NUL-terminated */
		size_t n;
	} said, complained;
};

/* Observes the guest at its own intervals. */
struct us_boot_sampler {
	void *ctx;
	/* Begin, when the vCPUs exist; a guest with a stub is stopped meanwhile.
	 * -EAGAIN: they do not exist yet. */
	int (*begin)(void *ctx, pid_t pid, struct us_err *e);
	/* Was this point's code seen?  If so, fills in wall_ns (CLOCK_MONOTONIC) and
	 * the errors; UINT64_MAX: it may have been passed as soon as the guest began.
	 */
	bool (*saw)(void *ctx, size_t point, struct us_boot_moment *ret);
	/* *ret: the number of samples.  -errno: it has failed. */
	int (*check)(void *ctx, uint64_t *ret, struct us_err *e);
	/* Called before the VMM is ended; may be called twice. */
	void (*end)(void *ctx);
};

struct us_boot_how {
	unsigned ways;	   /* enum us_boot_way: a set */
	char *const *argv; /* the command with all added options */
	/* File of vmm/plugin_boot.h, to be created; NULL: no plugin. */
	const char *file;
	const char *trace;   /* pipe of device_trace.h, to be created; NULL: none */
	const char *stub;    /* path of the GDB stub, for breakpoints; NULL: none */
	const char *monitor; /* path of QEMU's, to hear of a stop; NULL: none */
	struct us_boot_events *events; /* of the host's KVM; NULL: not observed */
	struct us_boot_code code;      /* the kernel's */
	const struct us_boot_sampler *sampler; /* NULL: none */
	/* Gets each target of calls and jumps after the kernel's entry once, with the
	 * plugin; may be NULL.  True: this passes the plan's function. */
	bool (*called)(void *ctx, uint64_t to, bool jump);
	void *called_ctx;
	uint64_t timeout_ns;
	/* How long to wait for other points after all wanted ones. */
	uint64_t linger_ns;
	bool (*stopped)(void);
	/* A point was passed; the run has it already.  May be NULL. */
	void (*passed)(void *ctx, size_t point);
	void *passed_ctx; /* also for check */
	/* Called now and then: should the run continue?  -errno ends it.  NULL: yes. */
	int (*check)(void *ctx, struct us_err *e);
	struct us_boot_uses *uses; /* filled in by the plugin; NULL: not wanted */
	/* Called at the timeout, while the VMM still exists; may be NULL. */
	void (*late)(void *ctx, pid_t pid);
	void *late_ctx;
	/* Called when all wanted points were passed, and a device was used according to
	 * QEMU's trace; the VMM still exists.  May be NULL. */
	void (*done)(void *ctx);
	void *done_ctx;
};

/* 0, also if it did not finish in time (see ret->whole); -EINTR: stopped; others: it
 * could not be started.  The VMM is always ended. */
US_MUST_CHECK int us_boot_run(const struct us_boot_plan *p,
			      const struct us_boot_how *how, struct us_boot_run *ret,
			      struct us_err *e);

#endif
