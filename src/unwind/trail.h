/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trail.h: the last stacks, so that the part of a stack that has not changed is not
 * unwound again.
 *
 * From one sample to the next the outer frames of a stack mostly stay.  Of each frame
 * the registers are kept as they were when its caller was looked for, and what words of
 * memory were read for it.  If an unwinding comes to a frame with the same registers,
 * and those words are the same from there on outwards, then so is the rest of the
 * stack.
 *
 * Only of stacks that were copied, as only those can be compared; in one address space,
 * and in code of one width.  The innermost frames of a stack seldom come again as they
 * were, and are left out where others follow: known_step.h is for them.  Each
 * US_SITE_TRUST samples a stack is unwound as a whole, because code may change, and
 * what is known of it grows.
 */
#ifndef US_UNWIND_TRAIL_H
#define US_UNWIND_TRAIL_H

#include "unwind/unwind.h"

#define US_TRAIL_BYTES 16384 /* of a stack; a longer one has no trail */
#define US_TRAILS      4     /* stacks by their place */
#define US_TRAIL_WORDS 8     /* that are noted of a frame */

struct us_walk;

struct us_trail_frame {
	us_gva pc;
	us_gva low;	    /* the lowest that was read from this frame outwards */
	us_gva missed;	    /* the lowest that is not in the copy; 0: nothing */
	us_gva missed_last; /* of these, the one that was tried last */
	uint32_t known;
	uint8_t flags, n_switch, how, out_flags;
	uint8_t n_word; /* that were read; more than are noted: any below */
	bool framed, after_call;
	us_gva word[US_TRAIL_WORDS];
	uint64_t reg[US_MAX_GPR];
};

struct us_trail {
	/* Of a whole stack; n 0: there is none. */
	unsigned n;
	unsigned depth;	 /* frames of that stack, with those that are left out */
	unsigned change; /* of the unwinder's code */
	unsigned age;	 /* samples since all of it was unwound */
	struct us_space space;
	us_gva top; /* the end of what was read */
	uint8_t end;
	struct us_trail_frame frame[US_MAX_FRAMES]; /* the outermost first */
	uint8_t bytes[US_TRAIL_BYTES];		    /* their end is those below top */
};

/* What one unwinding has to do with it. */
struct us_trail_use {
	struct us_trail *trail;		      /* NULL: nothing */
	const struct us_stack_window *window; /* the copy */
	unsigned at;			      /* frames of it that may still be met */
	unsigned joined;		      /* of it, that were taken over */
	unsigned skip;			      /* innermost frames that are left out */
	bool fresh;			      /* all is unwound anew */
	bool compared;
	/* If compared: all is as it was from here on ... */
	us_gva same_from;
	/* ... and so many of its frames read what they did, the outermost first. */
	unsigned n_same;
	us_gva low, top, missed, missed_last; /* of this frame's step */
	unsigned n;			      /* frames noted, the innermost first */
	unsigned n_reg;
	struct us_trail_frame *frame; /* room for US_MAX_FRAMES */
	struct us_trail_frame *now;   /* the last that was noted, or NULL */
};

struct us_trails {
	struct us_trail trail[US_TRAILS];
	struct us_trail_frame frame[US_MAX_FRAMES];
	struct us_trail_use use;
};

/* The walk is at its innermost frame. */
void us_trail_begin(struct us_walk *w);
/* The caller of the frame, which is not left out, is to be looked for: true: *out has
 * the rest of the stack. */
bool us_trail_meets(struct us_walk *w, struct us_stack *out);
/* Is the innermost frame of n left out? What is read for it is noted (known_step.h),
 * but in no frame of the trail. */
static inline bool us_trail_skips(struct us_trail_use *use, unsigned n)
{
	if (n > use->skip)
		return false;
	use->now = &use->frame[0];
	use->now->n_word = 0;
	return true;
}
/* A word of so many bytes was read of the stack. */
static inline void us_trail_read(struct us_trail_use *use, us_gva va, unsigned bytes)
{
	struct us_trail_frame *f = use->now;
	if (f && f->n_word < US_TRAIL_WORDS)
		f->word[f->n_word] = va;
	if (f)
		f->n_word += f->n_word <= US_TRAIL_WORDS;
	if (va < use->low)
		use->low = va;
	if (va + bytes > use->top)
		use->top = va + bytes;
}
/* It should have been, and is not in the copy. */
void us_trail_missed(struct us_walk *w, us_gva va);
/* What happened to the walk cannot be told by registers and the stack. */
void us_trail_leave(struct us_walk *w);
/* The walk is over. */
void us_trail_end(struct us_walk *w, const struct us_stack *out);

#endif
