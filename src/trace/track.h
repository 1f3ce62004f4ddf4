/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track.h: from what a vCPU executes to where it is in the tree of calls.
 *
 * Fed by the plugin, or by a test, with the few instructions that matter, as they are
 * executed.  Stacks are told apart by where return addresses lie in the guest's memory:
 * a frame is a function and the address of its return address.  So threads, stacks that
 * are switched, longjmp and calls that never return need no help from the guest:
 *
 * - a call stores a return address: a frame; a return loads one: its frame and what
 * lies below it have ended.
 * - a function that is entered (its first instruction is executed) without a call, a
 * jump or what precedes it being executed just before, was entered by an interrupt or a
 * fault.
 * - once the stack pointer was loaded with another value, the address of the next call
 * or return tells which stack that is.
 * - a call comes from an instruction of a known function: if that is not the one on
 * top, a jump was missed, and what is true is found by the address.
 *
 * Where calls leave the return address in a register (aarch64, RISC-V), they touch no
 * stack.  A frame's address is that at which its function has stored the register, and
 * 0 until it does: a function that calls nobody has none. A return ends the frame on
 * top, if the register has what the call left there, or what was loaded again from
 * where it was stored; if it has something else, what is executed next tells whether
 * that was a jump.  Once the stack pointer was loaded, the next address tells the
 * stack: until then it is kept in mind what was called and returned from.
 *
 * Each vCPU belongs to one thread at a time; stacks move between vCPUs.  Nothing here
 * allocates after the start, and only changes of stack take a lock.
 */
#ifndef US_TRACE_TRACK_H
#define US_TRACE_TRACK_H

#include "trace/events.h"
#include "trace/tree.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define US_TRACK_STACKS 4096U  /* US_EVENT_STACK_MASK has them all */
#define US_TRACK_DEPTH	16384U /* frames of a stack */

/* A function, as sites and entries name it. Those below US_N_COUNTS_SPECIAL have no
 * code of their own. */
struct us_track_function {
	uint64_t address;
	uint32_t number;   /* the tree's; 0: none */
	bool has_entry;	   /* us_track_enter() is called when it is entered */
	bool by_interrupt; /* seen to be entered so */
	bool seen;	   /* its code was compared with the image's */
	uint8_t choice;	   /* enum us_function_choice */
	uint8_t doubts;	   /* how often its entry was doubted, struct us_track_doubt */
	/* Its first instruction is behind a call of this one's, to which that returns:
	 * it is a label within it; NULL: it is not so. */
	const struct us_track_function *within;
};

/* A call, a return or a jump in the code. */
struct us_track_site {
	struct us_track_function *in;	  /* never NULL; may be of US_COUNTS_UNNAMED */
	struct us_track_function *target; /* NULL: it is only known when it is there */
	/* Of link registers: another one than usual; within the function, no call of
	 * it; for stores and loads: by the stack pointer. */
	bool alternate, local, by_stack;
	/* Of a call, by us_track_site_prepare(): */
	struct us_track_function *expected; /* whose entry comes next; NULL: none */
	uint32_t number; /* of a target that has a name; else UINT32_MAX */
};

/* A function's first instruction in a block of code that is executed as one. */
struct us_track_entry {
	struct us_track_function *function;
	/* Instructions of the block, which are counted when it begins. */
	uint32_t n_insn;
	uint32_t
		n_before; /* of these, before the function's first: it is fallen into */
};

enum us_track_kind {
	US_TRACK_CALL,
	US_TRACK_BASE,	    /* nobody knows its caller */
	US_TRACK_INTERRUPT, /* ends by an iret */
};

struct us_track_frame {
	uint64_t sp; /* of its return address */
	const struct us_track_function *function;
	union {
		struct {
			/* Of the tree of the vCPU that the stack is on. */
			uint32_t node;
			uint16_t depth; /* how many that are written down, it included
					 */
			bool traced;	/* it is one of them */
			uint8_t kind : 6;
			bool trap : 1;	  /* the program's own doing: a call by it */
			bool doubted : 1; /* perhaps an interrupt: us_track_doubt */
		};
		uint64_t node_alone; /* a call's, of which none is written down */
	};
	uint64_t saved_sp;
	/* Of an interrupt: the stack that it came upon, and what was about to happen.
	 */
	struct us_track_function *saved;
	const struct us_track_function *saved_left, *saved_by, *saved_entered_by;
	uint16_t under;
	uint8_t saved_next;
	uint8_t saved_entered;
	bool saved_unsure, saved_foreign;
	uint16_t saved_vcpu; /* in whose tree saved_node is what was being executed */
	uint32_t saved_node;
	/* Where calls leave the return address in a register: it was called by another
	 * register than usual; what it has stored is no call's. */
	bool alternate : 1, foreign : 1;
	bool begun : 1; /* an exception return entered it, and it came from nobody */
} __attribute__((__aligned__(64)));

/* Which memory an address of a stack is: programs have stacks at the same addresses. */
struct us_track_memory {
	uint64_t root; /* gpa of a program's page tables; 0: not known, or the kernel's
			*/
	uint64_t page; /* gpa of the page; 0: not known */
};
#define US_TRACK_PAGE_BITS 12
#define US_TRACK_PAGES	   4 /* of a stack that are kept in mind */

struct us_track_stack {
	struct us_track_frame *frame; /* US_TRACK_DEPTH of them, behind one of zeros */
	struct us_track_frame *top;   /* the innermost; that of zeros: there is none */
	struct us_track_frame *last;  /* that there is room for */
	uint32_t over;		      /* frames that there was no room for */
	uint64_t low, high;	      /* where return addresses were seen */
	uint16_t number;
	uint16_t owner;	  /* the vCPU that was here last */
	uint16_t tree_of; /* the vCPU in whose tree the frames' nodes are */
	uint64_t used;	  /* when: to take the oldest empty one again */
	uint32_t epoch;	  /* of events: what is open on it was written down in this */
	uint32_t boot;	  /* of the machine: what it was in an earlier one is over */
	uint64_t root;	  /* us_track_memory's */
	struct {
		uint64_t number, gpa; /* gpa 0: none */
	} page[US_TRACK_PAGES];
};

/*
 * Only the vCPU that a stack is on changes it.  But a guest may put several on the same
 * one, and these find that out by what the others have done: what is counted is wrong
 * then, and nothing else may be.  So top is read once, and what it is set to is that
 * frame's neighbour, which is there: has been filled, and is within the stack.
 */
static inline struct us_track_frame *us_track_top(const struct us_track_stack *s)
{
	return __atomic_load_n(&s->top, __ATOMIC_RELAXED);
}

static inline void us_track_set_top(struct us_track_stack *s, struct us_track_frame *f)
{
	__atomic_store_n(&s->top, f, __ATOMIC_RELEASE);
}

/* Frames of it. */
static inline uint32_t us_track_n(const struct us_track_stack *s)
{
	return (uint32_t)(us_track_top(s) + 1 - s->frame);
}

/* Without the innermost, if there is one. */
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
	uint32_t boot; /* how often the machine was reset */
	atomic_flag lock;
};

int us_track_stacks_init(struct us_track_stacks *s); /* 0 or -ENOMEM */
void us_track_stacks_fini(struct us_track_stacks *s);
/* The stack to which this address belongs, near being where the vCPU was last; NULL:
 * none is known.  The vCPU owns it then. */
struct us_track_stack *us_track_stacks_find(struct us_track_stacks *s,
					    struct us_track_stack *near, uint64_t sp,
					    const struct us_track_memory *m,
					    uint16_t vcpu);
/* Another one of the vCPU that is on this one, and has this address; NULL: there is
 * none, or the address may be of this one.  Changes nothing. */
struct us_track_stack *us_track_stacks_left(struct us_track_stacks *s,
					    const struct us_track_stack *now,
					    uint64_t sp,
					    const struct us_track_memory *m);
/* The stack has this memory. */
void us_track_stack_learn(struct us_track_stack *s, uint64_t sp,
			  const struct us_track_memory *m);
/* A new one, which begins here. */
struct us_track_stack *us_track_stacks_take(struct us_track_stacks *s, uint64_t sp,
					    uint16_t vcpu);
/* A vCPU of this boot was reset, the machine with it: all stacks of before are over.
 * Returns the boot that it is in now; the first vCPU to say so begins it. */
uint32_t us_track_stacks_boot(struct us_track_stacks *s, uint32_t boot);

/*
 * A function that was entered right behind a call, a jump or a return whose target was
 * not known, and that no interrupt was seen to enter yet: it was the target, or the
 * first interrupt of its kind came just there.  The processor may tell
 * (us_tracker.how). Else, if it ends by an exception return, it was an interrupt, and
 * what was counted since is put where that belongs.
 */
struct us_track_doubt {
	struct us_track_function *function;
	const struct us_track_function *jumped; /* from this one; NULL: a call */
	struct us_track_frame saved;		/* as an interrupt's frame has it */
	uint64_t sp;	   /* where the stack ended, or farther up */
	uint64_t switches; /* of the vCPU, until then */
	uint32_t n;	   /* frames of the stack, its own included */
	uint32_t n_node;   /* of the tree, until then */
	uint32_t parent;   /* its node's */
};
#define US_TRACK_DOUBTS 8 /* of a vCPU at once; of a function, ever */

/* What the processor says of such a function, before its first instruction. */
enum us_track_how {
	US_HOW_UNKNOWN,
	US_HOW_SAID,	  /* what was said: no interrupt */
	US_HOW_INTERRUPT, /* an interrupt or a fault */
};

struct us_track_entering {
	const struct us_track_function *function;
	uint64_t sp;  /* the stack pointer where it was no interrupt; 0: not known */
	bool exactly; /* just that; else it may be lower, too */
	bool framed;  /* what an interrupt has put on the stack may still lie there */
};

/* What the next entry of a function may be. */
enum us_track_next {
	US_NEXT_NOTHING,
	US_NEXT_CALL,  /* a call, whose target was not known */
	US_NEXT_ENTRY, /* a call, whose frame is there already */
	US_NEXT_JUMP,  /* to function, or to any (NULL) */
	US_NEXT_TRAP,  /* int, syscall: as a call, and ends by an iret */
	US_NEXT_ROOT,  /* the first function of a stack */
	/* Of a return, where a register has the return address: */
	US_NEXT_LEAVE,	  /* a jump to a function; else the frame on top has ended */
	US_NEXT_SWITCHED, /* the first function of a stack; else what is on it */
};

struct us_tracker {
	struct us_tree tree;
	struct us_counts_vcpu *vcpu; /* the file's */
	struct us_track_stack *stack;
	const uint64_t *insns; /* executed, those of the block under way included */
	struct us_track_function *expected; /* its entry comes next; NULL: none's */
	/* Together they say whether a call or return is what it looks like. */
	union {
		struct {
			bool unsure;  /* is it this stack? The next address tells */
			uint8_t next; /* enum us_track_next, but for ENTRY, which is in
					 expected */
			bool moved;   /* since the last call or return, the frame on
					 top has got another function */
			uint8_t none;
		};
		uint32_t awaits; /* 0: it is */
	};
	uint16_t number;	  /* of the vCPU */
	bool link;		  /* calls leave the return address in a register */
	struct us_events *events; /* where entries and exits are written; NULL: no */
	struct us_track_stacks *stacks;
	uint32_t boot; /* that it is in */

	uint8_t entered; /* frames on top that go with it: an interrupt's */
	bool foreign;	 /* the link register has what no call has left there */
	uint64_t at;	 /* next is that only if as many were executed */
	uint64_t sp;	 /* of the call */
	struct us_track_function *function;
	uint64_t resumed_at;	 /* behind an iret */
	uint64_t interrupted_at; /* behind this, an interrupt was delivered */
	/* Where the address of a call or return is, which was accessed just now; NULL:
	 * nobody knows.  Only asked when it may be another stack. */
	struct us_track_memory (*memory)(const struct us_tracker *t, uint64_t sp);
	/* Of a function that is about to be entered; NULL: nobody knows.  Only asked
	 * where there is doubt. */
	enum us_track_how (*how)(const struct us_tracker *t,
				 const struct us_track_entering *e);

	/* While it is unsure which stack it is, and calls tell no address: from which
	 * function there was a return to the unknown; which one was called since, by
	 * which, and when. */
	const struct us_track_function *left, *held, *held_by;
	const struct us_track_function *entered_by; /* the lowest that is entered */
	uint64_t held_at;
	bool held_alternate;
	struct us_track_stack *aside; /* has frames for a moment, only */
	struct us_track_doubt doubt[US_TRACK_DOUBTS]; /* the oldest is written over */
	uint8_t n_doubt;			      /* which comes next */
};

/* Code of which nothing is known: as good as any function. */
extern struct us_track_function us_track_unnamed;

/* In and target are set, and stay. */
static inline void us_track_site_prepare(struct us_track_site *s)
{
	bool named = s->target && s->target != &us_track_unnamed;
	s->expected = named && s->target->has_entry ? s->target : NULL;
	s->number = named ? s->target->number : UINT32_MAX;
}

/* insns and the tree's memory stay the caller's. */
int us_tracker_init(struct us_tracker *t, struct us_track_stacks *stacks,
		    uint16_t number, struct us_counts_vcpu *vcpu,
		    struct us_counts_node *node, uint32_t n_node,
		    const uint64_t *insns);
void us_tracker_fini(struct us_tracker *t);

/* ---- What was executed.  Hot path. ---- */

/* A call, whose site was prepared, has stored its return address at sp. */
void us_track_call(struct us_tracker *t, const struct us_track_site *s, uint64_t sp);
/* A return has loaded it; word: its size in bytes. */
void us_track_return(struct us_tracker *t, const struct us_track_site *s, uint64_t sp,
		     unsigned word);
/* A function's first instruction is about to be executed. */
void us_track_enter(struct us_tracker *t, const struct us_track_entry *e);
/* A jump that may lead to a function's first instruction is about to be executed, or
 * the instruction right before it.  target NULL: anywhere. */
void us_track_jump(struct us_tracker *t, const struct us_track_site *s);
/* The stack pointer is about to be loaded with a value that has nothing of the one
 * before; rest: instructions of the block from this one on. */
void us_track_switch(struct us_tracker *t, const struct us_track_site *s,
		     uint32_t rest);
/* An instruction that enters the kernel by itself: int, syscall. */
void us_track_trap(struct us_tracker *t, const struct us_track_site *s);
/* An iret loads from sp (0: not known): sysret and the like. */
void us_track_iret(struct us_tracker *t, const struct us_track_site *s, uint64_t sp);
/* An interrupt is being delivered behind what was executed last. */
void us_track_interrupted(struct us_tracker *t);
/* The vCPU is about to wait for an interrupt. */
void us_track_halt(struct us_tracker *t);
/* The machine was reset: here it begins anew; rest: as above.  True: this vCPU is the
 * first to do so. */
bool us_track_reset(struct us_tracker *t, uint32_t rest);
/* It was, and this vCPU is started by another: it begins with what it enters next. */
void us_track_was_reset(struct us_tracker *t);

/* ---- The same, where calls leave the return address in a register ---- */

/* A call is about to be executed. */
void us_track_link_call(struct us_tracker *t, const struct us_track_site *s);
/* The link register was stored at sp, of the stack. */
void us_track_link_saved(struct us_tracker *t, const struct us_track_site *s,
			 uint64_t sp);
/* It was loaded from there. */
void us_track_link_loaded(struct us_tracker *t, const struct us_track_site *s,
			  uint64_t sp);
/* It is about to get another value. */
void us_track_link_set(struct us_tracker *t, const struct us_track_site *s);
/* A return is about to be executed. */
void us_track_link_return(struct us_tracker *t, const struct us_track_site *s);

/* Put what was executed until now into the tree. */
void us_track_settle(struct us_tracker *t);

#endif
