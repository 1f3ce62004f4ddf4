/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk.h: the state of one unwinding; shared by the files that make its steps.
 *
 * At each frame, three sources are tried for the caller's frame, in this order: a
 * trusted table (step_cfi.c), the code (step_code.c), an untrusted table.  If none
 * finds a caller, an interrupt, a trap or a system call may have entered the frame's
 * function (cross.c).
 */
#ifndef US_UNWIND_WALK_H
#define US_UNWIND_WALK_H

#include "unwind/known_step.h"
#include "unwind/site.h"
#include "unwind/trail.h"

#include <string.h>

#define US_STACK_WINDOW	  1280
#define US_MAX_FRAME_SIZE (16 << 20)
#define US_MAX_SWITCHES	  16 /* stack switches in one unwinding */

/* Differences between architectures; unwind.c has a row for each. */
struct us_walk_arch {
	uint8_t sp, fp;	    /* register numbers */
	uint8_t n_reg;	    /* number of registers */
	uint32_t preserved; /* bit n: functions preserve register n; 64-bit code */
	const struct us_link_machine *link; /* NULL: calls push return addresses */
};

#define US_MAX_PROGRAMS 64

struct us_unwinder {
	/* The last few address spaces in which programs were seen to run. */
	struct us_space program[US_MAX_PROGRAMS];
	us_gva vector[US_MAX_PROGRAMS]; /* where each enters the kernel; 0: unknown */
	unsigned n_program;
	struct us_space outside; /* of this stack's program */
	struct us_space below;	 /* of what M-mode has interrupted */
	struct us_sites *sites;
	struct us_paging *code; /* to read code through; NULL: that of the stack */
	const struct us_walk_arch *arch;
	unsigned n_change;
	uint16_t narrow_cs; /* as in struct us_code_map */
	us_gva window;	    /* the gva of bytes, on the stack */
	size_t window_len;
	uint8_t bytes[US_STACK_WINDOW];
	/* For each frame of this stack: the address that saved registers are relative
	 * to, set when its caller was found; 0: not known. */
	us_gva cfa[US_MAX_FRAMES];
	struct us_trails trails;
	struct us_known_steps known_steps;
};

/* The current frame, and why the walk cannot go on. */
struct us_walk {
	struct us_unwinder *u;
	struct us_paging *paging;
	const struct us_space *space;
	const struct us_space *next_space; /* after this step; NULL: the same */
	struct us_site *site;		   /* of pc, or of another pc by now, or NULL */
	us_gva pc;
	uint32_t known;		    /* bit n: reg[n] is valid for this frame */
	uint8_t word;		    /* size, bytes: 8, or 4 in 32-bit code */
	uint8_t flags;		    /* US_PC_USER in ring 3 */
	uint8_t n_switch;	    /* how often the stack was switched */
	bool framed;		    /* rbp comes from the chain of frame pointers */
	bool after_call;	    /* pc is a return address */
	const struct us_regs *regs; /* that the stack began with */
	const struct us_stack *out; /* the frames up to this one */
	/* first: the first frame that has the initial registers.  floor: the first
	 * frame whose code is read in the same space and width as this one's. */
	unsigned first, floor;
	us_gva callee; /* pc of the frame before the last step; 0: none */
	bool callee_after_call;
	uint8_t end; /* enum us_unwind_end */
	/* From unwritten up to written, the stack has nothing yet: a function that was
	 * stopped on its way to a return will have stored there what it leaves. */
	us_gva unwritten, written;
	/* By number as in us_regs; n_reg of them.  If the stack pointer is not known,
	 * its value is a lower bound for all outer frames. */
	uint64_t reg[US_MAX_GPR];
};

/* The caller's frame, according to a rule. */
struct us_step {
	us_gva pc, cfa;
	us_gva sp, fp, ra;    /* from the code; with a table, from its rule */
	struct us_site *call; /* of the CALL before pc; not set if exact */
	us_gva target;	      /* of that CALL, if it is direct */
	bool direct;
	bool strong; /* the CALL is to the function's start */
	bool led;    /* ... or to code from which a path leads here */
	bool exact;  /* pc is where the caller was interrupted */
	bool sp_known, fp_known, framed;
	bool moved; /* the CFA is not the one that the code from the start counts from
		     */
	bool ra_known;			/* the link register, in interrupted code */
	bool narrow;			/* 32-bit code, below a 64-bit kernel */
	uint8_t how;			/* enum us_frame_how */
	uint8_t flags;			/* US_PC_USER */
	const struct us_cfi_rule *rule; /* NULL: from the code */
	const struct us_cfi_saved *saved;
};

static inline bool us_walk_knows(const struct us_walk *w, unsigned reg)
{
	return w->known >> reg & 1;
}

static inline bool us_walk_is_unwritten(const struct us_walk *w, us_gva va)
{
	return va >= w->unwritten && va < w->written;
}

/* Addresses of 32-bit code wrap at 4 GiB. */
static inline us_gva us_walk_wrap(const struct us_walk *w, us_gva va)
{
	return w->word == 4 ? (uint32_t)va : va;
}

/* Does the chain of frame pointers have the return address there, too? */
static inline bool us_walk_is_framed(const struct us_walk *w, us_gva slot)
{
	const struct us_walk_arch *a = w->u->arch;
	int32_t off = a->link ? a->link->frame_ra : w->word;
	return w->framed && us_walk_knows(w, a->fp) &&
	       slot == w->reg[a->fp] + (us_gva)(int64_t)off;
}

/* Does a 0 in place of the return address end the stack?  Threads are set up that way.
 * Where the rule may be wrong, the 0 may be any word: in a program that is also where
 * the function's start is not known, or does not lead here.  slot: where the 0 is. */
static inline bool us_walk_ends_by_zero(const struct us_walk *w,
					const struct us_site *s,
					const struct us_code_rule *rule, us_gva slot)
{
	bool user = w->flags & US_PC_USER;
	return (!rule->stray || us_walk_is_framed(w, slot)) &&
	       (!user || (us_site_start(s) && !rule->unled));
}

/* A return address without its signature. */
static inline us_gva us_walk_strip(const struct us_walk *w, us_gva va)
{
	return w->u->arch->link == &us_link_aarch64 ? us_aarch64_strip(w->space, va)
						    : va;
}

/* Is it in the upper half, where kernels are?  For a kernel that is not there, its
 * addresses cannot be told apart from a program's. */
static inline bool us_walk_is_upper(us_gva va)
{
	return va >> 63;
}

/* Read a word of the stack that is not in the window. */
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

/* Fill in *s from the CALL before s->pc; false: that CALL cannot have led to the site's
 * function, or there is none. */
bool us_walk_is_caller(struct us_walk *w, const struct us_site *site,
		       struct us_step *s);

/*
 * A thread that has not run yet has the start of a function in place of a return
 * address, and the table marks that function as outermost.  Sets s->exact if so.
 */
bool us_walk_begins_thread(struct us_walk *w, struct us_step *s);

/*
 * A program's signal handler returns, behind no CALL, to code that ends the signal: the
 * table marks it ("S" in its augmentation), or it calls sigreturn(2).  Sets s->exact if
 * s->pc is such code.
 */
bool us_walk_is_signal(struct us_walk *w, struct us_step *s);
/* A step from such code without a table to what the signal interrupted. */
bool us_step_signal(struct us_walk *w, const struct us_site *site, struct us_step *ret);

/*
 * Does a table say that s->pc is in code where stacks begin?  Call us_walk_is_caller()
 * first.  That code may be gone: kernels free their init code, while functions that
 * were called from there still run.
 */
bool us_walk_is_outermost(const struct us_step *s);
/* s->pc is not where a function starts, or that code is gone (US_CFI_GONE), so that no
 * function can start there. */
bool us_walk_may_be_behind(const struct us_step *s);

/* The CFA according to the rule; false: impossible. */
bool us_walk_cfa(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret);

/* Set the caller's rbp in *ret; ret->cfa is set. */
void us_walk_fp(struct us_walk *w, const struct us_code_rule *rule,
		struct us_step *ret);

/* Read the word that a rule's slot refers to (code_rule.h). */
bool us_walk_slot(struct us_walk *w, us_gva cfa, int16_t slot, uint64_t *ret);

/* A step by one rule from the code; on failure w->end says why. */
typedef bool us_try_rule(struct us_walk *w, const struct us_site *site,
			 const struct us_code_rule *rule, struct us_step *ret);

/* Try the site's first rule.  The second is used if the first fails, or if only the
 * second finds a CALL to this very function.  On failure w->end is that of the
 * first. */
bool us_walk_try_rules(struct us_walk *w, const struct us_site *site,
		       us_try_rule *try_rule, struct us_step *ret);

/* A step by the code.  On failure w->end says why. */
bool us_step_code(struct us_walk *w, struct us_site *site, struct us_step *ret);

enum us_step_result {
	US_STEP_NO,
	US_STEP_YES,
	US_STEP_ROOT, /* the table says that this is the outermost frame */
};

/* A step by a rule of a table. */
enum us_step_result us_step_cfi(struct us_walk *w, const struct us_site *site,
				const struct us_cfi_rule *rule,
				const struct us_cfi_saved *saved, struct us_step *ret);
/* The return address according to the table; false: the table does not know it, or it
 * cannot be read. */
bool us_step_cfi_word(struct us_walk *w, const struct us_cfi_rule *rule, us_gva *ret);
/* Restore the caller's registers after such a step. */
void us_step_cfi_restore(struct us_walk *w, const struct us_step *s);

/*
 * The value, in this frame, of a register that functions preserve.  It comes from where
 * the functions called from here saved it, according to their code, or else from the
 * initial registers.
 */
bool us_walk_register(struct us_walk *w, unsigned reg, uint64_t *ret);

/* What a processor pushed when it entered the kernel. */
struct us_entry_frame {
	us_gva pc, sp;
	us_gva top;    /* the first address above it */
	uint8_t flags; /* US_PC_USER: from ring 3 */
	uint8_t align; /* that the stack got before it was pushed, bytes; 64-bit code */
	bool narrow;   /* from 32-bit code, to a 64-bit kernel */
};

/*
 * Did the code there enter the kernel by its own instruction, a breakpoint or a system
 * call?  Then pc is right after that instruction, like a return address.
 */
bool us_walk_is_behind_trap(struct us_walk *w, us_gva pc);

/* Does the memory at va look like one? */
bool us_walk_entry_frame(struct us_walk *w, us_gva va, struct us_entry_frame *ret);

/* Can this be a value of rflags (Intel SDM volume 1, 3.4.3)? */
bool us_x86_are_flags(uint64_t flags);
/* Did the interrupt keep the stack?  Then the saved rsp points right above the frame,
 * apart from alignment. */
bool us_walk_is_in_place(const struct us_walk *w, const struct us_entry_frame *f);
/* Fill in the step to the interrupted code from *f, except rbp, which the caller has
 * set. */
void us_walk_take_entry(struct us_walk *w, const struct us_entry_frame *f,
			struct us_step *ret);

/*
 * The analysis says that the site's code is entered from outside: find the interrupted
 * code.
 */
bool us_step_cross(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/* The same by an exit's rule alone: the frame is where the code takes it off the stack.
 * x86. */
bool us_step_by_exit(struct us_walk *w, const struct us_code_rule *rule,
		     struct us_step *ret);
/*
 * A step from an entry that is on a stack of its own and of which only the way in is
 * known: the interrupted frame is where the rule has the return address of a function,
 * or up to two words above; x86, 64-bit code.  The function's start has to be known,
 * and all of the frame to fit.
 */
bool us_step_entry(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/*
 * The same from an entry on whichever stack it was entered with, which may be one that
 * the processor has loaded (IST), if it leaves by a copy of the frame: that need not be
 * made yet.
 */
bool us_step_entered(struct us_walk *w, const struct us_site *site,
		     struct us_step *ret);
/* A step from a function that saves all registers, behind no CALL, to the code that its
 * return goes on with: an interrupt's handler has made it run there.  Kernels, x86. */
bool us_step_upcall(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/* Nothing else leads on: is it a label that the function ends at, with the way out of
 * an entry behind it?  Each sample has to find its frame. */
bool us_step_label(struct us_walk *w, struct us_site *site, struct us_step *ret);
/* s is a step by the code.  If what it took for a return address is in an interrupt's
 * frame, and us_step_label() leads there, take that instead.  x86 */
void us_step_label_instead(struct us_walk *w, struct us_site *site, struct us_step *s);

/*
 * No caller was found: is this the outermost frame?  Yes for a function with a known
 * start if its code cannot return to a caller, or the word in place of the return
 * address is none, unless that word may be what an interrupt pushed.  Yes in a program
 * if its arguments are there, as the kernel places them; or if what it returns to is
 * the start of a function that nobody called and that only traps (x86).
 */
bool us_walk_is_root(struct us_walk *w, struct us_site *site);

/* The address of the return address, by a rule from the code; false: the rule has none,
 * or the stack pointer is not known. */
bool us_step_code_slot(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret);

/* The rule of a site to use, with a link register: the first, unless it gives no return
 * address or counts from a stack pointer that is not known. */
const struct us_code_rule *us_step_link_rule(const struct us_walk *w,
					     const struct us_code_rule rule[2]);

/* The return address according to the rule, with a link register. */
bool us_step_link_word(struct us_walk *w, const struct us_code_rule *rule,
		       us_gva *ret_slot, us_gva *ret);

/* A step to the program below an entry that keeps its registers as link_entry.h
 * describes.  The program's address space must be known by now.  Sets w->next_space. */
bool us_step_program(struct us_walk *w, const struct us_site *site,
		     struct us_step *ret);
/* A step to the program from an entry's first or last instructions.  Sets
 * w->next_space. */
bool us_step_outside(struct us_walk *w, const struct us_site *site,
		     struct us_step *ret);
/* A step from the first instructions of the entry that the processor names; they have
 * changed neither the stack pointer nor anything else that the frame depends on. */
bool us_step_vector(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/* The same on x86, where the code cannot be followed; what was pushed is in the
 * kernel's memory. */
bool us_step_gate(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/*
 * A step from the entry of a system call that was made in ring 0, behind the `syscall`;
 * x86.  led: only if the code from the entry's start shows that it goes back there,
 * which is better than a CALL by pointer; else only if the code on to its end does.
 */
bool us_step_syscall(struct us_walk *w, const struct us_site *site, bool led,
		     struct us_step *ret);
/* Where a program has switched to another stack for a while: a step to the CALL on its
 * own stack, by the frame pointer, which still points there.  On failure *ret is
 * undefined. */
bool us_step_switch(struct us_walk *w, const struct us_site *site, struct us_step *ret);
/* A program runs in this space, or has just run; the vCPU, whose registers p may read,
 * is in it. */
void us_walk_note_program(struct us_unwinder *u, struct us_paging *p,
			  const struct us_space *space);

/* Do the registers say what an exception has just interrupted?  If that was a guess,
 * the code must be a vector table, and the interrupted code must be mapped. */
bool us_walk_is_entered(struct us_walk *w, const struct us_regs *regs);

/* The frame of a function, by its code: the CFA and the frame pointer at entry. */
bool us_step_link_frame(struct us_walk *w, const struct us_site *site,
			struct us_step *ret);

/*
 * For a site whose function start is unknown and whose rules fail: try the starts that
 * the code before it suggests.  A result is accepted only behind a CALL that names the
 * function, or behind a CALL by pointer with an aligned stack.  False, with the site's
 * outer US_OUTER_OWN: the function was entered by a return to its start.
 */
bool us_step_start(struct us_walk *w, struct us_site *site, struct us_step *ret);

/* Is this a routine that saves registers for its caller?  Then *ret_found: whether its
 * caller was found. */
bool us_step_routine(struct us_walk *w, const struct us_site *site, bool *ret_found,
		     struct us_step *ret);

/* us_step_code() and us_step_cross() for a link register. */
bool us_step_link(struct us_walk *w, struct us_site *site, struct us_step *ret);
bool us_step_link_cross(struct us_walk *w, const struct us_site *site,
			struct us_step *ret);

#endif
