/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/guest.h: a guest that `top` shows: its recording, and its current values. */
#ifndef US_CMD_TOP_GUEST_H
#define US_CMD_TOP_GUEST_H

#include "cmd/record/fleet.h"
#include "cmd/top/layout.h"
#include "cmd/vmm_cpu.h"

struct us_top_guest {
	struct us_member *member;
	struct us_live *live; /* NULL: it is not recorded (yet) */
	unsigned number;      /* in order of appearance */
	bool over;	      /* the recording has ended, or was refused */
	char words[256];      /* then: how and why */
	char name[US_TOP_TEXT], how[64];
	uint64_t begun_ns;

	/* From the last renewal: */
	struct us_profile *profile; /* NULL: none yet */
	struct us_profile *waits;   /* what its tasks wait for; NULL: none yet */
	bool glanced;		    /* profile is for a row: without intervals */
	bool grouped;		    /* it can be shown by process */
	struct us_profile *stack;   /* of the selected vCPU, or NULL */
	struct us_live_vcpu vcpu[US_MAX_VCPUS];
	unsigned n_vcpu;
	struct us_vmm_cpu cpu;
	uint64_t due_ns; /* no new profile before this time */
};

/* m's recording has begun, and m->r is set. */
US_MUST_CHECK int us_top_guest_begin(struct us_top_guest *g, struct us_err *e);
/* The recording has ended for good. */
void us_top_guest_end(struct us_top_guest *g);
void us_top_guest_fini(struct us_top_guest *g);

/* The one of profile and waits that state's page shows; NULL: none yet. */
const struct us_profile *us_top_guest_shown(const struct us_top_guest *g,
					    const struct us_top_state *state);

/*
 * Read what was recorded since, and make what state's page shows.  A profile that takes
 * long is made less often, so that watching stays cheap; now: make it in any case.  On
 * failure the old data stays, and state's message says why.
 */
void us_top_guest_renew(struct us_top_guest *g, struct us_top_state *state, bool now);
/* Only what a row in a list of this many guests shows, for the last window_ns. */
void us_top_guest_glance(struct us_top_guest *g, uint64_t window_ns, size_t guests);
/* Its row, whose strings belong to the guest. */
struct us_top_guest_row us_top_guest_row(const struct us_top_guest *g);

#endif
