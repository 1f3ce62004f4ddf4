/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track.h: finds where a vCPU is in the tree of calls from the instructions that it
 * executes.
 *
 * The plugin, or a test, passes it the few relevant instructions as they are executed.
 * Stacks are told apart by where return addresses are in the guest's memory: a frame is
 * a function and the address of its return address.  Threads, stack switches, longjmp
 * and calls that never return then need no help from the guest:
 *
 * - A call stores a return address, which makes a frame.  A return loads one: its frame
 *   and all below it have ended.
 * - A function is entered when its first instruction is executed.  If no call, jump or
 *   preceding instruction was executed right before, an interrupt or a fault entered
 *   it.
 * - After the stack pointer was loaded with another value, the address of the next call
 *   or return tells which stack it is on.  If that is a return to a place that no call
 *   came from, it begins a thread where it leads to a function's first instruction.
 *   Else the frame on top goes on, with a handler of exceptions for example.
 * - A call comes from an instruction of a known function.  If that is not the function
 *   on top, a jump was missed, and the address shows the true frame.
 * - A return from elsewhere than a frame's address enters what the code has pushed.
 *   That is a jump if the frame's address is the next word, else a call, whose return
 *   address is that word (retpolines).
 * - An exception return resumes what was interrupted, unless it leads to a function's
 *   first instruction that was not about to be executed, and that no interrupt enters:
 *   an upcall, as for a signal.  It is called by what was interrupted, which goes on
 *   with a return or another exception return.
 *
 * On some architectures (aarch64, RISC-V) calls leave the return address in a register
 * and touch no stack.  A frame's address is then the one at which its function stored
 * the register.  It is 0 until then, and stays 0 for a leaf function.  A return ends
 * the frame on top if the register holds what the call left there, or what was reloaded
 * from where it was stored.  If it holds something else, the next instruction tells
 * whether it was a jump.  After the stack pointer was loaded, the next address tells
 * the stack; until then the calls and returns since are remembered.
 *
 * Each vCPU is used by one thread at a time; stacks move between vCPUs.  Nothing here
 * allocates after the start, and only a change of stack takes a lock.
 */
#ifndef US_TRACE_TRACK_H
#define US_TRACE_TRACK_H

#include "trace/events.h"
#include "trace/tree.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define US_TRACK_STACKS 4096U  /* numbers fit into US_EVENT_STACK_MASK */
#define US_TRACK_DEPTH	16384U /* frames of a stack */

/* A function, as sites and entries refer to it.  Those numbered below
 * US_N_COUNTS_SPECIAL have no code of their own. */
struct us_track_function {
	uint64_t address;
	uint32_t number;   /* the tree's; 0: none */
	bool has_entry;	   /* us_track_enter() is called for its entry */
	bool by_interrupt; /* an interrupt was seen to enter it */
	bool thunk;	   /* begins with a call within itself: it only jumps on */
	uint8_t choice;	   /* enum us_function_choice */
	uint8_t doubts;	   /* how often its entry was in doubt: struct us_track_doubt */
	/* The function in which it is a label: its first instruction follows a call in
	 * that function, and the call returns to it.  NULL: it is not such a label. */
	const struct us_track_function *within;
};

/* A call, a return or a jump in the code. */
struct us_track_site {
	struct us_track_function *in;	  /* never NULL; may be us_track_unnamed */
	struct us_track_function *target; /* NULL: only known at run time */
	/* With link registers.  alternate: not the usual register; local: within the
	 * function, not a call of it; by_stack, for stores and loads: relative to the
	 * stack pointer. */
	bool alternate, local, by_stack;
	/* For a call, set by us_track_site_prepare(): */
	/* Function whose entry comes next; NULL: none. */
	struct us_track_function *expected;
	uint32_t number; /* of a target with a name; else UINT32_MAX */
};

/* A function's first instruction in a block of code that is executed as one. */
struct us_track_entry {
	struct us_track_function *function;
	/* Instructions of the block; they are counted when it begins. */
	uint32_t n_insn;
	uint32_t n_before; /* those before the function's first, which fall into it */
};

enum us_track_kind {
	US_TRACK_CALL,
	US_TRACK_BASE,	    /* its caller is unknown */
	US_TRACK_INTERRUPT, /* ends with an iret */
};

struct us_track_frame {
	uint64_t sp; /* where its return address is */
	const struct us_track_function *function;
	union {
		struct {
			/* In the tree of the vCPU that the stack is on. */
			uint32_t node;
			/* Number of traced frames up to and including this one. */
			uint16_t depth;
			bool traced; /* this frame is traced */
			uint8_t kind : 6;
			bool trap : 1;	  /* a trap: the program itself caused it */
			bool doubted : 1; /* perhaps an interrupt: see us_track_doubt */
		};
		uint64_t node_alone; /* for a call without a trace: sets all of these */
	};
	uint64_t saved_sp;
	/* For an interrupt: the stack that it interrupted, and what was about to
	 * happen. */
	struct us_track_function *saved;
	const struct us_track_function *saved_left, *saved_by, *saved_entered_by;
	uint16_t under;
	uint8_t saved_next;
	uint8_t saved_entered;
	bool saved_unsure, saved_foreign;
	uint16_t saved_vcpu; /* vCPU whose tree has saved_node, the interrupted node */
	uint32_t saved_node;
	/* With link registers.  alternate: called with another register than usual;
	 * foreign: the address that it stored is not a call's. */
	bool alternate : 1, foreign : 1;
	bool begun : 1;	  /* an exception return entered it, and it has no caller */
	bool upcall : 1;  /* a trap of which an exception return was the entry */
	bool handles : 1; /* a base, of an interrupt's code that went to this stack */
} __attribute__((__aligned__(64)));

/* The memory behind an address on a stack: different programs have stacks at the same
 * addresses. */
struct us_track_memory {
	uint64_t root; /* gpa of a program's page tables; 0: unknown, or kernel */
	uint64_t page; /* gpa of the page; 0: not known */
};
#define US_TRACK_PAGE_BITS 12
#define US_TRACK_PAGES	   4 /* pages that are remembered for a stack */

struct us_track_stack {
	struct us_track_frame *frame; /* US_TRACK_DEPTH frames, after one of zeros */
	struct us_track_frame *top;   /* innermost; the one of zeros: none */
	struct us_track_frame *last;  /* last frame of the array */
	uint32_t over;		      /* frames that did not fit */
	uint64_t low, high;	      /* range of return addresses seen */
	uint16_t number;
	uint16_t owner;	  /* the last vCPU on it */
	uint16_t tree_of; /* the vCPU whose tree has the frames' nodes */
	uint64_t used;	  /* time of last use: the oldest empty stack is reused */
	uint32_t epoch;	  /* epoch of events in which its open frames were written */
	uint32_t boot;	  /* boot of the machine; frames of earlier boots have ended */
	uint64_t root;	  /* us_track_memory.root */
	/* What ran here was interrupted just before it entered this function, by the
	 * call or jump whose enum us_track_next is awaits_next; us_track_unnamed: one
	 * that was not known.  NULL: it was not, or has gone on. */
	const struct us_track_function *awaits;
	uint8_t awaits_next;
	struct {
		uint64_t number, gpa; /* gpa 0: none */
	} page[US_TRACK_PAGES];
};

/*
 * Only the vCPU that is on a stack changes it.  But a guest may put several vCPUs on
 * the same stack, and they notice only from what the others did.  Counts are wrong
 * then, but nothing else may break.  So top is read once, and it is only set to that
 * frame's neighbor, which is valid: it has been filled, and is within the stack.
 */
static inline struct us_track_frame *us_track_top(const struct us_track_stack *s)
{
	return __atomic_load_n(&s->top, __ATOMIC_RELAXED);
}

static inline void us_track_set_top(struct us_track_stack *s, struct us_track_frame *f)
{
	__atomic_store_n(&s->top, f, __ATOMIC_RELEASE);
}

/* Number of its frames. */
static inline uint32_t us_track_n(const struct us_track_stack *s)
{
	return (uint32_t)(us_track_top(s) + 1 - s->frame);
}

/* Remove the innermost frame, if there is one. */
static inline void us_track_drop(struct us_track_stack *s)
{
	struct us_track_frame *f = us_track_top(s);
	if (f >= s->frame)
		us_track_set_top(s, f - 1);
}

/* All vCPUs' stacks. */
struct us_track_stacks {
	struct us_track_stack *v; /* US_TRACK_STACKS */
	uint32_t n;
	uint64_t time;
	uint32_t boot; /* number of resets of the machine */
	atomic_flag lock;
};

int us_track_stacks_init(struct us_track_stacks *s); /* 0 or -ENOMEM */
void us_track_stacks_fini(struct us_track_stacks *s);
/* The stack that this address belongs to; near: where the vCPU was last.  The vCPU then
 * owns it.  NULL: none is known. */
struct us_track_stack *us_track_stacks_find(struct us_track_stacks *s,
					    struct us_track_stack *near, uint64_t sp,
					    const struct us_track_memory *m,
					    uint16_t vcpu);
/* Another stack of the vCPU that is on `now`, which has this address.  NULL: none, or
 * the address may belong to `now`.  Changes nothing. */
struct us_track_stack *us_track_stacks_left(struct us_track_stacks *s,
					    const struct us_track_stack *now,
					    uint64_t sp,
					    const struct us_track_memory *m);
/* The stack on which f is about to be entered, since an interrupt came in between.  The
 * vCPU then owns it, and f is not awaited there any more.  NULL: none. */
struct us_track_stack *us_track_stacks_awaiting(struct us_track_stacks *s,
						const struct us_track_function *f,
						uint16_t vcpu);
/* Note that the stack has this memory. */
void us_track_stack_learn(struct us_track_stack *s, uint64_t sp,
			  const struct us_track_memory *m);
/* A new stack, which begins at sp. */
struct us_track_stack *us_track_stacks_take(struct us_track_stacks *s, uint64_t sp,
					    uint16_t vcpu);
/* A vCPU of this boot was reset with the machine: all earlier stacks have ended.
 * Returns the vCPU's new boot; the first vCPU to call this begins it. */
uint32_t us_track_stacks_boot(struct us_track_stacks *s, uint32_t boot);

/*
 * A doubtful entry: the function was entered right after a call, jump or return with an
 * unknown target, and no interrupt was seen to enter it before.  Either it was the
 * target, or the first such interrupt came at just this point.  The processor's state
 * may tell (us_tracker.how).  Otherwise, if it ends with an exception return, it was an
 * interrupt, and what was counted since is moved to the right place.
 */
struct us_track_doubt {
	struct us_track_function *function;
	const struct us_track_function *jumped; /* from this function; NULL: a call */
	struct us_track_frame saved;		/* as in an interrupt's frame */
	uint64_t sp;				/* where the stack ended, or above */
	uint64_t switches; /* us_counts_vcpu.switches at that time */
	uint16_t stack;	   /* number of the stack that has its frame */
	uint32_t n;	   /* frames of that stack, including its own */
	uint32_t n_node;   /* nodes in the tree at that time */
	uint32_t parent;   /* parent of its node */
};
#define US_TRACK_DOUBTS 8 /* for a vCPU at once; for a function in total */

/* What the processor's state before its first instruction says of such a function. */
enum us_track_how {
	US_HOW_UNKNOWN,
	US_HOW_SAID,	  /* entered as expected, not by an interrupt */
	US_HOW_INTERRUPT, /* an interrupt or a fault */
	US_HOW_UPCALL,	  /* an exception return, to elsewhere than it came from */
};

struct us_track_entering {
	const struct us_track_function *function;
	uint64_t sp;  /* the stack pointer if it was no interrupt; 0: not known */
	bool exactly; /* exactly sp; else it may also be lower */
	bool framed;  /* the stack may still have what an earlier interrupt pushed */
	/* Right behind an exception return to what had been interrupted. */
	bool resumed;
};

/* What the next entry of a function can be. */
enum us_track_next {
	US_NEXT_NOTHING,
	US_NEXT_CALL,  /* a call with an unknown target */
	US_NEXT_ENTRY, /* a call that has its frame already */
	US_NEXT_JUMP,  /* a jump to `function`, or to any (NULL) */
	US_NEXT_TRAP,  /* int, syscall: like a call, but ends with an iret */
	US_NEXT_ROOT,  /* the first function of a stack */
	US_NEXT_MAYBE, /* a call, if a function is entered; else nothing */
	/* For a return: the first function of a stack, if one is entered; else what is
	 * on it. */
	US_NEXT_SWITCHED,
	/* For a return, with link registers: a jump, if a function is entered; else the
	 * frame on top has ended. */
	US_NEXT_LEAVE,
};

struct us_tracker {
	struct us_tree tree;
	struct us_counts_vcpu *vcpu; /* in the file of counts */
	struct us_track_stack *stack;
	/* Executed instructions, including the whole current block. */
	const uint64_t *insns;
	/* Function whose entry comes next; NULL: none. */
	struct us_track_function *expected;
	/* Together they say whether a call or return can be taken at face value. */
	union {
		struct {
			/* The stack is uncertain; the next address tells. */
			bool unsure;
			/* enum us_track_next; ENTRY is in `expected` instead. */
			uint8_t next;
			/* The frame on top changed its function since the last call or
			 * return. */
			bool moved;
			uint8_t none;
		};
		uint32_t awaits; /* 0: it can */
	};
	uint16_t number;	  /* of the vCPU */
	bool link;		  /* the architecture has link registers */
	struct us_events *events; /* where to write entries and exits; NULL: nowhere */
	struct us_track_stacks *stacks;
	uint32_t boot; /* the vCPU's current boot */

	/* Frames on top that move along if the stack is another: an interrupt's. */
	uint8_t entered;
	bool foreign; /* the link register's value was not left by a call */
	uint64_t at;  /* `next` is valid only at this number of instructions */
	uint64_t sp;  /* of the call or trap */
	struct us_track_function *function;
	uint64_t resumed_at;	 /* instructions at an iret */
	uint64_t interrupted_at; /* instructions at the delivery of an interrupt */
	/* The memory that a call or return has accessed at sp just now; NULL: unknown.
	 * Only called if it may be another stack. */
	struct us_track_memory (*memory)(const struct us_tracker *t, uint64_t sp);
	/* How a function that is about to be entered is entered; NULL: unknown.  Only
	 * called in case of doubt. */
	enum us_track_how (*how)(const struct us_tracker *t,
				 const struct us_track_entering *e);

	/* While the stack is unknown, and calls give no address: left: the function
	 * that returned to an unknown place; held: the one called since; held_by,
	 * held_at: its caller, and when. */
	const struct us_track_function *left, *held, *held_by;
	/* Caller of the outermost of the `entered` frames. */
	const struct us_track_function *entered_by;
	uint64_t held_at;
	bool held_alternate;
	struct us_track_stack *aside;		      /* holds frames temporarily */
	struct us_track_doubt doubt[US_TRACK_DOUBTS]; /* a ring */
	uint8_t n_doubt;			      /* index of the next */
};

/* All code without names, as one function. */
extern struct us_track_function us_track_unnamed;

/* in and target are set before, and do not change after. */
static inline void us_track_site_prepare(struct us_track_site *s)
{
	bool named = s->target && s->target != &us_track_unnamed;
	s->expected = named && s->target->has_entry ? s->target : NULL;
	s->number = named ? s->target->number : UINT32_MAX;
}

/* insns and the tree's memory stay the caller's.  0 or -ENOMEM. */
int us_tracker_init(struct us_tracker *t, struct us_track_stacks *stacks,
		    uint16_t number, struct us_counts_vcpu *vcpu,
		    struct us_counts_node *node, uint32_t n_node,
		    const uint64_t *insns);
void us_tracker_fini(struct us_tracker *t);

/* ---- What was executed.  Hot path. ---- */

/* A call (with a prepared site) has stored its return address at sp. */
void us_track_call(struct us_tracker *t, const struct us_track_site *s, uint64_t sp);
/* A return has loaded its return address from sp; word: bytes of the address. */
void us_track_return(struct us_tracker *t, const struct us_track_site *s, uint64_t sp,
		     unsigned word);
/* The same for x86's far return, whose next word is the code segment.  It is a jump if
 * no call has stored an address at sp. */
void us_track_far_return(struct us_tracker *t, const struct us_track_site *s,
			 uint64_t sp, unsigned word);
/* Likewise for a jump to the address that was popped from sp. */
void us_track_pop_jump(struct us_tracker *t, const struct us_track_site *s, uint64_t sp,
		       unsigned word);
/* A function's first instruction is about to be executed. */
void us_track_enter(struct us_tracker *t, const struct us_track_entry *e);
/* About to be executed: a jump that may lead to a function's first instruction, or the
 * instruction right before one.  target NULL: anywhere. */
void us_track_jump(struct us_tracker *t, const struct us_track_site *s);
/* The stack pointer is about to be loaded with a value unrelated to the old one; rest:
 * instructions of the block from this one on. */
void us_track_switch(struct us_tracker *t, const struct us_track_site *s,
		     uint32_t rest);
/* An instruction that enters the kernel: int, syscall. */
void us_track_trap(struct us_tracker *t, const struct us_track_site *s);
/* An iret loads its return address from sp (0: not known, for sysret and the like). */
void us_track_iret(struct us_tracker *t, const struct us_track_site *s, uint64_t sp);
/* An interrupt is delivered after the last executed instruction. */
void us_track_interrupted(struct us_tracker *t);
/* The vCPU is about to wait for an interrupt. */
void us_track_halt(struct us_tracker *t);
/* The machine was reset, and this vCPU starts it again; rest: as above.  True: this
 * vCPU is the first to do so. */
bool us_track_reset(struct us_tracker *t, uint32_t rest);
/* The machine was reset, and another vCPU starts this one: it begins with the function
 * that it enters next. */
void us_track_was_reset(struct us_tracker *t);

/* ---- The same with link registers ---- */

/* A call is about to be executed. */
void us_track_link_call(struct us_tracker *t, const struct us_track_site *s);
/* The link register was stored on the stack, at sp. */
void us_track_link_saved(struct us_tracker *t, const struct us_track_site *s,
			 uint64_t sp);
/* The link register was loaded from the stack, at sp. */
void us_track_link_loaded(struct us_tracker *t, const struct us_track_site *s,
			  uint64_t sp);
/* The link register is about to get another value. */
void us_track_link_set(struct us_tracker *t, const struct us_track_site *s);
/* A return is about to be executed. */
void us_track_link_return(struct us_tracker *t, const struct us_track_site *s);

/* Add what was executed until now to the tree. */
void us_track_settle(struct us_tracker *t);

#endif
