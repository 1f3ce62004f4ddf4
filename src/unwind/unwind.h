/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind.h: from registers to a list of program counters.
 *
 * It works on raw guest memory and knows nothing of names.
 *
 * A chain of frame pointers alone is wrong at its start: a leaf function has no frame
 * even with -fno-omit-frame-pointer, and in a prologue or epilogue rbp is still, or
 * again, the caller's.  Therefore, for every address that it meets, the unwinder
 * follows what the code does to rsp and rbp, from the function's start (and on to a
 * ret).  It does so once and remembers the result, which gives the place of the return
 * address with or without frame pointers.
 *
 * A return address is accepted only if a CALL precedes it and, where that CALL names
 * its target, if the CALL can have led to the callee.  Otherwise the stack ends there,
 * with the reason in `end`.
 */
#ifndef US_UNWIND_H
#define US_UNWIND_H

#include "guest/paging.h"

#define US_MAX_FRAMES	   128
#define US_MAX_HOST_FRAMES 64 /* of the host, in addition */

/* Why a stack ends.  Recorded with every sample, so that a report can tell a complete
 * stack from a truncated one.  Stored in files: append only. */
enum us_unwind_end {
	US_END_NONE,	/* no stack was taken (idle, lost) */
	US_END_ROOT,	/* reached the outermost frame */
	US_END_DEPTH,	/* US_MAX_FRAMES */
	US_END_FAULT,	/* a needed address is not mapped or not RAM */
	US_END_CYCLE,	/* the frame chain does not move up the stack */
	US_END_NO_RULE, /* neither a rule nor a frame pointer to follow */
	US_END_MODE,	/* a CPU mode that is not unwound: only the pc is known */
	US_N_END,
};

/* How a frame was found. */
enum us_frame_how {
	US_HOW_PC,	  /* the program counter itself */
	US_HOW_FP,	  /* the chain of frame pointers */
	US_HOW_CODE,	  /* what the function's code did to rsp */
	US_HOW_CFI,	  /* a call frame information row */
	US_HOW_GUESS,	  /* a word on the stack behind a CALL to this function */
	US_HOW_INTERRUPT, /* interrupted by an interrupt or trap, from its frame */
};

/* What a program counter of a stack is.  Stored in files: append only. */
enum us_pc_flag {
	US_PC_USER = 1 << 0,  /* of a program (ring 3); else of the kernel */
	US_PC_EXACT = 1 << 1, /* the interrupted instruction; else a return address; not
				 set for the innermost frame, which always is */
	US_PC_SPACE = 1 << 2, /* no frame: the root of the page tables by which the
				 frames with US_PC_USER were read; outermost.  Added
				 by the recorder */
	US_PC_EXIT = 1 << 3,  /* no frame: why the vCPU had left the guest
				 (us_vm_exit_code() of backend/exit_reason.h); beyond
				 all others.  Added by the recorder */
	US_PC_TASK = 1 << 5,  /* no frame: identifies the thread of a Linux guest
				 (us_task of store/store.h); beyond US_PC_SPACE.  Added
				 by the recorder */
	US_PC_HOST = 1 << 4,  /* of the host, from handling the vCPU's exit; beyond all
				 others, the innermost of them first.  Not a flag in
				 files: they are stored apart */
};

struct us_stack {
	uint16_t n;
	uint8_t end; /* enum us_unwind_end */
	us_gpa root; /* of the space of frames with US_PC_USER; 0: the sample's */
	uint8_t how[US_MAX_FRAMES];   /* enum us_frame_how */
	uint8_t flags[US_MAX_FRAMES]; /* enum us_pc_flag */
	us_gva pc[US_MAX_FRAMES];     /* innermost first */
};

/* Sorted starts of the functions of an image in the guest.  Addresses are the image's
 * own: a gva minus the bias.  The caller owns what the pointers lead to; it must
 * outlive the unwinder's use. */
struct us_code_map {
	const us_gva *start;
	size_t n;
	us_gva text_start, text_end; /* bounds of its code; 0, 0: not known */
	/* Those of start, sorted too, that end the function before them, but that no
	 * caller enters: what a compiler split off a function, and where tracers have
	 * functions return to.  May be NULL. */
	const us_gva *part;
	size_t n_part;
	uint64_t bias;
	us_gpa root;			/* of its only address space; 0: it is in all */
	const struct us_code_map *next; /* of another image; NULL: none */
	/* Of a 64-bit kernel: the code segment of its 32-bit programs.  0: not known;
	 * the program's part of a stack is then read as 64-bit. */
	uint16_t narrow_cs;
};

/* After so many samples (counted by the paging's epochs), remembered code is compared
 * with the guest's again. */
#define US_CODE_TRUST 64

struct us_cfi; /* compiled call frame information */

struct us_unwinder;

/* Setup path.  map may be NULL or empty: function starts are then inferred from the
 * targets of the CALLs before return addresses.  cfi may be NULL.
 * us_unwinder_set_code() can change both later. */
int us_unwinder_new(enum us_arch arch, const struct us_code_map *map,
		    const struct us_cfi *cfi, struct us_unwinder **ret);
void us_unwinder_free(struct us_unwinder *u); /* accepts NULL */

/* Forget what was remembered, and use these from now on.  For when the guest's code has
 * changed or became known, or a table was placed in *cfi or removed.  *cfi is read in
 * place: call this before anything in it goes away.  Cheap.  Not while us_unwind()
 * runs. */
void us_unwinder_set_code(struct us_unwinder *u, const struct us_code_map *map,
			  const struct us_cfi *cfi);

/* The number of such changes: if it differs, a stack may be unwound again. */
unsigned us_unwinder_changes(const struct us_unwinder *u);

/*
 * For unwinding the stacks of many programs at one moment.  Code is then read through
 * *code, which the caller renews after that moment.  What is learned about code holds
 * in every address space that has the same page of memory there, except for code that
 * *map or *cfi know.  Stacks are still read through the paging of us_unwind(), which is
 * of the same guest.  Setup path.
 */
void us_unwinder_share_code(struct us_unwinder *u, struct us_paging *code);

/*
 * Hot path: no allocation, no locks; bounded by US_MAX_FRAMES and by a fixed number of
 * reads a frame.  The result has at least the program counter.  Call
 * us_paging_new_sample() first if the guest has run.  New addresses are analysed, at
 * most some ten thousand instructions a sample.  One unwinder serves one guest and one
 * thread.
 */
void us_unwind(struct us_unwinder *u, struct us_paging *p, const struct us_regs *regs,
	       struct us_stack *out);

const char *us_unwind_end_name(enum us_unwind_end end); /* "root", "depth", ... */
/* For the user: where the stack is truncated, and what helps. */
const char *us_unwind_end_words(enum us_unwind_end end);
const char *us_frame_how_name(enum us_frame_how how);

#endif
