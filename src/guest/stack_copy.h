/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_copy.h: the copy of a stack made when a sample was taken.
 *
 * The guest has run since then: only the copied part of its stacks is true of the
 * sample.  Code is read from guest memory, where it seldom changes.
 */
#ifndef US_GUEST_STACK_COPY_H
#define US_GUEST_STACK_COPY_H

#include "guest/regs.h"

#include <stddef.h>
#include <string.h>

/* The words at a frame pointer: the caller's frame pointer and a return address. */
struct us_frame_copy {
	us_gva at;
	uint64_t word[2];
};

#define US_STACK_WINDOWS 6

struct us_stack_copy {
	/* The first begins at the stack pointer, the others on other stacks. */
	struct us_stack_window {
		us_gva base;
		uint32_t len;
		const uint8_t *bytes; /* the owner's; until the capture is released */
	} window[US_STACK_WINDOWS];
	unsigned n_window;
	/* A chain of frames, in order, outside the windows' bytes.  64-bit words. */
	const struct us_frame_copy *frame;
	unsigned n_frame;
	unsigned last;	  /* the last frame that was read */
	uint32_t deepest; /* offset in a window: the end of what was read */
	uint32_t used; /* bit n: window n was read; not set by each read of the first */
	bool held;   /* the guest is still stopped: what is not in the copy can be read
			from its memory */
	bool missed; /* a requested address is not in the copy ... */
	us_gva missed_at; /* ... the last such address that a stack can have */
};

/* Start with one window, of which nothing was read.  The other windows stay as they
 * are. */
static inline void us_stack_copy_begin(struct us_stack_copy *c, us_gva base,
				       const uint8_t *bytes, uint32_t len)
{
	c->window[0].base = base;
	c->window[0].len = len;
	c->window[0].bytes = bytes;
	c->n_window = 1;
	c->frame = NULL;
	c->n_frame = c->last = 0;
	c->deepest = c->used = 0;
	c->held = c->missed = false;
	c->missed_at = 0;
}

/* An unwinder's guess may take a small number for an address; low memory holds no
 * stacks. */
static inline bool us_stack_copy_may_be(us_gva va)
{
	return va >= 65536;
}

/* Read len bytes (up to 8) at va; false if they are not all in the copy. */
bool us_stack_copy_read(struct us_stack_copy *c, us_gva va, void *ret, size_t len);

/* The same for a word of 8 bytes in the first window, where most are; false: try
 * us_stack_copy_read(). */
static inline bool us_stack_copy_word(struct us_stack_copy *c, us_gva va, uint64_t *ret)
{
	const struct us_stack_window *w = &c->window[0];
	uint64_t off = va - w->base, end = off + 8;
	if (!c->n_window || end > w->len || end < 8)
		return false;
	memcpy(ret, w->bytes + off, 8);
	if (end > c->deepest)
		c->deepest = (uint32_t)end;
	return true;
}

#endif
