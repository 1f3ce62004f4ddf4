/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calibration.h: are 95 of 100 intervals right, and are they no wider than need be?
 *
 * An invented guest follows a play whose truth is known to the nanosecond; the pacer of
 * the real backends samples it, the samples are written as a recording, and a profile
 * is read from that.  All but the clock is real, and with one seed all comes again.
 */
#ifndef TEST_CALIBRATION_H
#define TEST_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#define N_FUNC 3 /* of the guest: 60, 30 and 10 % of its busy time */

struct guest_kind {
	const char *name;
	enum {
		STEADY, /* a tenth of a sampling period of one function, at random */
		CYCLE,	/* one function after the other */
		BURSTS, /* as CYCLE, but how long each takes is exponential */
	} kind;
	double cycle_ns; /* 0: the sampling period */
	double idle;	 /* part of each cycle; then once more after the functions */
	double wobble;	 /* of each cycle's length: up to so much of it, at random */
};

struct trial {
	struct guest_kind guest;
	double hz, seconds;
	unsigned n_vcpu, n_run;
	uint64_t late_ns, held_ns, seed;
	double cpu; /* by bpf's ticks: the part of the time that it has a host CPU */
	const double *parts; /* of each function; NULL: 60, 30 and 10 % */
};

/* Over all recordings and functions of a trial. */
struct verdict {
	double span_inside, long_inside; /* parts of the intervals: 0 to 1 */
	double span_width, long_width;	 /* mean, by the honest one */
	double half;			 /* mean half width of the span's, of 0..1 */
	double idle_inside, idle_width;	 /* of the span; 0: it does not idle */
};

/* One recording, read; the caller's to free.  NULL: as below. */
struct us_profile *calibration_profile(const struct trial *t);

/* false: out of memory, or a recording could not be made. */
bool calibrate(const struct trial *t, struct verdict *ret);

#endif
