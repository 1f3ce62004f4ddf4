/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time_split.h: how the time of all vCPUs is divided: the guest, the host on its
 * behalf, others, nobody.
 *
 * It counts all samples that pass the filters by time and vCPU; filters by stack do not
 * apply.  A sample that was due stands for the time until the next one.  The parts
 * therefore add up to the time that passed, except for the unfinished interval at the
 * end.
 */
#ifndef US_PROFILE_TIME_SPLIT_H
#define US_PROFILE_TIME_SPLIT_H

#include "profile/profile.h"

enum us_time_part {
	US_TIME_GUEST,	/* the guest's own code */
	US_TIME_KVM,	/* for the guest: in KVM */
	US_TIME_VMM,	/* for the guest: in the VMM */
	US_TIME_KERNEL, /* for the guest: in the host's kernel */
	US_TIME_EXIT,	/* one of these three; the backend does not say which */
	US_TIME_READY,	/* waiting for a host CPU: steal */
	US_TIME_IDLE,	/* halted, or in a loop that waits */
	US_TIME_OFF,	/* not started, or paused by its owner */
	US_TIME_UNSEEN, /* samples that were due but not taken, or lost */
	US_N_TIME,
};

struct us_time_split {
	double unit_ns;		   /* time that a sample stands for; 0: not known */
	double part_ns[US_N_TIME]; /* all 0 if unit_ns is 0 */
	double exit_ns[US_N_EXIT]; /* sum of KVM, VMM and KERNEL by exit reason */
	/* Elapsed time times vCPUs; 0: not known, as for a part of a recording: then
	 * UNSEEN is 0 too. */
	double wall_ns;
	double sum_ns; /* of all parts */
	bool told;     /* exit_ns is known */
};

void us_time_split(const struct us_profile *p, struct us_time_split *ret);

const char *us_time_part_name(enum us_time_part part); /* "guest", "in KVM", ... */

#endif
