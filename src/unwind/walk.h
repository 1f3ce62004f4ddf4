/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk.h: one unwinding on its way; between the files that make its steps.
 *
 * At each frame three are asked for the caller's, in this order: a table that is
 * trusted (step_cfi.c), the code (step_code.c), a table that is not.  Where none knows
 * a caller, the frame may be one that an interrupt, a trap or a system call entered
 * (cross.c).
 */
#ifndef US_UNWIND_WALK_H
#define US_UNWIND_WALK_H

#include "unwind/known_step.h"
#include "unwind/site.h"
#include "unwind/trail.h"

#include <string.h>

#define US_STACK_WINDOW	  1280
#define US_MAX_FRAME_SIZE (16 << 20)
#define US_MAX_SWITCHES	  6 /* of stacks, in one unwinding */

/* What architectures differ in; a row for each in unwind.c. */
struct us_walk_arch {
	uint8_t sp, fp;	    /* numbers of registers */
	uint8_t n_reg;	    /* that there are */
	uint32_t preserved; /* bit n: functions preserve register n; 64-bit code */
	const struct us_link_machine *link; /* NULL: calls push return addresses */
};

#define US_MAX_PROGRAMS 64

struct us_unwinder {
	/* Spaces in which programs were seen at work, the last few. */
	struct us_space program[US_MAX_PROGRAMS];
	us_gva vector[US_MAX_PROGRAMS]; /* where each enters the kernel; 0: not known */
	unsigned n_program;
	struct us_space outside; /* that of this stack's program */
	struct us_space below;	 /* that of what M-mode has broken off */
	struct us_sites *sites;
	struct us_paging *code; /* that code is read by; NULL: that of the stack */
	const struct us_walk_arch *arch;
	unsigned n_change;
	uint16_t narrow_cs; /* as in struct us_code_map */
	us_gva window;	    /* what bytes holds, of the stack */
	size_t window_len;
	uint8_t bytes[US_STACK_WINDOW];
	/* Of each frame of this stack: what registers were saved relative to, as its
	 * caller was found; 0: not known. */
	us_gva cfa[US_MAX_FRAMES];
	struct us_trails trails;
	struct us_known_steps known_steps;
};

/* The current frame, and why the walk cannot go on. */
struct us_walk {
	struct us_unwinder *u;
	struct us_paging *paging;
	const struct us_space *space;
	const struct us_space
		*next_space;  /* of the step that is made; NULL: the same */
	struct us_site *site; /* of pc, or of another by now, or NULL */
	us_gva pc;
	uint32_t known;		    /* bit n: reg[n] is that of this frame */
	uint8_t word;		    /* bytes: 8, or 4 in 32-bit code */
	uint8_t flags;		    /* US_PC_USER in ring 3 */
	uint8_t n_switch;	    /* how often another stack was gone to */
	bool framed;		    /* rbp came by the chain of frame pointers */
	bool after_call;	    /* pc is a return address */
	const struct us_regs *regs; /* that the stack began with */
	const struct us_stack *out; /* its frames up to this one */
	/* The first that had the registers that the stack began with; and the first
	 * whose code is read as that of this one is. */
	unsigned first, floor;
	us_gva callee; /* pc of the frame that the last step was made from; 0: none */
	bool callee_after_call;
	uint8_t end; /* enum us_unwind_end */
	/* By number, as in us_regs; as many as there are.  A stack pointer that is not
	 * known is a lower bound for all that follows. */
	uint64_t reg[US_MAX_GPR];
};

/* The caller's frame, as a rule gives it. */
struct us_step {
	us_gva pc, cfa;
	us_gva sp, fp, ra;    /* by the code; a table says it by its rule */
	struct us_site *call; /* of the CALL before pc; not set if exact */
	us_gva target;	      /* of that CALL, if it is direct */
	bool direct;
	bool strong; /* the CALL is to this very function */
	bool led;    /* ... or to code from which a path was found to lead here */
	bool exact;  /* pc is where the caller was broken off */
	bool sp_known, fp_known, framed;
	bool ra_known; /* the link register, in code that was broken off */
	bool narrow;   /* 32-bit code, below a 64-bit kernel */
	uint8_t how;   /* enum us_frame_how */
	uint8_t flags; /* US_PC_USER */
	const struct us_cfi_rule *rule; /* NULL: by the code */
	const struct us_cfi_saved *saved;
};

static inline bool us_walk_knows(const struct us_walk *w, unsigned reg)
{
	return w->known >> reg & 1;
}

/* Addresses of 32-bit code go round at 4 GiB. */
static inline us_gva us_walk_wrap(const struct us_walk *w, us_gva va)
{
	return w->word == 4 ? (uint32_t)va : va;
}

/* Is 0 where the return address would be the end?  So threads are set up.  In a program
 * only of a function whose start is known: else a rule may be wrong, and it any word.
 */
static inline bool us_walk_ends_by_zero(const struct us_walk *w,
					const struct us_site *s)
{
	return !(w->flags & US_PC_USER) || us_site_start(s);
}

/* A return address without its signature. */
static inline us_gva us_walk_strip(const struct us_walk *w, us_gva va)
{
	return w->u->arch->link == &us_link_aarch64 ? us_aarch64_strip(w->space, va)
						    : va;
}

/* Where kernels are; if this one is not, nothing tells its addresses apart. */
static inline bool us_walk_is_upper(us_gva va)
{
	return va >> 63;
}

/* A word of the stack that is not in the window. */
bool us_walk_fetch(struct us_walk *w, us_gva va, uint64_t *ret);

static inline bool us_walk_read(struct us_walk *w, us_gva va, uint64_t *ret)
{
	struct us_unwinder *u = w->u;
	us_gva off = va - u->window;
	struct us_stack_copy *copy = w->paging->stack;
	if (copy && w->word == 8 && us_stack_copy_word(copy, va, ret)) {
		us_trail_read(&u->trails.use, va, 8);
		return true;
	}
	if (off >= u->window_len || u->window_len - off < w->word)
		return us_walk_fetch(w, va, ret);
	if (w->word == 8) {
		memcpy(ret, u->bytes + off, 8);
	} else {
		uint32_t half;
		memcpy(&half, u->bytes + off, 4);
		*ret = half;
	}
	return true;
}

/* Fill in who called, by what is before s->pc: false if it cannot have led to the
 * site's function. */
bool us_walk_is_caller(struct us_walk *w, const struct us_site *site,
		       struct us_step *s);

/*
 * A thread that has not run yet has, where others have a return address, the start of a
 * function; and the table knows it for one that nobody calls.  Then s->exact is set.
 */
bool us_walk_begins_thread(struct us_walk *w, struct us_step *s);

/*
 * Does a table say of s->pc, for which us_walk_is_caller() has been asked, that its
 * code is where stacks begin?  The code itself may be gone: kernels free that of their
 * start, and what was called from there last runs on.
 */
bool us_walk_is_outermost(const struct us_step *s);
/* s->pc is no start of a function, or one of code that is gone (US_CFI_GONE), where
 * nothing can begin. */
bool us_walk_may_be_behind(const struct us_step *s);

/* Where the rule puts the CFA; false if that cannot be. */
bool us_walk_cfa(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret);

/* The caller's rbp, with ret->cfa. */
void us_walk_fp(struct us_walk *w, const struct us_code_rule *rule,
		struct us_step *ret);

/* The word in a slot of a rule (code_rule.h). */
bool us_walk_slot(struct us_walk *w, us_gva cfa, int16_t slot, uint64_t *ret);

/* A step by one rule of the code; on failure w->end says why. */
typedef bool us_try_rule(struct us_walk *w, const struct us_site *site,
			 const struct us_code_rule *rule, struct us_step *ret);

/* By the site's first rule; by the second where that one fails, or finds a CALL that is
 * not of this function and the second does.  On failure w->end is that of the first. */
bool us_walk_try_rules(struct us_walk *w, const struct us_site *site,
		       us_try_rule *try_rule, struct us_step *ret);

/* By the code.  On failure w->end says why. */
bool us_step_code(struct us_walk *w, struct us_site *site, struct us_step *ret);

enum us_step_result {
	US_STEP_NO,
	US_STEP_YES,
	US_STEP_ROOT, /* the table says that nobody called */
};

/* By a rule of a table. */
enum us_step_result us_step_cfi(struct us_walk *w, const struct us_site *site,
				const struct us_cfi_rule *rule,
				const struct us_cfi_saved *saved, struct us_step *ret);
/* What the table has for the return address; false: it does not know, or it cannot be
 * read. */
bool us_step_cfi_word(struct us_walk *w, const struct us_cfi_rule *rule, us_gva *ret);
/* The caller's registers, of a step that was made so. */
void us_step_cfi_restore(struct us_walk *w, const struct us_step *s);

/*
 * What a register that functions preserve holds in this frame: by the code of those
 * that were called from here, who have saved it, or else by the registers that the
 * stack began with.
 */
bool us_walk_register(struct us_walk *w, unsigned reg, uint64_t *ret);

/* What a processor pushed when it entered the kernel. */
struct us_entry_frame {
	us_gva pc, sp;
	us_gva top;    /* the first address above it */
	uint8_t flags; /* US_PC_USER: from ring 3 */
	bool narrow;   /* from 32-bit code, to a 64-bit kernel */
};

/*
 * Was the code there broken off by its own instruction, a breakpoint or a system call?
 * Then pc is behind that instruction, as it is behind a CALL.
 */
bool us_walk_is_behind_trap(struct us_walk *w, us_gva pc);

/* Does it look as if there were one at va? */
bool us_walk_entry_frame(struct us_walk *w, us_gva va, struct us_entry_frame *ret);

/* Can they be what rflags was (Intel SDM volume 1, 3.4.3)? */
bool us_x86_are_flags(uint64_t flags);
/* Was the stack not changed?  Then rsp points just above, before it was aligned. */
bool us_walk_is_in_place(const struct us_walk *w, const struct us_entry_frame *f);
/* It was entered so: the step to there, but for rbp, which the caller has set. */
void us_walk_take_entry(struct us_walk *w, const struct us_entry_frame *f,
			struct us_step *ret);

/*
 * The site's code, by analysis, is one that is entered from outside: find what was
 * broken off.
 */
bool us_step_cross(struct us_walk *w, const struct us_site *site, struct us_step *ret);

/*
 * No caller was found: is there none?  Believed of a function whose start is known, if
 * the code says that it cannot return to one, or what lies where the return address
 * would be is none, and if that could not be what an interrupt pushed.  Of a program if
 * its arguments lie there, as the kernel has put them.
 */
bool us_walk_is_root(struct us_walk *w, struct us_site *site);

/* Where the return address is, by a rule of the code; false: it tells none, or the
 * stack pointer is not known. */
bool us_step_code_slot(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret);

/* Which of a site's rules to go by, with a link register: the first, but where that
 * tells none, or counts from a stack pointer that is not known. */
const struct us_code_rule *us_step_link_rule(const struct us_walk *w,
					     const struct us_code_rule rule[2]);

/* What the return address would be, with a link register. */
bool us_step_link_word(struct us_walk *w, const struct us_code_rule *rule,
		       us_gva *ret_slot, us_gva *ret);

/* The program below an entry that keeps its registers as link_entry.h says, in an
 * address space of its own that is known by now.  Sets w->next_space. */
bool us_step_program(struct us_walk *w, const struct us_site *site,
		     struct us_step *ret);
/* The program itself, from an entry's first or last instructions.  Sets w->next_space.
 */
bool us_step_outside(struct us_walk *w, const struct us_site *site,
		     struct us_step *ret);
/* From the first instructions of the entry that the processor names, which have changed
 * neither the stack pointer nor what else tells the frame. */
bool us_step_vector(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/* The same of x86, where the code cannot be followed; what was pushed is in the
 * kernel's memory. */
bool us_step_gate(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/* Where a program went on another stack for a while: the CALL on its own, by the frame
 * pointer, which is still of there.  On failure *ret is undefined. */
bool us_step_switch(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/* A program is at work in this space, or has just been; the vCPU, whose registers p
 * may tell of, is in it. */
void us_walk_note_program(struct us_unwinder *u, struct us_paging *p,
			  const struct us_space *space);

/* Do the registers say what an exception has just broken off?  If that was guessed, the
 * code must be a table of vectors, and what was broken off be there. */
bool us_walk_is_entered(struct us_walk *w, const struct us_regs *regs);

/* The frame of a function, by its code: the CFA, and the frame pointer that it was
 * entered with. */
bool us_step_link_frame(struct us_walk *w, const struct us_site *site,
			struct us_step *ret);

/*
 * Nothing tells where the site's function begins, and no rule holds: by the start that
 * the code before it shows.  What is found so is behind a CALL that names it, or one by
 * pointer from a stack that was in order.  False, and the site's outer US_OUTER_OWN: it
 * was entered by a return to that start.
 */
bool us_step_start(struct us_walk *w, struct us_site *site, struct us_step *ret);

/* Is this a routine that saves registers for its caller?  Then *ret_found says whether
 * its caller was found. */
bool us_step_routine(struct us_walk *w, const struct us_site *site, bool *ret_found,
		     struct us_step *ret);

/* The same two, with a link register. */
bool us_step_link(struct us_walk *w, struct us_site *site, struct us_step *ret);
bool us_step_link_cross(struct us_walk *w, const struct us_site *site,
			struct us_step *ret);

#endif
