/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * known_step.h: a cache of steps from frame to frame, for stacks that differ from the
 * one before (trail.h).
 *
 * When only the code is used, a frame's caller depends on the program counter, the
 * stack pointer, the frame pointer, and the few stack words that were read for the
 * step.  If these are the same, so is the caller.
 *
 * Only for copied stacks on x86, in 64-bit code and in one address space.  Code may
 * change, and knowledge of it grows: after US_SITE_TRUST samples a step is reused only
 * if all that is known of the two addresses, their code included, is unchanged.
 */
#ifndef US_UNWIND_KNOWN_STEP_H
#define US_UNWIND_KNOWN_STEP_H

#include "unwind/site.h"

#define US_KNOWN_STEPS 256
#define US_KNOWN_WAYS  2
#define US_KNOWN_WORDS 4 /* read for a step; a step that read more is not kept */

struct us_walk;
struct us_step;

struct us_known_steps {
	struct us_space space;
	unsigned change;     /* us_unwinder.n_change */
	uint32_t generation; /* of the steps in this space */
	struct us_known_step {
		us_gva pc, sp, fp;
		uint32_t known, generation, epoch;
		uint8_t flags, n_word;
		bool framed, after_call;
		us_gva at[US_KNOWN_WORDS];
		uint64_t word[US_KNOWN_WORDS];
		us_gva low, top; /* range of these words */
		struct {
			us_gva pc, sp, fp;
			uint32_t known;
			uint8_t how, flags;
			bool framed;
		} to;
		struct us_site site, call; /* of pc and to.pc */
	} step[US_KNOWN_STEPS];
};

/* Call when the walk is at its innermost frame, after us_trail_begin(). */
void us_known_steps_begin(struct us_walk *w);
/* true: the step from this frame was known; the walk is at the caller now. */
bool us_known_step(struct us_walk *w, struct us_stack *out);
/* Keep the step that was just found; call before the walk goes on. */
void us_known_step_keep(struct us_walk *w, const struct us_step *s);

#endif
