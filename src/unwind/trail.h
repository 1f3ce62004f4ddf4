/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trail.h: remembers the last stacks, so that the unchanged part of a stack is not
 * unwound again.
 *
 * From one sample to the next, the outer frames of a stack mostly stay.  For each
 * frame, the trail keeps the registers at the time when its caller was looked for, and
 * the words of memory that were read for that.  If the unwinder comes to a frame with
 * the same registers, and the words of that frame and of all outer frames are
 * unchanged, then the rest of the stack is unchanged as well.
 *
 * Only for copied stacks, because only those can be compared; in one address space, and
 * in code of one width.  The innermost frames of a stack seldom repeat, so they are
 * left out if others follow; known_step.h is for them.  Every US_SITE_TRUST samples the
 * whole stack is unwound, because code may change, and knowledge of it grows.
 */
#ifndef US_UNWIND_TRAIL_H
#define US_UNWIND_TRAIL_H

#include "unwind/unwind.h"

#define US_TRAIL_BYTES 16384 /* of a stack; a larger one has no trail */
#define US_TRAILS      4     /* stacks, by their address */
#define US_TRAIL_WORDS 8     /* that are noted for a frame */

struct us_walk;

struct us_trail_frame {
	us_gva pc;
	us_gva low;	    /* lowest address read for this frame and all outer ones */
	us_gva missed;	    /* lowest address that is not in the copy; 0: none */
	us_gva missed_last; /* of these, the last one that was tried */
	uint32_t known;
	uint8_t flags, n_switch, how, out_flags;
	uint8_t n_word; /* words read; > US_TRAIL_WORDS: not all are noted */
	bool framed, after_call;
	us_gva word[US_TRAIL_WORDS];
	uint64_t reg[US_MAX_GPR];
};

struct us_trail {
	/* The frames of a whole stack; n 0: no trail. */
	unsigned n;
	unsigned depth;	 /* frames of that stack, including those left out */
	unsigned change; /* us_unwinder.n_change */
	unsigned age;	 /* samples since the whole stack was unwound */
	struct us_space space;
	us_gva top; /* the end of what was read */
	uint8_t end;
	struct us_trail_frame frame[US_MAX_FRAMES]; /* the outermost first */
	uint8_t bytes[US_TRAIL_BYTES]; /* the last ones are right below top */
};

/* How one unwinding uses a trail. */
struct us_trail_use {
	struct us_trail *trail;		      /* NULL: nothing */
	const struct us_stack_window *window; /* the copy */
	unsigned at;	 /* frames of the trail that may still be met */
	unsigned joined; /* frames of the trail that were taken over */
	unsigned skip;	 /* innermost frames that are left out */
	bool fresh;	 /* the whole stack is unwound */
	bool compared;
	/* If compared: the stack is unchanged from here on ... */
	us_gva same_from;
	/* ... and for so many frames, the outermost first, all words are unchanged. */
	unsigned n_same;
	us_gva low, top, missed, missed_last; /* of the current frame's step */
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

/* Call when the walk is at its innermost frame. */
void us_trail_begin(struct us_walk *w);
/* Call before the caller of a frame that is not left out is looked for.  true: *out has
 * the rest of the stack. */
bool us_trail_meets(struct us_walk *w, struct us_stack *out);
/* Is frame n, counted from the innermost, left out?  What is read for it is noted for
 * known_step.h, but not in the trail. */
static inline bool us_trail_skips(struct us_trail_use *use, unsigned n)
{
	if (n > use->skip)
		return false;
	use->now = &use->frame[0];
	use->now->n_word = 0;
	return true;
}
/* A word of so many bytes was read from the stack. */
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
/* A word should have been read, but is not in the copy. */
void us_trail_missed(struct us_walk *w, us_gva va);
/* The walk now depends on more than registers and the stack: use no trail. */
void us_trail_leave(struct us_walk *w);
/* The walk is over. */
void us_trail_end(struct us_walk *w, const struct us_stack *out);

#endif
