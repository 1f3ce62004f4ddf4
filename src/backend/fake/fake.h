/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake.h: an invented guest, for tests, fuzzing and benchmarks.
 *
 * It has RAM, four-level page tables that map it high, code that a decoder of prologues
 * understands, and chains of frames.  Its time is the schedule's: sample number k is
 * due at its time whether or not the sampler keeps up, and none is ever late.  The same
 * seed gives the same captures.  It sleeps only when it is ahead of the real clock, and
 * above 100 kHz in steps of a millisecond.  A schedule of 0 Hz gives samples as fast as
 * they are asked for, at the real time.
 *
 * Alternatively the guest follows a play.  Then its time is a clock of its own, from 0,
 * that nobody waits for, and samples are due when the pacer of the other backends says
 * so.
 *
 * A stack of depth d: the leaf's pc in us_fake_leaf(), then d - 1 return addresses of
 * functions that are US_FAKE_FUNCTION bytes long; the outermost frame has a saved frame
 * pointer and a return address of 0.
 */
#ifndef US_BACKEND_FAKE_H
#define US_BACKEND_FAKE_H

#include "backend/backend.h"

#define US_FAKE_BASE	   0xffff800000000000ULL /* gva of gpa 0 */
#define US_FAKE_TEXT	   0x100000ULL		 /* gpa of the leaf, then the callers */
#define US_FAKE_FUNCTION   16
#define US_FAKE_LEAF_SIZE  512
#define US_FAKE_MAX_DEPTH  200
#define US_FAKE_MAX_STACKS (1024 * 256)

#define US_FAKE_HALTED UINT32_MAX

struct us_fake_play {
	/* The stack of a vCPU at a time of its own clock, modulo n_stack, or
	 * US_FAKE_HALTED. */
	uint32_t (*at)(void *ctx, unsigned vcpu, uint64_t t_ns);
	void *ctx;
	uint64_t late_ns; /* mean delay of a wake-up; exponential */
};

/* Members that are 0 get the value in brackets. */
struct us_fake_opts {
	unsigned n_vcpu;	  /* [1] */
	unsigned depth;		  /* of each stack, the leaf included [20] */
	unsigned n_stack;	  /* distinct stacks, evenly spread [1] */
	unsigned halted_permille; /* share of samples that find the vCPU halted */
	uint64_t end_after; /* after this many captures the guest is gone [never] */
	uint64_t held_ns;   /* the held_ns of each sample of a running vCPU */
	const struct us_fake_play *play; /* NULL: none */
};

/* The stack that capture c must unwind to; US_FAKE_MAX_DEPTH slots in pc. */
unsigned us_fake_truth(const struct us_backend *b, const struct us_capture *c,
		       us_gva *pc);

#endif
