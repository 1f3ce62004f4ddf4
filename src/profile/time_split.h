/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time_split.h: where the time of all vCPUs went, whoever had it: the guest, the host
 * on its behalf, others, nobody.
 *
 * Of all samples that the filters by time and vCPU let through; not by stack.  A sample
 * that was due stands for as long as it is to the next, so the parts are the time that
 * went by, but for what is under way at the end.
 */
#ifndef US_PROFILE_TIME_SPLIT_H
#define US_PROFILE_TIME_SPLIT_H

#include "profile/profile.h"

enum us_time_part {
	US_TIME_GUEST,	/* its own code */
	US_TIME_KVM,	/* for it: in KVM */
	US_TIME_VMM,	/* in the VMM */
	US_TIME_KERNEL, /* in the host's kernel */
	US_TIME_EXIT,	/* one of these three: the backend does not tell */
	US_TIME_READY,	/* it waits for a host CPU: steal */
	US_TIME_IDLE,	/* halted, or in a loop that waits */
	US_TIME_OFF,	/* not started, or paused by its owner */
	US_TIME_UNSEEN, /* samples that were due and not taken, or lost */
	US_N_TIME,
};

struct us_time_split {
	double unit_ns;		   /* that a sample stands for; 0: not known */
	double part_ns[US_N_TIME]; /* 0 each if unit_ns is */
	double exit_ns[US_N_EXIT]; /* KVM, VMM and KERNEL by reason */
	double wall_ns; /* that went by, times vCPUs; 0: not known, as of a part of a
			   recording: then UNSEEN is 0 as well */
	double sum_ns;	/* of all parts */
	bool told;	/* reasons of exits are */
};

void us_time_split(const struct us_profile *p, struct us_time_split *ret);

const char *us_time_part_name(enum us_time_part part); /* "guest", "in KVM", ... */

#endif
