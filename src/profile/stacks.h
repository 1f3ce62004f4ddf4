/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.h: the distinct stacks of a profile, address by address as they were recorded,
 * for formats that have stacks of their own.  The tree of profile.h has functions only.
 */
#ifndef US_PROFILE_STACKS_H
#define US_PROFILE_STACKS_H

#include "profile/profile.h"

#define US_STACK_NO_MODULE UINT32_MAX
#define US_STACK_NO_VCPU   UINT16_MAX
#define US_STACK_NO_LANE   UINT16_MAX

/* Where a program counter was: the innermost, or a call. */
struct us_profile_place {
	us_gva pc;	 /* of a call: its last byte; 0: none, as of US_FRAME_READY */
	uint32_t module; /* of us_profile_modules(), or US_STACK_NO_MODULE */
	uint32_t first;	 /* frames there: frame[first .. first + n), innermost first: */
	uint32_t n;	 /* those before the last are inlined into the next */
};

struct us_profile_place_frame {
	uint32_t func; /* of us_profile_funcs() */
	uint32_t line; /* 0: unknown */
};

struct us_profile_stack {
	uint32_t first, n; /* path[first .. first + n): places, innermost first */
	uint64_t weight;
	uint64_t calls; /* of a profile that was counted, else 0 */
	uint32_t key;	/* of one that was sampled: us_timeline_sample.key */
	uint16_t vcpu;	/* US_STACK_NO_VCPU: of all */
	uint16_t lane;	/* of us_profile_lanes(); US_STACK_NO_LANE: of all */
	uint32_t node;	/* of the recorded stacks: us_profile_process_of() */
	uint8_t state;	/* enum us_vcpu_state: GUEST, EXIT or READY */
	bool user;	/* the vCPU was in ring 3 */
};

struct us_profile_stacks {
	struct us_profile_place *place;
	struct us_profile_place_frame *frame;
	uint32_t *path;
	struct us_profile_stack *stack; /* the same in each run */
	size_t n_place, n_frame, n_path, n_stack;
};

/*
 * All stacks in the tree, by vCPU if the profile was read with us_profile_opts.by_vcpu.
 * Their weights add up to us_profile_summary.running.  0, or -ENOMEM and *ret is empty.
 */
US_MUST_CHECK int us_profile_stacks(const struct us_profile *p,
				    struct us_profile_stacks *ret);
void us_profile_stacks_fini(struct us_profile_stacks *s); /* accepts a zeroed one */

#endif
