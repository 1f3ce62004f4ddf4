/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.h: the distinct stacks of a profile, address by address as recorded, for
 * formats with stacks of their own.  The tree of profile.h has only functions.
 */
#ifndef US_PROFILE_STACKS_H
#define US_PROFILE_STACKS_H

#include "profile/profile.h"

#define US_STACK_NO_MODULE UINT32_MAX
#define US_STACK_NO_VCPU   UINT16_MAX
#define US_STACK_NO_LANE   UINT16_MAX

/* A program counter in a stack: the innermost one, or a call. */
struct us_profile_place {
	us_gva pc;	 /* of a call: its last byte; 0: none, as for US_FRAME_READY */
	uint32_t module; /* in us_profile_modules(), or US_STACK_NO_MODULE */
	/* Its frames: frame[first .. first + n), innermost first; ... */
	uint32_t first;
	uint32_t n; /* ... each but the last is inlined into the next */
};

struct us_profile_place_frame {
	uint32_t func; /* in us_profile_funcs() */
	uint32_t line; /* 0: unknown */
};

struct us_profile_stack {
	uint32_t first, n; /* path[first .. first + n): places, innermost first */
	uint64_t weight;
	uint64_t calls; /* of a counted profile, else 0 */
	uint32_t key;	/* of a sampled profile: us_timeline_sample.key */
	uint16_t vcpu;	/* US_STACK_NO_VCPU: all */
	uint16_t lane;	/* in us_profile_lanes(); US_STACK_NO_LANE: all */
	uint32_t node;	/* node of the recorded stack, for us_profile_owner_of() */
	uint8_t state;	/* enum us_vcpu_state: GUEST, EXIT or READY */
	bool user;	/* the vCPU was in ring 3 */
};

struct us_profile_stacks {
	struct us_profile_place *place;
	struct us_profile_place_frame *frame;
	uint32_t *path;
	struct us_profile_stack *stack; /* in the same order each time */
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
