/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.h: one boot, and when it passed each point of the plan. */
#ifndef US_BOOT_RUN_H
#define US_BOOT_RUN_H

#include "backend/bpf/boot_events.h"
#include "boot/exits.h"
#include "boot/plan.h"
#include "boot/uses.h"

#include <sys/types.h>

#define US_BOOT_TAIL 1024

struct us_boot_moment {
	uint64_t wall_ns;  /* since the VMM's program was executed */
	uint64_t clock_ns; /* CLOCK_MONOTONIC then */
	uint64_t cpu_ns;   /* of the VMM's process; 0: not known */
	uint64_t insns;	   /* executed by the guest; 0: not known */
	uint64_t error_ns; /* it was passed up to so long before; 0: then */
	enum us_boot_way way;
	bool seen;
};

struct us_boot_run {
	struct us_boot_moment at[US_BOOT_MAX_POINT]; /* of each point */
	bool whole;				     /* passed all that is wanted */
	bool ended;				     /* the VMM, before that */
	int status;				     /* then: as waitpid gives it */
	uint64_t end_ns, end_clock_ns; /* when it was over; as of moments */
	/* How often the guest came to its first instruction: of a machine that is reset
	 * more than once; 0: not known. */
	uint64_t n_start;
	uint64_t n_sample; /* by the sampler */
	struct us_boot_exits exits;
	/* What the guest, and the VMM, wrote last; hostile. */
	struct us_boot_tail {
		char text[US_BOOT_TAIL]; /* NUL-terminated */
		size_t n;
	} said, complained;
};

/* What looks at the guest at its own intervals. */
struct us_boot_sampler {
	void *ctx;
	/* Begin, once the vCPUs are there; a guest with a stub stands meanwhile.
	 * -EAGAIN: they are not. */
	int (*begin)(void *ctx, pid_t pid, struct us_err *e);
	/* Was this point's code seen?  Then wall_ns (CLOCK_MONOTONIC) and error_ns. */
	bool (*saw)(void *ctx, size_t point, struct us_boot_moment *ret);
	/* How many samples there were.  -errno: it has failed. */
	int (*check)(void *ctx, uint64_t *ret, struct us_err *e);
	void (*end)(void *ctx); /* before the VMM is ended; may be called twice */
};

struct us_boot_how {
	unsigned ways;	   /* enum us_boot_way: a set */
	char *const *argv; /* the command, with all that is added to it */
	const char *file;  /* of vmm/plugin_boot.h, is made; NULL: there is no plugin */
	const char *trace; /* of device_trace.h, is made; NULL: there is none */
	const char *stub;  /* the path of its GDB stub, for breakpoints; NULL: none */
	struct us_boot_events *events;	       /* of the host's KVM; NULL: not seen */
	struct us_boot_code code;	       /* the kernel's */
	const struct us_boot_sampler *sampler; /* NULL: none */
	/* To where the guest called and jumped from its kernel's entry on, each place
	 * once: by the plugin, and where not NULL.  True: that passes the plan's
	 * function. */
	bool (*called)(void *ctx, uint64_t to, bool jump);
	void *called_ctx;
	uint64_t timeout_ns;
	uint64_t linger_ns; /* for what is not wanted, once all that is was passed */
	bool (*stopped)(void);
	/* A point was passed, as the run has it now; NULL: nothing is done then. */
	void (*passed)(void *ctx, size_t point);
	void *passed_ctx; /* of check, too */
	/* Now and then: does it make sense to go on?  -errno ends the run. NULL: yes.
	 */
	int (*check)(void *ctx, struct us_err *e);
	struct us_boot_uses *uses; /* filled in, by the plugin; NULL: not wanted */
	/* The time is over, the VMM still there; NULL: nothing is done about it. */
	void (*late)(void *ctx, pid_t pid);
	void *late_ctx;
	/* All that is wanted was passed, and a device used by QEMU's trace; the VMM is
	 * still there. NULL: nothing. */
	void (*done)(void *ctx);
	void *done_ctx;
};

/* 0, also if it came to no end in time (ret->whole); -EINTR: stopped; others: it could
 * not be started.  The VMM is ended. */
US_MUST_CHECK int us_boot_run(const struct us_boot_plan *p,
			      const struct us_boot_how *how, struct us_boot_run *ret,
			      struct us_err *e);

#endif
