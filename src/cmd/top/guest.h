/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/guest.h: one guest that `top` shows: its recording, and what is seen of it.
 */
#ifndef US_CMD_TOP_GUEST_H
#define US_CMD_TOP_GUEST_H

#include "cmd/record/fleet.h"
#include "cmd/top/layout.h"
#include "cmd/vmm_cpu.h"

struct us_top_guest {
	struct us_member *member;
	struct us_live *live; /* NULL: nothing is recorded of it (yet) */
	unsigned number;      /* in the order in which they came */
	bool over;	      /* recorded, or refused */
	char words[256];      /* then how and why */
	char name[US_TOP_TEXT], how[64];
	uint64_t begun_ns;

	/* Of the last renewal: */
	struct us_profile *profile; /* NULL: none yet */
	struct us_profile *waits;   /* what its tasks wait for; NULL: none yet */
	bool glanced;		    /* it is for a row: without intervals */
	bool grouped;		    /* it can be shown by process */
	struct us_profile *stack;   /* of the vCPU that is asked for, or NULL */
	struct us_live_vcpu vcpu[US_MAX_VCPUS];
	unsigned n_vcpu;
	struct us_vmm_cpu cpu;
	uint64_t due_ns; /* no profile before that */
};

/* m's recording has begun, and r is there. */
US_MUST_CHECK int us_top_guest_begin(struct us_top_guest *g, struct us_err *e);
/* It is over, for good. */
void us_top_guest_end(struct us_top_guest *g);
void us_top_guest_fini(struct us_top_guest *g);

/* Of the two, what a page of state shows; NULL: none yet. */
const struct us_profile *us_top_guest_shown(const struct us_top_guest *g,
					    const struct us_top_state *state);

/*
 * Take in what was recorded, and make what a page of state shows of it.  A profile that
 * takes long is made less often, so that looking stays cheap; now: whatever it takes.
 * What cannot be had is left as it was, and said in the state's message.
 */
void us_top_guest_renew(struct us_top_guest *g, struct us_top_state *state, bool now);
/* Only what a row of so many guests shows: window_ns of it. */
void us_top_guest_glance(struct us_top_guest *g, uint64_t window_ns, size_t guests);
/* Its row.  What is in it belongs to the guest. */
struct us_top_guest_row us_top_guest_row(const struct us_top_guest *g);

#endif
