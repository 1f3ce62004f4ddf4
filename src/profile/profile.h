/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h: a recording in memory, symbolised: the model that all formats print.
 *
 * Samples are summed while they are read, by stack and by slice of time, so that ten
 * million of them cost no more memory than their distinct stacks.  Each distinct
 * address is symbolised once.
 *
 * What is in the tree: samples of a vCPU that had work to do.  Those that did not run
 * guest code at that instant get a frame that says so above the guest's own:
 * US_FRAME_EXIT or US_FRAME_READY.  Idle and off vCPUs are only counted.  If it is
 * asked for, and the recording has it, the host's own functions stand above that.
 */
#ifndef US_PROFILE_H
#define US_PROFILE_H

#include "base/paths.h"
#include "store/store.h"
#include "symbol/symbol.h"

/* Functions that are none: their names, which no symbol has. */
#define US_FRAME_EXIT	  "[vm exit]"  /* in the hypervisor or VMM for the guest */
#define US_FRAME_EXIT_FOR "[vm exit: " /* and for what, and "]" */
#define US_FRAME_READY	  "[waiting for host CPU]"
#define US_FRAME_NO_STACK "[no stack]"
/* Of profiles that were counted. */
#define US_FRAME_UNNAMED    "[no symbols]" /* code of which nothing is known */
#define US_FRAME_INTERRUPTS "[interrupts]" /* calls what they, and faults, enter */
#define US_FRAME_FULL	    "[tree is full]"
/* Modules that are none: of code of a Linux guest in no image. */
#define US_MODULE_USER	 "[user]"
#define US_MODULE_LOADED "[module]"
#define US_MODULE_HOST                                                                 \
	"[host]" /* code of the host that the recording does not name                  \
		  */

/* Code without a name is shown by the piece of memory it lies in, of this many bytes
 * ("0x101240-0x10127f"): small enough to find a loop, large enough to sum one. */
#define US_UNKNOWN_CODE_BYTES 64

/* Facts that reports show when a recording has them: "target" (as the user named it),
 * "guest" (its name), "kernel", "pid", "vmm", "command", "backend", "why" (that
 * backend), "how", "caution", "hz" (asked), "vcpus", "seed", "started" (date), "host",
 * "unit" ("calls": these alone were counted),
 * "version", "symbols_note" (why no image was found), "linux" (what the guest's memory
 * told), "linux_ready_s" (since when its unwind tables were used), "linux_changed"
 * ("FROM UNTIL ...": when, in s: see profile/kernels.h),
 * "phase:1" to "phase:12" (of a boot: "FROM TO NAME": when it began and ended, in ns),
 * "resolution" ("block": program counters fall on the starts of translation blocks;
 * "function": on those of functions). */

struct us_naming;
struct us_profile;

/* A vCPU is in the kernel or, in ring 3, in a program. */
enum us_profile_part {
	US_PART_ALL,
	US_PART_KERNEL, /* what ran in the kernel, without the program's callers */
	US_PART_USER,	/* what ran in programs */
};

/* What a sample is grouped or filtered by. */
enum us_profile_by {
	US_BY_NONE,
	US_BY_GUEST,	 /* its name */
	US_BY_RECORDING, /* the name of the file */
	US_BY_VCPU,
	US_BY_STATE,	 /* "guest", "exit", "ready" */
	US_BY_PROCESS,	 /* of a Linux guest: whose program it is, or was called by */
	US_BY_THREAD,	 /* of a process, or of the kernel */
	US_BY_COMM,	 /* that thread's name alone */
	US_BY_CONTAINER, /* its cgroup */
	US_BY_IMAGE,	 /* of the function that was innermost */
	US_BY_FILE,	 /* its source */
	US_BY_FUNCTION,	 /* itself */
	US_N_BY,
};
const char *us_profile_by_name(enum us_profile_by by); /* "guest", ... */
/* Is it by whose a sample is, in a Linux guest? */
static inline bool us_profile_by_owner(enum us_profile_by by)
{
	return by >= US_BY_PROCESS && by <= US_BY_CONTAINER;
}

#define US_PROFILE_MAX_FILTERS 16

#define US_PROFILE_MOST_SYMBOLS (8U << 20)

struct us_profile_opts {
	uint64_t vcpu_mask;	 /* 0: all */
	uint64_t from_ns, to_ns; /* of each recording; to 0: its end */
	const char *focus;	 /* extended regex: only stacks with such a function;
				    shares are then of these */
	const char *ignore;	 /* the same: only stacks without such a function */
	struct us_profile_filter {
		enum us_profile_by by; /* not by vCPU, which is vcpu_mask */
		const char *regex;     /* only samples whose BY matches it */
	} filter[US_PROFILE_MAX_FILTERS];
	unsigned n_filter;
	uint32_t pid[US_PROFILE_MAX_FILTERS]; /* only samples of one of these processes
						 or threads of a Linux guest */
	unsigned n_pid;
	enum us_profile_by roots; /* whose a sample is, as its stack's outermost
				     function; needs processes */
	enum us_profile_part part;
	const char *const
		*images; /* -e ELF[@bias]: besides, or instead of, the recorded */
	size_t n_image;
	struct us_debug_dirs dirs; /* of images and debug files, by their build-ids */
	size_t most_symbols;	   /* of programs' files, or no further file is read; 0:
				      US_PROFILE_MOST_SYMBOLS */
	bool raw_names;		   /* as the images have them: not demangled */
	bool no_intervals;	   /* sums alone, which takes less: all limits are 0 */
	bool host; /* with what the host did for the guest, below the guest's frames */
	bool processes; /* of one recording: know whose samples are */
	bool if_known;	/* and if it does not know, that is no warning */
	bool waits;   /* of one recording: what tasks waited for, in place of samples */
	bool by_vcpu; /* keep apart what each vCPU did: profile/stacks.h */
	bool by_time; /* keep samples with their time: profile/moments.h */
	bool timeline; /* keep each of them: profile/timeline.h */
	/* With timeline: more samples than these have none, as if it was not asked for;
	 * 0: more than US_TIMELINE_MOST are an error. */
	uint64_t timeline_most;
};

/*
 * Intervals, all of 95 %, of shares from 0 to 1:
 * - low, high: for the share of the time in the recorded span.  What samples may miss
 *   of what the guest did then; this is what reports show.
 * - long_low, long_high: for the share in the long run, if the guest went on as it did:
 *   never narrower.  Two recordings differ if these say so (take the difference and
 *   the root of the sum of the squared halves).  They have the few degrees of
 *   freedom of profile/interval.h, and know nothing of a phase of which the recording
 * shows no part.
 */

/* With fewer slices of time the long run is not known: [0, 1]. */
#define US_PROFILE_FEW_SLICES 16

/* One function, or one piece of code without a name. */
struct us_profile_func {
	const char *name;      /* never NULL; no other's, where it can be told apart:
				  "init (a.c)" */
	const char *base;      /* the name without what tells it apart */
	const char *raw;       /* as the image has it: not demangled */
	const char *file;      /* as DWARF has it; NULL: unknown */
	const char *dir;       /* that file is relative to; NULL: unknown */
	const char *path;      /* file as it is shown, by us_profile_path() */
	const char *decl_file; /* where it is declared; NULL: unknown */
	const char *module;    /* NULL: unknown */
	us_gva start;	       /* 0: unknown, or several (inlined) */
	uint32_t line;	       /* where it begins, else its hottest; 0: unknown */
	bool inlined;	       /* everywhere it was seen */
	bool known;	       /* false: name is an address range or a US_FRAME_... */
	/* Where it was seen: in ring 0, in ring 3, on the host. */
	bool kernel, user, host;
	uint64_t self, total; /* weight; total counts a recursive one once a stack */
	uint64_t calls;	      /* of a profile that was counted, else 0 */
	/* Intervals: see below. */
	double self_low, self_high, self_long_low, self_long_high;
	double total_low, total_high, total_long_low, total_long_high;
};

/*
 * A source path as people read it: without the folders that all files of the image's
 * functions in this profile share (base/paths.h), in file itself or in dst.  For a path
 * that a program can open, us_path_full().
 */
const char *us_profile_path(const struct us_profile *p, const char *module,
			    const char *dir, const char *file,
			    char dst[static US_PATH_SIZE]);

struct us_nearest;

/* The function of a sampled stack that has this name, as it is shown or as the image
 * has it; NULL: none has, and near, which was made of the name, has been offered all.
 */
const struct us_profile_func *us_profile_named(const struct us_profile *p,
					       struct us_nearest *near);

/* The call tree, depth first, heavier children first: node 0 is the root, parents come
 * before their children, child and next are in that order. */
struct us_profile_node {
	uint32_t func;		      /* index into funcs; of node 0: none */
	uint32_t parent, child, next; /* node indices; 0: none */
	uint32_t line; /* in the function: where it was seen first; 0: unknown */
	uint64_t self, total;
	uint64_t calls; /* of a profile that was counted, else 0 */
	float low, high, long_low, long_high; /* of the total's share: see below */
};

/*
 * Read a recording until its end and the images that it names (or o names).
 * -ENOEXEC: no recording; -EINVAL: the focus is no regular expression; -ENOENT and
 * others: an image of o->images cannot be read.  A cut recording and images that are
 * gone, or are not those of the recording, are no errors but warnings.
 */
US_MUST_CHECK int us_profile_read(int fd, const struct us_profile_opts *o,
				  struct us_profile **ret, struct us_err *e);

/*
 * The same of what is no file: play() gives the events of a recording to ops, in their
 * order, as us_read() does.  It is asked twice: for modules and facts, and for all.
 */
struct us_profile_source {
	int (*play)(void *ctx, const struct us_reader_ops *ops, void *ops_ctx,
		    struct us_reader_result *ret, struct us_err *e);
	void *ctx;
	/* The recording's, of which the profile becomes a user: it has the functions
	 * that the recording names, and is for these images and options alone.  NULL:
	 * what play() gives. */
	struct us_naming *naming;
};
US_MUST_CHECK int us_profile_make(const struct us_profile_source *s,
				  const struct us_profile_opts *o,
				  struct us_profile **ret, struct us_err *e);

/*
 * Read several as one: of one guest at several times, of several guests.  Functions are
 * one if their image and name are; where images lie is known for each recording.  On
 * the axis of time they follow one another in the order given.
 * As us_profile_read(), the message names the recording; -EINVAL besides: they cannot
 * be one profile: of several architectures, sampled and counted, with phases of a boot,
 * or o asks for the host's functions.
 */
#define US_PROFILE_MAX_RECORDINGS 255
struct us_profile_input {
	const char *name; /* as the user calls it */
	int fd;
};
US_MUST_CHECK int us_profile_read_all(const struct us_profile_input *in, size_t n,
				      const struct us_profile_opts *o,
				      struct us_profile **ret, struct us_err *e);

/* One of those that were read. */
struct us_profile_recording {
	const char *name;	/* "": read by us_profile_read() */
	const char *guest;	/* its name, or its image's, or the target's */
	uint64_t running, idle; /* of the time and vCPUs asked for, all stacks */
	uint64_t shift_ns;	/* of its times in the profile; modulo 2^64 */
	unsigned layout;	/* the same: the same images at the same places */
	struct us_reader_result file;
	enum us_record_end end;
	const char *end_words; /* never NULL */
};
const struct us_profile_recording *us_profile_recordings(const struct us_profile *p,
							 size_t *ret_n);
/* Do the images lie at the same places in all of them? */
bool us_profile_one_layout(const struct us_profile *p);

/* A vCPU of a recording; those that were seen, in that order, with opts.by_vcpu,
 * by_time or timeline. */
struct us_profile_lane {
	uint16_t recording, vcpu;
	uint64_t idle; /* with by_vcpu, samples that are not in the tree: halted, or
			  told by stack */
};
const struct us_profile_lane *us_profile_lanes(const struct us_profile *p,
					       size_t *ret_n);
/* The lane at a place in the order of recordings and their vCPUs; SIZE_MAX: none. */
size_t us_profile_lane_at(const struct us_profile *p, size_t place);
/* "vCPU 1"; where there are several guests, "web vCPU 1".  Returns dst. */
char *us_profile_lane_name(const struct us_profile *p, size_t lane, char *dst,
			   size_t size);
/* What code functions are of, by function: bits of enum us_profile_code.  *ret is the
 * caller's to free.  0 or -ENOMEM. */
enum us_profile_code {
	US_CODE_KERNEL = 1 << 0, /* of the guest, or all that has no rings */
	US_CODE_USER = 1 << 1,	 /* of programs, in ring 3 */
	US_CODE_HOST = 1 << 2,
};
US_MUST_CHECK int us_profile_code(const struct us_profile *p, uint8_t **ret);
/* What a sample stands for, in ns; 0: it was not sampled, or is not known. */
uint64_t us_profile_period_ns(const struct us_profile *p);
void us_profile_free(struct us_profile *p); /* accepts NULL */
/* For _cleanup_(). */
static inline void us_profile_freep(struct us_profile **p)
{
	us_profile_free(*p);
}

/*
 * Was it counted, each call and each instruction?  Then weights are instructions, which
 * is what stands for samples above, and intervals are of no width.
 */
bool us_profile_is_counted(const struct us_profile *p);
/* Were calls alone counted, and not who calls?  Then weights are calls, and so is self.
 */
bool us_profile_is_calls_only(const struct us_profile *p);
/* What weights are: "samples", "instructions", "calls". */
const char *us_profile_unit(const struct us_profile *p);

const struct us_profile_func *us_profile_funcs(const struct us_profile *p,
					       size_t *ret_n);
const struct us_profile_node *us_profile_nodes(const struct us_profile *p,
					       size_t *ret_n);

/* The phases of a boot, in the order of time: where the recording has some, they are
 * the first level of the tree, as functions "[NAME]", in this order. */
#define US_PROFILE_MAX_PHASE  12
#define US_PROFILE_PHASE_NAME 80
struct us_profile_phase {
	char name[US_PROFILE_PHASE_NAME]; /* "": not told */
	uint64_t from_ns, to_ns;
	uint32_t func; /* index + 1; 0: nothing is in it */
	uint32_t node; /* of the tree; 0: nothing is in it */
};
const struct us_profile_phase *us_profile_phases(const struct us_profile *p,
						 size_t *ret_n);
/* The functions that had most in it, at most so many.  0 or -ENOMEM. */
struct us_profile_share {
	const struct us_profile_func *func;
	uint64_t self;
};
US_MUST_CHECK int us_profile_phase_functions(const struct us_profile *p,
					     const struct us_profile_phase *phase,
					     size_t most, struct us_profile_share *ret,
					     size_t *ret_n);

/* Where the guest's program counter was, exactly: QProfiler's view.  One row a source
 * line, or an address where there is none; most samples first. */
struct us_profile_line {
	const char *func; /* NULL: unknown */
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	us_gva pc;	  /* lowest seen of the row */
	uint64_t self;
};
const struct us_profile_line *us_profile_lines(const struct us_profile *p,
					       size_t *ret_n);

/* Where program counters were, exactly. */
struct us_profile_pc {
	us_gva pc;	 /* of a call: somewhere in it */
	uint64_t self;	 /* samples that had the program counter there */
	uint64_t called; /* samples in whose stack it is a call that was not back yet */
};
/* Sorted by address; *ret is the caller's to free.  0 or -ENOMEM. */
US_MUST_CHECK int us_profile_pcs(const struct us_profile *p, struct us_profile_pc **ret,
				 size_t *ret_n);
/* The images that gave names. */
struct us_symbols *us_profile_symbols(const struct us_profile *p);

/* An image of the recording or of the options. */
struct us_profile_module {
	struct us_module m;		    /* path is the profile's */
	bool given;			    /* by us_profile_opts.images */
	uint32_t recording;		    /* the first of those that it is of, or: */
#define US_PROFILE_ANY_RECORDING UINT32_MAX /* given: of all */
	bool used;			    /* for names; else a warning says why not */
};
const struct us_profile_module *us_profile_modules(const struct us_profile *p,
						   size_t *ret_n);

/* Whose samples are, in a Linux guest, and by what that is known; with opts.processes.
 * All of the profile's own samples: they add up to running. */
struct us_profile_owners {
	uint64_t current; /* by the CPU's current task, asked at the sample itself */
	uint64_t stack;	  /* by the kernel stack that it was on */
	uint64_t tables;  /* by page tables: the process, not the thread */
	uint64_t kernel;  /* called by no program, and nobody knows by what thread */
	uint64_t nobody;
};
struct us_profile_owners us_profile_owners(const struct us_profile *p);
/* Does the recording tell of processes or threads? */
bool us_profile_owners_known(const struct us_profile *p);
/* Who it is, of a stack (us_profile_stack.node); false: not known. */
struct us_profile_owner {
	uint32_t pid, tgid; /* its own number, its process's */
	uint32_t inner;	    /* its own number in its pid namespace; 0: the same */
	const char *comm, *process; /* comm NULL: the process alone is known */
	const char *cgroup;	    /* NULL: not known; "": the root */
	bool kernel_thread;
};
bool us_profile_owner_of(const struct us_profile *p, uint32_t node,
			 struct us_profile_owner *ret);
/* In words: "sh (107)", "[kernel]", ...  Returns dst. */
/* The same of a key: us_profile_stack.key, us_timeline_sample.key. */
uint32_t us_profile_stack_of(const struct us_profile *p, uint32_t key);
#define US_OWNER_NAME 320 /* bytes that hold any */
char *us_profile_owner_name(const struct us_profile *p, uint32_t node,
			    enum us_profile_by by, char *dst, size_t size);

/* Samples by what the vCPU did, whatever the stack: not of a focus or part. */
struct us_profile_time {
	bool whole; /* of all vCPUs and all the time */
	uint64_t guest, ready;
	uint64_t exit[US_N_EXIT][US_N_PLACE];
	uint64_t exit_untold; /* left the guest, nobody knows what for */
};

struct us_profile_summary {
	uint64_t running;	    /* weight of the samples in the tree */
	uint64_t calls;		    /* the same of a profile that was counted */
	uint64_t exit, ready;	    /* of these: not in guest code */
	uint64_t late;		    /* of running: the stack is the vCPU's next one */
	uint64_t idle, off;	    /* not in the tree */
	uint64_t idle_told;	    /* of idle: the vCPU ran, in a loop that waits */
	uint64_t unfocused;	    /* running, but left out by a focus or filter */
	bool focus_only;	    /* there is a focus, and nothing else */
	uint64_t other_part;	    /* or by the part */
	uint64_t ends[US_N_END];    /* of guest, exit and ready samples */
	uint64_t first_ns, last_ns; /* of the samples after the filters */
	uint64_t vcpu_mask;	    /* vCPUs seen (those above 63 as 63) */
	struct us_profile_time time;
	double idle_low, idle_high; /* of idle / (all but off): see above */
	double idle_long_low, idle_long_high;
	unsigned slices;	      /* of time, behind the long-run intervals */
	uint64_t slice_ns;	      /* width of one */
	struct us_record_stats stats; /* of the whole recording */
	bool has_stats;		      /* false: cut before the first ones */
	enum us_record_end end;
	const char *end_words; /* never NULL */
	struct us_reader_result file;
};
const struct us_profile_summary *us_profile_summary(const struct us_profile *p);

/* Looks at tasks of a Linux guest that waited (record --tasks). */
struct us_profile_waits {
	bool shown; /* the profile is of these: opts.waits */
	uint64_t n; /* tasks in all looks that the recording has */
	/* If they are shown, of the time asked for: */
	uint64_t shown_looks; /* with such a task */
	uint64_t state[US_N_WAIT_STATE];
	struct us_wait_stats stats; /* of the whole recording */
};
const struct us_profile_waits *us_profile_waits(const struct us_profile *p);

/* The filters in force, in words without an end of line ("only vCPU 0; only stacks that
 * match 'copy'"); "": none. */
const char *us_profile_filters(const struct us_profile *p);

const char *us_profile_fact(const struct us_profile *p, const char *key); /* or NULL */
/* The i-th fact in order of the recording; false: there are no more. */
bool us_profile_fact_at(const struct us_profile *p, size_t i, const char **ret_key,
			const char **ret_value);

/* What the reader must know: wrong image, cut file, block resolution, ... */
size_t us_profile_n_warning(const struct us_profile *p);
const char *us_profile_warning(const struct us_profile *p, size_t i);

#endif
