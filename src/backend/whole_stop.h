/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whole_stop.h: samples that stop all vCPUs at once, as a stub or a monitor does: when
 * one is due, and its captures, which are delivered one after the other.  The guest is
 * resumed when the last of them is released.
 */
#ifndef US_BACKEND_WHOLE_STOP_H
#define US_BACKEND_WHOLE_STOP_H

#include "backend/backend.h"
#include "backend/pacer.h"
#include "backend/running_pc.h"
#include "backend/vcpu_threads.h"

/* What a backend does.  ctx is its own.  Errors are those that its next() returns. */
struct us_whole_stop_ops {
	/* Sleep until t_ns while the guest runs.  -EINTR: a signal came. */
	int (*sleep)(void *ctx, uint64_t t_ns);
	/* Stop the guest and read the vCPUs in mask: sets got, asked_ns and t_ns.  If
	 * something fails after the stop, it undoes the stop, and sets undone_ns. */
	int (*sample)(void *ctx);
	/* *ret_ns, always set: since when the guest runs.  The terminal may stop this
	 * process on the way back from there. */
	int (*resume)(void *ctx, uint64_t *ret_ns);
	/* Registers and state of a vCPU that was read; the form is set. */
	void (*fill)(void *ctx, unsigned vcpu, struct us_capture *c);
	/* Did this vCPU, which was read, run?  A stop takes time only from vCPUs that
	 * ran. */
	bool (*ran)(void *ctx, unsigned vcpu);
	/* Its owner had paused the guest: nothing was stopped. */
	bool (*paused)(void *ctx);
};

struct us_whole_stop {
	const struct us_whole_stop_ops *ops;
	void *ctx;
	unsigned n_vcpu, n_chosen;
	bool runs_halted; /* the thread of a halted vCPU may run: it may be in the guest
			   */
	bool sleeps_stopped; /* TCG: the thread of a stopped vCPU does nothing, and the
				guest's clock stops */
	uint64_t mask;	     /* the chosen ones */
	struct us_pacer pacer;
	struct us_vcpu_threads threads;
	struct us_running_pc running;
	struct us_vcpu_thread_time time[US_MAX_VCPUS]; /* at the last stop */
	uint64_t time_known;			       /* bit n: time[n] is known */
	uint64_t ran_ns[US_MAX_VCPUS]; /* from the stop before to the last; UINT64_MAX:
					  not known */
	uint64_t halted; /* bit n: vCPU n was halted when it was read last */
	struct us_regs halted_regs[US_MAX_VCPUS]; /* then */
	uint64_t let_go_ns;			  /* when the last stop ended */
	uint8_t early[US_MAX_VCPUS]; /* samples that were due before the work that they
					found, less those that came after theirs */
	uint64_t early_ns;	     /* when the last of them was */
	int broken;		     /* error that ended sampling, seen in release() */

	/* Of one sample: */
	bool held;	    /* between the stop and the last release */
	unsigned at;	    /* the vCPU delivered now, or next */
	uint64_t asked_ns;  /* when the request to stop went out */
	uint64_t t_ns;	    /* when the guest was known to be stopped */
	uint64_t since_ns;  /* since when the vCPUs did not run, on average */
	uint64_t undone_ns; /* how long a sample that failed held the guest */
	uint64_t told_ns;   /* captures' held_ns covers the stop up to this time */
	uint64_t got;	    /* bit n: vCPU n was read */
	uint64_t busy;	    /* bit n: the thread of vCPU n had work when it was due */
	uint64_t due_known; /* bit n: time_due[n] is known */
	struct us_vcpu_thread_time time_due[US_MAX_VCPUS]; /* when the sample was due */
	uint64_t woken; /* bit n: only the end of the last stop woke it */
	uint64_t idled; /* bit n: it had nothing to do for some time since then */
};

/* Setup path.  guest: whose threads to check; pid 0: not known. */
US_MUST_CHECK int us_whole_stop_start(struct us_whole_stop *w,
				      const struct us_schedule *s,
				      const struct us_guest *guest, struct us_err *e);
/* Accepts one that was not started.  Does not resume the guest. */
void us_whole_stop_close(struct us_whole_stop *w);

/* As next(), release() and let_go() of struct us_backend_ops. */
int us_whole_stop_next(struct us_whole_stop *w, uint64_t deadline_ns,
		       struct us_capture *c);
void us_whole_stop_release(struct us_whole_stop *w, struct us_capture *c);
void us_whole_stop_let_go(struct us_whole_stop *w);
void us_whole_stop_counts(const struct us_whole_stop *w, struct us_backend_counts *ret);

#endif
