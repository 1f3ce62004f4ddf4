/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pace.h: chooses the period of one vCPU's timer, and changes it from time to time.
 *
 * A timer with a fixed period sees a guest that runs in step with it in one phase of
 * its cycle only.  Each period is therefore random: the tick rate is between half and
 * one and a half of the requested rate, and is kept for some dozen ticks at most.
 *
 * A tick stands for its period, which is more or less than one due sample.  The
 * remainder counts for the next tick: samples of a long period may have a weight of 2,
 * and some ticks of a short one make no sample.  If a sample were delivered whenever
 * the sum reaches a whole one, a guest whose cycle is the mean period would meet the
 * same ticks with the same weights for as long as a period lasts.  It is therefore
 * delivered when the sum reaches a threshold below one, which is drawn again every few
 * samples.  This changes no sum by more than one.
 *
 * A timer that was held up skips the ticks that came due meanwhile: the host's kernel
 * had its interrupts off, or the host is a virtual machine itself and had no CPU.  The
 * guest stood still then.  What the host's kernel did for an exit counts for that exit.
 * Where in its own code the guest was when the host had no CPU is chance, and one
 * sample that counted for all of a long gap would make the shares of functions as
 * uncertain as few samples do: the next samples count for a part of it each.
 */
#ifndef US_BACKEND_BPF_PACE_H
#define US_BACKEND_BPF_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define US_BPF_PACE_MIN_NS 10000 /* the kernel accepts no shorter period */

struct us_bpf_beat {
	uint64_t period_ns; /* between two ticks */
	double part; /* the same, as a share of the mean period that was wanted */
};

struct us_bpf_pace {
	uint64_t random, due_random;
	struct us_bpf_beat now, before, next;
	uint64_t since_ns; /* when now replaced before */
	unsigned n_tick;   /* ticks since then */
	bool is_before;	   /* the last tick was of the period before */
	/* When a sample last said how long the thread had run: by how much it was late,
	 * and parts of periods that were lost since then. */
	double late_ns, lost_ns;
	unsigned n_set;	  /* how often the timer was set since then */
	double owed;	  /* mean periods of skipped ticks that no sample counts for */
	double due;	  /* samples: the part of one that is not delivered yet */
	double threshold; /* 0 to 1: the part at which a sample is delivered */
	unsigned n_due;	  /* samples delivered with this threshold */
};

/* The mean period of a rate (0 or less: a second), or a longer one, with which no draw
 * exceeds the rate max_hz; 0: there is no limit. */
uint64_t us_bpf_pace_period(double hz, uint64_t max_hz);

void us_bpf_pace_start(struct us_bpf_pace *p, uint64_t seed);

/* Has the period been in use for long enough?  Changing it costs the tick that is under
 * way, so a vCPU that runs little keeps its period for longer. */
bool us_bpf_pace_is_old(const struct us_bpf_pace *p);

/* Draw another period, to which the caller sets the timer. */
uint64_t us_bpf_pace_draw(struct us_bpf_pace *p, uint64_t mean_ns);

/* The timer was set to it at now_ns.  Returns the time since the last tick, which no
 * tick stands for: half of the old period, on average; 0 at the start. */
struct us_bpf_beat us_bpf_pace_set(struct us_bpf_pace *p, uint64_t now_ns);

/* Hot path: a tick came at t_ns.  Returns what it stands for. */
struct us_bpf_beat us_bpf_pace_tick(struct us_bpf_pace *p, uint64_t t_ns);

/* For the program: if the tick before is as near, mostly none was skipped. */
uint64_t us_bpf_pace_near(const struct us_bpf_pace *p);

/*
 * Hot path, after us_bpf_pace_tick(), whose result is beat: how many ticks were
 * skipped. The others are as in struct us_bpf_sample.  ran_ns should be known at the
 * first tick after the timer was set, and if the tick before is farther than
 * us_bpf_pace_near().
 */
uint32_t us_bpf_pace_skipped(struct us_bpf_pace *p, struct us_bpf_beat beat,
			     uint64_t ran_ns, uint16_t n_tick, uint16_t n_new);

/* Hot path: the part of a mean period that a sample counts for: its own and some of the
 * skipped ticks'.  at_once: this one has to do with the gap. */
double us_bpf_pace_part(struct us_bpf_pace *p, struct us_bpf_beat beat,
			uint32_t skipped, bool at_once);

/* Hot path: how many samples, possibly none, are due for that part of a mean period; a
 * whole period has due_of_period. */
uint32_t us_bpf_pace_due(struct us_bpf_pace *p, double part, double due_of_period);

#endif
