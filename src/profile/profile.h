/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h: a recording in memory, with symbols: the model that all formats print.
 *
 * Samples are summed while they are read, by stack and by slice of time.  Ten million
 * of them therefore need no more memory than their distinct stacks.  Each distinct
 * address is symbolised once.
 *
 * The tree holds the samples of vCPUs that had work to do.  If a vCPU did not run guest
 * code at that instant, a frame above the guest's own says so: US_FRAME_EXIT or
 * US_FRAME_READY.  Idle and off vCPUs are only counted.  If the caller asks for the
 * host's functions, and the recording has them, they stand above that.
 */
#ifndef US_PROFILE_H
#define US_PROFILE_H

#include "base/paths.h"
#include "store/store.h"
#include "symbol/symbol.h"

/* Names of pseudo functions.  No symbol has such a name. */
#define US_FRAME_EXIT	  "[vm exit]"  /* the hypervisor or VMM works for the guest */
#define US_FRAME_EXIT_FOR "[vm exit: " /* followed by the reason and "]" */
#define US_FRAME_READY	  "[waiting for host CPU]"
#define US_FRAME_NO_STACK "[no stack]"
/* Only in profiles that were counted: */
#define US_FRAME_UNNAMED "[no symbols]" /* code without any name */
#define US_FRAME_INTERRUPTS                                                            \
	"[interrupts]" /* caller of all that interrupts and faults enter */
#define US_FRAME_FULL "[tree is full]"
/* Pseudo modules, for a Linux guest's code that is in no image. */
#define US_MODULE_USER	 "[user]"
#define US_MODULE_LOADED "[module]"
#define US_MODULE_HOST	 "[host]"   /* host code that the recording does not name */
#define US_MODULE_PLUGIN "[plugin]" /* pseudo functions of samples by QEMU's plugin */

/* Code without a name is shown as the piece of memory that contains it, of this many
 * bytes ("0x101240-0x10127f"): small enough to find a loop, large enough to sum one. */
#define US_UNKNOWN_CODE_BYTES 64

/*
 * Facts that reports show when a recording has them:
 *
 * "target"        as the user named it
 * "guest"         its name
 * "why"           why that backend
 * "hz"            as asked for
 * "started"       date
 * "unit"          "calls": only calls were counted; "functions": not who calls
 * "symbols_note"  why no image was found
 * "image_changed" a warning: an image may be another build than the guest's
 * "image_missed"  a warning: the guest's kernel is not where a list of symbols has it
 * "linux"         what uniscope read from the guest's memory
 * "linux_ready_s" since when its unwind tables were used
 * "linux_changed" "FROM UNTIL ...", in s: see profile/kernels.h
 * "phase:1" to "phase:12"
 *                 phases of a boot: "FROM TO NAME", begin and end in ns
 * "resolution"    "block": program counters fall on the starts of translation
 *                 blocks; "function": on the starts of functions
 *
 * US_FACT_CODE_BITS, US_FACT_PROGRAM_BITS
 *                 "32" or "64": how wide most x86 code was that ran, of the kernel and
 *                 of programs
 *
 * and "kernel", "pid", "vmm", "command", "backend", "how", "caution", "vcpus", "seed",
 * "host", "version".
 */

struct us_naming;
struct us_profile;

/* Parts of the guest's code: a vCPU is in the kernel or, in ring 3, in a program. */
enum us_profile_part {
	US_PART_ALL,
	US_PART_KERNEL, /* kernel code, without the program's frames that called it */
	US_PART_USER,	/* code of programs */
};

/* What a sample is grouped or filtered by. */
enum us_profile_by {
	US_BY_NONE,
	US_BY_GUEST,	 /* its name */
	US_BY_RECORDING, /* the name of the file */
	US_BY_VCPU,
	US_BY_STATE,	 /* "guest", "exit", "ready" */
	US_BY_PROCESS,	 /* of a Linux guest: the running or calling program's */
	US_BY_THREAD,	 /* of a process or of the kernel */
	US_BY_COMM,	 /* that thread's name alone */
	US_BY_CONTAINER, /* its cgroup */
	US_BY_IMAGE,	 /* of the innermost function */
	US_BY_FILE,	 /* the innermost function's source file */
	US_BY_FUNCTION,	 /* the innermost function */
	US_N_BY,
};
const char *us_profile_by_name(enum us_profile_by by); /* "guest", ... */
/* Does it group by the owner of a sample in a Linux guest? */
static inline bool us_profile_by_owner(enum us_profile_by by)
{
	return by >= US_BY_PROCESS && by <= US_BY_CONTAINER;
}

#define US_PROFILE_MAX_FILTERS 16

#define US_PROFILE_MOST_SYMBOLS (8U << 20)

struct us_profile_opts {
	uint64_t vcpu_mask;	 /* 0: all */
	uint64_t from_ns, to_ns; /* range in each recording; to_ns 0: to its end */
	/* Extended regex: keep only stacks with such a function; shares are relative to
	 * these. */
	const char *focus;
	const char *ignore; /* the same: keep only stacks without such a function */
	struct us_profile_filter {
		enum us_profile_by by; /* any but US_BY_VCPU: for that, see vcpu_mask */
		const char *regex;     /* keep only samples whose BY matches */
	} filter[US_PROFILE_MAX_FILTERS];
	unsigned n_filter;
	/* Keep only samples of one of these processes or threads of a Linux guest. */
	uint32_t pid[US_PROFILE_MAX_FILTERS];
	unsigned n_pid;
	/* Put the owner of each sample, of this kind, as outermost function above its
	 * stack; needs processes. */
	enum us_profile_by roots;
	enum us_profile_part part;
	/* -e ELF[@bias]: in addition to, or instead of, the recorded images. */
	const char *const *images;
	size_t n_image;
	struct us_debug_dirs dirs; /* images and debug files, by build-id */
	/* Once the files of programs have so many symbols, no further file is read; 0:
	 * US_PROFILE_MOST_SYMBOLS. */
	size_t most_symbols;
	bool raw_names;	   /* names as in the images, not demangled */
	bool no_intervals; /* sums only, which is cheaper: all interval limits are 0 */
	/* Include what the host did for the guest, below the guest's frames. */
	bool host;
	bool processes; /* one recording only: find the owners of samples */
	bool if_known;	/* with processes: no warning if the recording has none */
	/* One recording only: show what tasks waited for, instead of samples. */
	bool waits;
	bool by_vcpu;  /* keep each vCPU's samples apart: profile/stacks.h */
	bool by_time;  /* keep samples with their times: profile/moments.h */
	bool timeline; /* keep each sample: profile/timeline.h */
	/* With timeline: if there are more samples than this, keep none, as if timeline
	 * was not set.  0: more than US_TIMELINE_MOST samples are an error. */
	uint64_t timeline_most;
};

/*
 * Intervals, all of 95 %, of shares from 0 to 1:
 *
 * - low, high: for the share in the recorded span.  They cover what the samples may
 *   have missed of what the guest did in that time.  Reports show these.
 * - long_low, long_high: for the share in the long run, if the guest went on as it
 *   did.  They are never narrower than low and high.  Use them to tell whether two
 *   recordings differ: take the difference and the root of the sum of the squared
 *   halves.  They have the few degrees of freedom of profile/interval.h, and do not
 *   cover a phase that the recording has no part of.
 */

/* With fewer slices of time the long run is unknown: [0, 1]. */
#define US_PROFILE_FEW_SLICES 16

/* One function, or one piece of code without a name. */
struct us_profile_func {
	const char *name;      /* never NULL; unique if possible: "init (a.c)" */
	const char *base;      /* the name without that distinction */
	const char *raw;       /* as in the image, not demangled */
	const char *file;      /* as in DWARF; NULL: unknown */
	const char *dir;       /* directory that file is relative to; NULL: unknown */
	const char *path;      /* file as us_profile_path() shows it */
	const char *decl_file; /* file that declares it; NULL: unknown */
	const char *module;    /* NULL: unknown */
	us_gva start;  /* where it was seen first; 0: unknown, or several (inlined) */
	uint32_t line; /* its first line, else its hottest; 0: unknown */
	uint32_t namesake; /* as in us_frame */
	bool inlined;	   /* wherever it was seen */
	bool known;	   /* false: name is an address range or a US_FRAME_... */
	/* Whether it was seen in ring 0, in ring 3, on the host. */
	bool kernel, user, host;
	uint64_t self, total; /* weights; total counts recursion once per stack */
	uint64_t calls;	      /* of a counted profile, else 0 */
	/* Intervals: see above. */
	double self_low, self_high, self_long_low, self_long_high;
	double total_low, total_high, total_long_low, total_long_high;
};

/*
 * A source path for people: without the directories that all files of the image's
 * functions in this profile share (base/paths.h).  Returns file itself or dst.  For a
 * path that a program can open, see us_path_full().
 */
const char *us_profile_path(const struct us_profile *p, const char *module,
			    const char *dir, const char *file,
			    char dst[static US_PATH_SIZE]);

/* The function in a sampled stack that a user calls so: as shown, as in the image, or
 * without what tells it from others.  -ENOENT: there is none; -EINVAL: several, which
 * *e names. */
US_MUST_CHECK int us_profile_named(const struct us_profile *p, const char *word,
				   const struct us_profile_func **ret,
				   struct us_err *e);

/* The call tree, depth first, heavier children first.  Node 0 is the root.  Parents
 * come before their children; child and next follow that order. */
struct us_profile_node {
	uint32_t func;		      /* index into funcs; not valid for node 0 */
	uint32_t parent, child, next; /* node indices; 0: none */
	uint32_t line; /* line in the function at which it was seen first; 0: unknown */
	uint64_t self, total;
	uint64_t calls;			      /* of a counted profile, else 0 */
	float low, high, long_low, long_high; /* of the total's share: see above */
};

/*
 * Read a recording to its end, and the images that it or o names.  -ENOEXEC: not a
 * recording; -EINVAL: the focus is not a regular expression, or a part of counts is
 * asked for by time, process or ring; -ENOENT and others: an image of o->images cannot
 * be read.  These are warnings, not errors: a truncated
 * recording, and images that are gone or differ from the recorded ones.
 */
US_MUST_CHECK int us_profile_read(int fd, const struct us_profile_opts *o,
				  struct us_profile **ret, struct us_err *e);

/*
 * The same for something that is not a file: play() passes the events of a recording to
 * ops, in order, as us_read() does.  It is called twice: once for modules and facts,
 * once for everything.
 */
struct us_profile_source {
	int (*play)(void *ctx, const struct us_reader_ops *ops, void *ops_ctx,
		    struct us_reader_result *ret, struct us_err *e);
	void *ctx;
	/* The recording's naming, which has the functions that the recording names; the
	 * profile becomes a user of it.  It serves only these images and options.
	 * NULL: play() gives the names. */
	struct us_naming *naming;
};
US_MUST_CHECK int us_profile_make(const struct us_profile_source *s,
				  const struct us_profile_opts *o,
				  struct us_profile **ret, struct us_err *e);

/*
 * Read several recordings as one: of one guest at several times, or of several guests.
 * Functions are the same if their image and name are.  The addresses of images are
 * known for each recording.  On the time axis, the recordings follow each other in the
 * given order.  Errors are those of us_profile_read(), and the message names the
 * recording.  In addition -EINVAL: they cannot form one profile: they are of several
 * architectures, some are sampled and some counted, they have phases of a boot, or o
 * asks for the host's functions.
 */
#define US_PROFILE_MAX_RECORDINGS 255
struct us_profile_input {
	const char *name; /* as the user named it */
	int fd;
};
US_MUST_CHECK int us_profile_read_all(const struct us_profile_input *in, size_t n,
				      const struct us_profile_opts *o,
				      struct us_profile **ret, struct us_err *e);

/* One of the recordings that were read. */
struct us_profile_recording {
	const char *name;  /* "": read by us_profile_read() */
	const char *guest; /* the guest's name, else its image's, else the target's */
	uint64_t running, idle; /* in the requested time and vCPUs, all stacks */
	uint64_t shift_ns;	/* added to its times in the profile, modulo 2^64 */
	/* What each of its samples counts for: more than 1 if its samples stand for
	 * more time than those of another recording. */
	double scale;
	unsigned layout; /* same number: same images at the same addresses */
	struct us_reader_result file;
	enum us_record_end end;
	const char *end_words; /* never NULL */
};
const struct us_profile_recording *us_profile_recordings(const struct us_profile *p,
							 size_t *ret_n);
/* Are the images at the same addresses in all recordings? */
bool us_profile_one_layout(const struct us_profile *p);

/* A vCPU of a recording.  With opts.by_vcpu, by_time or timeline, the vCPUs that were
 * seen, in that order.  Each lane costs memory for each stack: if there are more, the
 * last lane stands for all others. */
#define US_MAX_LANES 1024
struct us_profile_lane {
	uint16_t recording, vcpu; /* of others: those of the first */
	uint32_t others;	  /* 0: one vCPU; else it stands for so many */
	/* With by_vcpu: samples outside the tree: halted, or idle by the stack. */
	uint64_t idle;
};
const struct us_profile_lane *us_profile_lanes(const struct us_profile *p,
					       size_t *ret_n);
/* The lane at this position when lanes are ordered by recording and vCPU; SIZE_MAX:
 * none. */
size_t us_profile_lane_at(const struct us_profile *p, size_t place);
/* Its guest's name, or "a guest", or "other guests". */
const char *us_profile_lane_guest(const struct us_profile *p, size_t lane);
/* "vCPU 1"; with several guests, "web vCPU 1"; or "other vCPUs".  Returns dst. */
char *us_profile_lane_name(const struct us_profile *p, size_t lane, char *dst,
			   size_t size);
/* For each function, where its code runs: bits of enum us_profile_code.  *ret is the
 * caller's to free.  0 or -ENOMEM. */
enum us_profile_code {
	US_CODE_KERNEL = 1 << 0, /* of the guest, or any code if rings are unknown */
	US_CODE_USER = 1 << 1,	 /* programs, in ring 3 */
	US_CODE_HOST = 1 << 2,
};
US_MUST_CHECK int us_profile_code(const struct us_profile *p, uint8_t **ret);
/* The time that a sample stands for, in ns; 0: not sampled, or unknown. */
uint64_t us_profile_period_ns(const struct us_profile *p);
void us_profile_free(struct us_profile *p); /* accepts NULL */
/* For _cleanup_(). */
static inline void us_profile_freep(struct us_profile **p)
{
	us_profile_free(*p);
}

/*
 * Was every call and every instruction counted?  Then weights are instructions, not
 * samples, and intervals have no width.
 */
bool us_profile_is_counted(const struct us_profile *p);
/* Were only calls counted, without their callers?  Then weights are calls, and so is
 * self. */
bool us_profile_is_calls_only(const struct us_profile *p);
/* Were no callers counted, and is total therefore the same as self? */
bool us_profile_is_flat(const struct us_profile *p);
/* The US_FRAME_... name of what QEMU's plugin gives a number (enum us_counts_special)
 * where other functions have addresses; NULL: it is none of these. */
const char *us_profile_plugin_frame(us_gva address);
/* The unit of weights: "samples", "instructions", "calls". */
const char *us_profile_unit(const struct us_profile *p);

const struct us_profile_func *us_profile_funcs(const struct us_profile *p,
					       size_t *ret_n);
const struct us_profile_node *us_profile_nodes(const struct us_profile *p,
					       size_t *ret_n);

/* The phases of a boot, in order of time.  If the recording has phases, they are the
 * first level of the tree, as functions "[NAME]", in this order. */
#define US_PROFILE_MAX_PHASE  12
#define US_PROFILE_PHASE_NAME 80
struct us_profile_phase {
	char name[US_PROFILE_PHASE_NAME]; /* "": not recorded */
	uint64_t from_ns, to_ns;
	uint32_t func; /* index + 1; 0: the phase is empty */
	uint32_t node; /* of the tree; 0: the phase is empty */
};
const struct us_profile_phase *us_profile_phases(const struct us_profile *p,
						 size_t *ret_n);
/* The functions with the most weight in the phase, at most `most` of them.  0 or
 * -ENOMEM. */
struct us_profile_share {
	const struct us_profile_func *func;
	uint64_t self;
};
US_MUST_CHECK int us_profile_phase_functions(const struct us_profile *p,
					     const struct us_profile_phase *phase,
					     size_t most, struct us_profile_share *ret,
					     size_t *ret_n);

/* Where exactly the guest's program counter was: QProfiler's view.  One row for each
 * source line, or for each address without one; most samples first. */
struct us_profile_line {
	const char *func; /* NULL: unknown */
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	us_gva pc;	  /* lowest one of the row */
	uint64_t self;
};
const struct us_profile_line *us_profile_lines(const struct us_profile *p,
					       size_t *ret_n);

/* A program counter and its samples. */
struct us_profile_pc {
	us_gva pc;     /* for a call: some address in the call instruction */
	uint32_t view; /* which images apply: for us_profile_pc_in() */
	uint64_t self; /* samples with the program counter here */
	/* Samples whose stack has it as a call that has not returned. */
	uint64_t called;
	uint64_t not_unwound; /* of self: their stacks end here, by US_END_MODE */
};
/* All program counters, sorted by address.  One that was seen in several address spaces
 * or times is there for each, if other images may apply.  *ret is the caller's to free.
 * 0 or -ENOMEM. */
US_MUST_CHECK int us_profile_pcs(const struct us_profile *p, struct us_profile_pc **ret,
				 size_t *ret_n);
/* The function of a frame that us_symbols_lookup() found; NULL: it was not sampled, or
 * only where it is inlined. */
const struct us_profile_func *us_profile_func_of(const struct us_profile *p,
						 const struct us_frame *frame);
/* Was the program counter in this function, of this image? */
bool us_profile_pc_in(const struct us_profile *p, const struct us_profile_pc *pc,
		      const struct us_function *f);
/* The images that gave names. */
struct us_symbols *us_profile_symbols(const struct us_profile *p);

/* An image of the recording or of the options. */
struct us_profile_module {
	struct us_module m;		    /* path is owned by the profile */
	bool given;			    /* named in us_profile_opts.images */
	uint32_t recording;		    /* the first recording that has it, or: */
#define US_PROFILE_ANY_RECORDING UINT32_MAX /* named by the options: all recordings */
	bool used; /* names come from it; otherwise a warning says why not */
};
const struct us_profile_module *us_profile_modules(const struct us_profile *p,
						   size_t *ret_n);

/* How the owners of samples in a Linux guest are known; with opts.processes.  These are
 * weights of the profile's own samples, and add up to running. */
struct us_profile_owners {
	uint64_t current; /* by the CPU's current task, read at the sample itself */
	uint64_t stack;	  /* by the kernel stack in use */
	uint64_t tables;  /* by page tables: the process, not the thread */
	uint64_t kernel; /* kernel code that no program called; its thread is unknown */
	uint64_t nobody;
};
struct us_profile_owners us_profile_owners(const struct us_profile *p);
/* Does the recording have processes or threads? */
bool us_profile_owners_known(const struct us_profile *p);
/* The owner of a stack (us_profile_stack.node); false: not known. */
struct us_profile_owner {
	uint32_t pid, tgid; /* the thread's number, its process's number */
	/* The same in their pid namespace; 0: the same, or not known. */
	uint32_t inner, process_inner;
	const char *comm, *process; /* comm NULL: only the process is known */
	const char *cgroup;	    /* NULL: not known; "": the root */
	bool kernel_thread;
};
bool us_profile_owner_of(const struct us_profile *p, uint32_t node,
			 struct us_profile_owner *ret);
/* The node of the stack that a key (us_profile_stack.key, us_timeline_sample.key) has.
 */
uint32_t us_profile_stack_of(const struct us_profile *p, uint32_t key);
#define US_OWNER_NAME 320 /* bytes that hold any name */
/* The owner's name: "sh (107)", "[kernel]", ...  Returns dst. */
char *us_profile_owner_name(const struct us_profile *p, uint32_t node,
			    enum us_profile_by by, char *dst, size_t size);

/* Samples by what the vCPU did, whatever the stack: a focus or part does not matter. */
struct us_profile_time {
	bool whole; /* all vCPUs and the whole time are counted */
	uint64_t guest, ready;
	uint64_t exit[US_N_EXIT][US_N_PLACE];
	uint64_t exit_untold; /* left the guest for an unknown reason */
};

struct us_profile_summary {
	uint64_t running;     /* weight of the samples in the tree */
	uint64_t calls;	      /* calls in the tree of a counted profile */
	uint64_t exit, ready; /* parts of running: not in guest code */
	uint64_t late;	      /* part of running: their stack is the vCPU's next one */
	uint64_t idle, off;   /* not in the tree */
	uint64_t idle_told;   /* part of idle: the vCPU ran, but in a loop that waits */
	uint64_t unfocused;   /* running, but excluded by a focus or filter */
	bool focus_only;      /* the focus is the only filter */
	uint64_t other_part;  /* running, but excluded by the part */
	uint64_t ends[US_N_END];    /* stack ends of guest, exit and ready samples */
	uint64_t first_ns, last_ns; /* of samples that pass the filters */
	uint64_t vcpu_mask;	    /* vCPUs seen (those above 63 count as 63) */
	struct us_profile_time time;
	double idle_low, idle_high; /* interval of idle / (all but off): see above */
	double idle_long_low, idle_long_high;
	unsigned slices;   /* slices of time that the long-run intervals are based on */
	uint64_t slice_ns; /* width of one */
	struct us_record_stats stats; /* of the whole recording */
	bool has_stats; /* false: the file was truncated before the first ones */
	enum us_record_end end;
	const char *end_words; /* never NULL */
	struct us_reader_result file;
};
const struct us_profile_summary *us_profile_summary(const struct us_profile *p);

/* Looks at tasks of a Linux guest that waited (record --tasks). */
struct us_profile_waits {
	bool shown; /* the profile shows them: opts.waits */
	uint64_t n; /* tasks in all looks of the recording */
	/* If they are shown, for the requested time: */
	uint64_t shown_looks; /* looks that found such a task */
	uint64_t state[US_N_WAIT_STATE];
	struct us_wait_stats stats; /* of the whole recording */
};
const struct us_profile_waits *us_profile_waits(const struct us_profile *p);

/* The filters in force, in words, without a newline ("only vCPU 0; only stacks that
 * match 'copy'"); "": none. */
const char *us_profile_filters(const struct us_profile *p);

const char *us_profile_fact(const struct us_profile *p, const char *key); /* or NULL */
/* Has it several values in the recordings, of which us_profile_fact() gives the first?
 * Facts that are listed ("a, b") do not differ. */
bool us_profile_fact_differs(const struct us_profile *p, const char *key);
/* The i-th fact in the order of the recording; false: no more. */
bool us_profile_fact_at(const struct us_profile *p, size_t i, const char **ret_key,
			const char **ret_value);

/* What the user must know: wrong image, truncated file, block resolution, ... */
size_t us_profile_n_warning(const struct us_profile *p);
const char *us_profile_warning(const struct us_profile *p, size_t i);
/* The first that says why images or their symbols are missing; NULL: none. */
const char *us_profile_warning_of_images(const struct us_profile *p);

#endif
