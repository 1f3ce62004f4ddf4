/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pace.h: how long the period of one vCPU's timer is: another one from time to time.
 *
 * A timer of a fixed period sees a guest that keeps step with it in one phase of its
 * cycle only.  So each period is drawn at random: ticks come at a rate between half of
 * the one that is asked for and one and a half of it, and for some dozen ticks at most.
 * A tick stands for its period, which is more or less than one sample that is due; what
 * is left over counts for the next, so samples of a long period may have a weight of 2,
 * and some ticks of a short one make no sample.  If that were always told when it comes
 * to a whole sample, a guest whose cycle is the mean period would meet the same ticks
 * with the same weights for as long as a period lasts.  So it is told when it comes to
 * some part of one, and to another, at random, every few samples: which changes no sum
 * by more than one.
 */
#ifndef US_BACKEND_BPF_PACE_H
#define US_BACKEND_BPF_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define US_BPF_PACE_MIN_NS 10000 /* the kernel takes no period that is shorter */

struct us_bpf_beat {
	uint64_t period_ns; /* between two ticks */
	double part;	    /* the same, of the mean period that was wanted */
};

struct us_bpf_pace {
	uint64_t random, due_random;
	struct us_bpf_beat now, before, next;
	uint64_t since_ns; /* when the one followed the other */
	unsigned n_tick;   /* since then */
	double due;	   /* samples: part of one, which is still to be told */
	double threshold;  /* 0 to 1: from which part on it is told */
	unsigned n_due;	   /* samples that were told by this one */
};

/* The mean period of a rate; 0 or less: a second. */
uint64_t us_bpf_pace_period(double hz);

void us_bpf_pace_start(struct us_bpf_pace *p, uint64_t seed);

/* Has the period been in use for long enough?  Another one costs the tick that is under
 * way, so a vCPU that runs little keeps its period for longer. */
bool us_bpf_pace_is_old(const struct us_bpf_pace *p);

/* Draw another period, to which the timer is to be set. */
uint64_t us_bpf_pace_draw(struct us_bpf_pace *p, uint64_t mean_ns);

/* The timer has been set to it at now_ns.  The time that had passed since the last
 * tick, which no tick stands for: half of the old period, in the mean; 0 at the start.
 */
struct us_bpf_beat us_bpf_pace_set(struct us_bpf_pace *p, uint64_t now_ns);

/* Hot path: a tick came at t_ns.  What it stands for. */
struct us_bpf_beat us_bpf_pace_tick(struct us_bpf_pace *p, uint64_t t_ns);

/* Hot path: how many samples, or none, are due for that part of a mean period, of which
 * a whole one has due_of_period. */
uint32_t us_bpf_pace_due(struct us_bpf_pace *p, double part, double due_of_period);

#endif
