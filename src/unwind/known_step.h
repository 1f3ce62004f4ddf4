/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * known_step.h: steps from frame to frame that were made before, so that where a stack
 * is another than the one before (trail.h) not all of it is found out again.
 *
 * By its code alone, a frame's caller depends on the program counter, the stack
 * pointer, the frame pointer, and the few words of the stack that were read for it.  If
 * these are the same, so is the caller.  Only of copied stacks of x86, in 64-bit code
 * and in one address space.  Code may change, and what is known of it grows: after
 * US_SITE_TRUST samples a step is used again only if all that is known of the two
 * addresses, their code included, is what it was.
 */
#ifndef US_UNWIND_KNOWN_STEP_H
#define US_UNWIND_KNOWN_STEP_H

#include "unwind/site.h"

#define US_KNOWN_STEPS 256
#define US_KNOWN_WAYS  2
#define US_KNOWN_WORDS 4 /* read for a step; one that took more is not kept */

struct us_walk;
struct us_step;

struct us_known_steps {
	struct us_space space;
	unsigned change;     /* of the unwinder's code */
	uint32_t generation; /* of steps in this space */
	struct us_known_step {
		us_gva pc, sp, fp;
		uint32_t known, generation, epoch;
		uint8_t flags, n_word;
		bool framed, after_call;
		us_gva at[US_KNOWN_WORDS];
		uint64_t word[US_KNOWN_WORDS];
		us_gva low, top; /* of these words */
		struct {
			us_gva pc, sp, fp;
			uint32_t known;
			uint8_t how, flags;
			bool framed;
		} to;
		struct us_site site, call; /* of pc and to.pc */
	} step[US_KNOWN_STEPS];
};

/* The walk is at its innermost frame, us_trail_begin() was called. */
void us_known_steps_begin(struct us_walk *w);
/* true: the step from this frame is known, and the walk has made it. */
bool us_known_step(struct us_walk *w, struct us_stack *out);
/* That step was just found, and the walk has not gone on yet. */
void us_known_step_keep(struct us_walk *w, const struct us_step *s);

#endif
