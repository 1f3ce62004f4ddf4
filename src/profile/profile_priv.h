/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_priv.h: shared by the files of this folder.
 *
 * A recording is read in steps, a file each:
 *
 * read.c           what a recording says
 * samples.c        its samples into slices
 * files.c          several recordings as one
 * kernels.c        several kernels
 * facts.c          facts of a recording
 * modules.c        images
 * views.c          which images hold when, and in which address space
 * names.c          addresses to functions
 * namesakes.c      functions of the same name told apart
 * guest_builds.c   functions that recordings name, of several boots
 * naming.c         names that several profiles share
 * paths.c          source paths as they are shown
 * idle.c           idle, by the stack
 * time.c           what vCPUs did
 * host.c           what the host did for them
 * processes.c      which process a sample belongs to
 * owners.c         which thread a sample belongs to
 * programs.c       which files programs had mapped
 * program_files.c  these files
 * phases.c         phases of a boot
 * tree.c           stacks to the call tree
 * stacks.c         stacks as they were recorded
 * vcpus.c          stacks by vCPU
 * waits.c          tasks that wait
 * focus.c          which stacks are asked for
 * moments.c        some samples with their times
 * timeline.c       all samples with their times
 * changes.c        how often successive samples differ
 * stats.c          sums and intervals
 * counted.c        calls that were counted
 * order.c          the order of rows
 * scale.c          what a sample of several recordings counts for
 * warn.c, gathers.c
 *                  warnings
 */
#ifndef US_PROFILE_PRIV_H
#define US_PROFILE_PRIV_H

#include "base/name_set.h"
#include "base/pair_map.h"
#include "profile/kernels.h"
#include "profile/late.h"
#include "profile/moments.h"
#include "profile/naming.h"
#include "profile/profile.h"
#include "profile/slices.h"
#include "profile/stretches.h"
#include "profile/trie.h"
#include "vmm/guest_list.h"

/* A key of the slices is a stack and one of these: what the vCPU did with it. */
enum us_profile_kind {
	US_KIND_GUEST,
	US_KIND_EXIT,
	US_KIND_READY,
	US_N_KIND,
};
#define US_PROFILE_NONE UINT32_MAX

/* Each key once, in the order of first appearance. */
struct us_profile_keys {
	uint32_t *v;
	size_t n;
	uint64_t *weight; /* by key */
};

/* By key: the sum of weight * (weight - 1) of samples that stand for several, or that
 * share a stack. */
struct us_profile_repeats {
	double *v;
	size_t n;
};

/* A function's frame at an address. */
struct us_profile_frame {
	uint32_t func, line;
	const char *file;
};

/* Frames at one address: frames.v[first .. first + n), innermost first. */
struct us_profile_site {
	uint32_t first, n;
};

/* Further data of a recording while recordings are read. */
struct us_profile_file {
	char *name, *guest, *arch, *end_words;
	unsigned guest_rank; /* how good that name is */
	uint64_t names;	     /* hash of the names that it contains itself */
	struct us_record_stats stats;
	bool has_stats;
	bool sampled, counted;
	bool left_out;	   /* excluded by a filter */
	bool has_mappings; /* of programs */
	bool independent;  /* samples at any times; a weight stands for that many */
	double hz;	   /* as asked for; 0: not known */
	uint16_t lane_of[US_MAX_VCPUS]; /* + 1; 0: none yet */
};

struct us_profile_facts {
	struct us_profile_fact {
		char *key, *value;
		bool differs; /* the recordings have several values of it */
	} * v;
	size_t n, cap;
};

struct us_profile {
	struct us_profile_opts opts; /* valid only while reading, except part */
	struct us_profile_summary sum;
	char *filters; /* in words */
	/* For waiting tasks: sum over looks of (tasks in a look) squared. */
	double sum_weight_squares;
	uint64_t last_t;

	/* profile/files.c */
	struct us_profile_recording *recording;
	struct us_profile_file *file; /* of each recording */
	size_t n_file, file_now;
	unsigned n_layout;
	uint64_t shift_ns; /* of the recording being read */
	/* profile/scale.c: the time that a sample stands for, scaled, 0: none is
	 * scaled; the share of the time of which no sample was taken. */
	double scaled_ns, missing_share;
	uint64_t scale_random;
	/* With a single recording: the guest's kernels; those whose names were read so
	 * far. */
	struct us_kernels kernels, kernels_read;
	struct {
		struct us_profile_lane *v;
		size_t n, cap;
	} lanes;

	/* profile/timeline.c, if opts.timeline: of each lane */
	struct us_timeline_lane {
		struct us_timeline_entry *v;
		size_t n, cap;
		uint64_t count, t_us; /* t_us: of the last one */
	} * timeline;
	uint64_t n_moment;

	/* Of all recordings; of the one being read. */
	struct us_profile_facts facts, file_facts;
	struct {
		char **v;
		size_t n, cap;
	} warnings;
	size_t n_image_warning; /* the first so many are about images */
	struct {
		struct us_profile_module *v;
		size_t n, cap;
	} modules;
	struct us_naming *naming;
	struct us_symbols *symbols; /* naming's */
	char stripped[128];	    /* name of an image without symbols, or "" */

	struct us_profile_phase phase[US_PROFILE_MAX_PHASE]; /* profile/phases.c */
	unsigned n_phase;

	/* profile/processes.c */
	struct {
		struct us_profile_process {
			struct us_process s;
			/* Number + 1 of an earlier one with its root; 0: none. */
			uint32_t before;
		} * v;
		size_t n, cap;
		struct us_pair_map known;   /* (root, hash of the rest) to number + 1 */
		struct us_pair_map of_root; /* (root, 0) to the last one's */
		/* (root, epoch) to its process, looked up before. */
		struct us_pair_map owner;
	} processes;

	/* profile/owners.c */
	struct {
		struct us_profile_task {
			struct us_task t;
			/* Number + 1 of an earlier one on its stack; 0: none. */
			uint32_t before;
		} * v;
		size_t n, cap;
		struct us_pair_map of_id; /* (id, 0) to number + 1 */
		struct us_pair_map known; /* (stack, hash of the rest) to number + 1 */
		struct us_pair_map of_stack; /* (stack, 0) to the last one's */
		/* (tgid, 0) to the only thread, or ...; (tgid, 1): 1: its threads are
		 * in a list, not only met by samples. */
		struct us_pair_map only;
		/* (tgid, hash of the process's name) to a thread; cgroup: to one whose
		 * cgroup all of them have. */
		struct us_pair_map named, cgroup;
		/* (recording, tgid) to the pid in its namespace; 0: the same. */
		struct us_pair_map inner;
	} tasks;
	struct us_name_set roots;   /* names of the functions for opts.roots */
	struct us_pair_map root_of; /* (node, 0) to number + 1 */
	/* profile/waits.c */
	struct us_profile_waits waits;
	struct {
		struct us_task *v;
		size_t n, cap;
	} waiters;	       /* by number - 1, if opts.waits */
	uint64_t last_look_ns; /* of the current look */
	uint64_t of_look;      /* tasks of that look so far */

	/* profile/programs.c */
	struct {
		struct us_profile_program {
			struct us_program_file f;
			size_t recording;
		} * v;
		size_t n, cap;
		struct us_pair_map known; /* (recording, number) to index + 1 */
	} programs;
	struct {
		struct us_profile_mapping {
			struct us_mapping m; /* its times include the layout */
			size_t recording, number;
		} * v;
		size_t n, cap; /* sorted once all were read */
		bool full;     /* there were more */
	} mappings;
	struct us_profile_program_names {
		struct us_profile_program_name {
			struct us_program_name n;
			size_t recording;
		} * v;
		size_t n, cap;
		bool full;
	} program_names, image_names; /* of modules, by their numbers */

	/* profile/views.c */
	/* By epoch: the first epoch since which its images are the same. */
	uint32_t *epoch_of_kernel;
	struct {
		uint64_t *v;
		size_t n, cap;
	} cuts; /* sorted times at which images change; epoch k begins at cut k - 1 */
	bool cuts_full;
	bool has_spaces; /* some images are in only one address space */
	/* (epoch, or phase and its flag, node) to the node's twin. */
	struct us_pair_map epoch_nodes;
	struct us_pair_map view_of; /* (root, epoch) to the number of a view */
	struct {
		struct us_symbol_when *v;
		size_t n, cap;
	} views; /* [0]: any time and space */

	/* profile/host.c; filled if opts.host is set */
	struct us_trie host_trie;
	struct us_pair_map host_of; /* (node, node of host_trie) to the node of both */

	/* profile/samples.c */
	/* Samples that were read but not counted yet: several at a time, so that their
	 * cache misses overlap. */
	struct us_sample pending[US_SLICES_QUEUE];
	unsigned n_pending;
	bool whole; /* this is the only file, and all its samples are wanted */
	bool plain; /* in this file, stacks do not depend on the time */
	uint64_t from_ns, to_ns; /* range of wanted samples in this file */
	uint64_t busy_ns; /* some sample of a running vCPU is at this time or later */
	struct us_late late; /* samples whose stack is not known yet */

	/* profile/counted.c: calls that were counted; [0] is the root of all vCPUs. */
	struct {
		struct us_profile_call {
			us_gva address;
			uint64_t calls, self;
			uint32_t parent; /* index */
			uint32_t node;	 /* of the call tree */
		} * v;
		size_t n, cap;
	} calls;
	struct us_pair_map call_of; /* (vCPU, number) to index in calls */

	struct us_trie trie;	       /* mark: node of the call tree, as a caller */
	struct us_slices running;      /* by node of the trie * US_N_KIND + kind */
	struct us_slices idle;	       /* by 0: not idle, 1: idle */
	struct us_stretches stretches; /* some samples one by one, as keys of running */
	struct us_moments moments;     /* the same, evenly spread; if opts.by_time */
	/* (key of running, end) to weight; without ROOT, which nearly all have. */
	struct us_pair_map key_ends;
	/* (key of running, 0) to weight that has the vCPU's next stack. */
	struct us_pair_map key_late;
	struct {
		uint32_t *row_of; /* by key: row + 1; 0: no row */
		size_t n_row_of;
		uint32_t *weight; /* rows of n_vcpu weights, one for each key */
		size_t n_row, cap_row;
		unsigned n_vcpu; /* a power of two */
		struct us_vcpu_weight {
			uint32_t key, lane, weight;
		} queue[US_SLICES_QUEUE]; /* still to be added */
		unsigned n_queue;
	} by_vcpu; /* profile/vcpus.c; if opts.by_vcpu */

	/* profile/names.c */
	struct {
		struct us_profile_func *v;
		size_t n, cap;
	} funcs;
	uint32_t *func_slot; /* hash table of index + 1 */
	size_t func_slots;
	struct us_pair_map known_sites; /* (pc, kind of code, is return) to index + 1 */
	struct {
		struct us_profile_site *v;
		size_t n, cap;
	} sites;
	struct {
		struct us_profile_frame *v;
		size_t n, cap;
	} frames;
	struct {
		char **v;
		size_t n, cap;
	} names; /* made-up names of unknown code and of namesakes; and paths */

	struct us_paths paths; /* profile/paths.c */

	/* profile/tree.c */
	struct {
		struct us_profile_node *v;
		size_t n, cap;
	} nodes;
	struct us_profile_keys keys; /* of running */
	struct us_profile_repeats repeats;
	/* By key: node of its leaf; US_PROFILE_NONE: not in the tree. */
	uint32_t *key_node;
	size_t n_key;

	struct {
		struct us_profile_line *v;
		size_t n, cap;
	} lines;
};

/* Errors are not reported: losing a warning must not lose the report. */
void us_profile_warn(struct us_profile *p, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* The steps, in their order; 0 or -errno with *e filled. */
US_MUST_CHECK int us_profile_name_filters(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_open_modules(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_find_idle(struct us_profile *p, struct us_err *e);
void us_profile_sum_time(struct us_profile *p);
US_MUST_CHECK int us_profile_build_tree(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_shorten_paths(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_tell_apart(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_apply_filters(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_count(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_order_tree(struct us_profile *p); /* -ENOMEM */
US_MUST_CHECK int us_profile_count_lines(struct us_profile *p, struct us_err *e);
void us_profile_warn_of_quality(struct us_profile *p);
void us_profile_warn_of_gathers(struct us_profile *p);

/* Room for n recordings. */
US_MUST_CHECK int us_profile_begin_files(struct us_profile *p, const char *const *name,
					 size_t n, struct us_err *e);
void us_profile_free_files(struct us_profile *p);
/* Call once the images of all files are known: find which files have the same layout,
 * and which are excluded. */
US_MUST_CHECK int us_profile_find_layouts(struct us_profile *p, struct us_err *e);
/* File i is read next and has its own numbers; the one before is complete. */
void us_profile_begin_file(struct us_profile *p, size_t i);
US_MUST_CHECK int us_profile_end_file(struct us_profile *p, struct us_err *e);
/* All files were read: sum them up, and check that they form one profile. */
US_MUST_CHECK int us_profile_join_files(struct us_profile *p, struct us_err *e);
/* bpf's timers tick only while a vCPU runs.  The time that it waits and sleeps is
 * accounted for now and then, not by samples of that instant.  Is it such a recording?
 */
bool us_profile_only_ticks(const struct us_profile *p);

/* Samples of a file: begin, add one or several (as us_reader_ops.samples), end.
 * -EOVERFLOW: too many for a timeline. */
void us_profile_begin_samples(struct us_profile *p);
US_MUST_CHECK int us_profile_add_sample(struct us_profile *p,
					const struct us_sample *s);
US_MUST_CHECK int us_profile_add_samples(struct us_profile *p,
					 const struct us_sample *s, size_t n);
US_MUST_CHECK int us_profile_end_samples(struct us_profile *p);
/* A fact that comes before all samples; 0 or -ENOMEM. */
US_MUST_CHECK int us_profile_file_fact(struct us_profile *p, const char *key,
				       const char *value);
/* With several recordings, hash a name for comparison; arguments as
 * us_reader_ops.named. */
void us_profile_hash_name(struct us_profile *p, const struct us_named *n);
/* With opts.timeline: add a sample with its key of running, US_STRETCH_IDLE or
 * US_STRETCH_OFF.  0, -ENOMEM, or -EOVERFLOW: too many samples. */
US_MUST_CHECK int us_profile_add_to_timeline(struct us_profile *p,
					     const struct us_sample *s, uint32_t key);
void us_profile_free_timeline(struct us_profile *p);
/* The lane of a vCPU of the file being read.  US_PROFILE_NONE: out of memory. */
uint32_t us_profile_new_lane(struct us_profile *p, unsigned vcpu);
static inline uint32_t us_profile_lane(struct us_profile *p, unsigned vcpu)
{
	vcpu = vcpu < US_MAX_VCPUS ? vcpu : US_MAX_VCPUS - 1;
	uint32_t known = p->file[p->file_now].lane_of[vcpu];
	return known ? known - 1 : us_profile_new_lane(p, vcpu);
}
/* The image, file or function (by) of a sample whose innermost function is f. */
const char *us_profile_place_of(const struct us_profile_func *f, enum us_profile_by by);
/* "guest", "exit", "ready"; for waiting tasks "sleeps", "blocked", "ready". */
const char *us_profile_state_of(const struct us_profile *p, uint8_t vcpu_state);

/* Add a fact of the file being read; 0 or -ENOMEM.  Then join these facts with those of
 * earlier files. */
US_MUST_CHECK int us_profile_add_fact(struct us_profile *p, const char *key,
				      const char *value);
US_MUST_CHECK int us_profile_join_facts(struct us_profile *p);
void us_profile_free_facts(struct us_profile_facts *f);

/* As us_images_is_kernels(): in the lower half, and seen by the kernel alone. */
bool us_profile_is_kernels(const struct us_module *m);
/* Several layouts are treated like images that come and go: each layout gets a time
 * range of its own.  This converts a time in a recording of that layout. */
#define US_LAYOUT_SHIFT 56
static inline uint64_t us_profile_layout_time(const struct us_profile *p,
					      unsigned layout, uint64_t t_ns)
{
	const uint64_t most = (1ULL << US_LAYOUT_SHIFT) - 1;
	return p->n_layout < 2 ? t_ns
			       : (uint64_t)layout << US_LAYOUT_SHIFT |
					 (t_ns < most ? t_ns : most);
}
static inline unsigned us_profile_layout_of(const struct us_profile *p, uint64_t time)
{
	return p->n_layout < 2 ? 0 : (unsigned)(time >> US_LAYOUT_SHIFT);
}
/* Add a process, if opts.processes; 0 or -ENOMEM. */
US_MUST_CHECK int us_profile_add_process(struct us_profile *p,
					 const struct us_process *s);
void us_profile_free_processes(struct us_profile *p);
/* The same for threads. */
US_MUST_CHECK int us_profile_add_task(struct us_profile *p, const struct us_task *t);
void us_profile_free_tasks(struct us_profile *p);
/* What the nodes of a stack say about its owner. */
struct us_profile_marks {
	bool has_space, has_task;
	us_gpa root;
	uint64_t task;
	uint32_t epoch;
};
struct us_profile_marks us_profile_marks(const struct us_profile *p, uint32_t node);
/* The process that had these page tables during the whole epoch; NULL: not known. */
const struct us_process *us_profile_process_at(struct us_profile *p, us_gpa root,
					       uint32_t epoch);
/* With opts.roots: the number of the function above a stack, from US_PROFILE_ROOTS; 0:
 * none; US_PROFILE_NONE: out of memory. */
#define US_PROFILE_ROOTS 4096U
uint32_t us_profile_root_of(struct us_profile *p, uint32_t node);
#define US_PROCESS_KERNEL  "[kernel]" /* called by no program */
#define US_PROCESS_UNKNOWN "[not known]"
/* Add a waiting task, and a look at one; 0 or -errno. */
US_MUST_CHECK int us_profile_add_waiter(struct us_profile *p,
					const struct us_waiter *s);
US_MUST_CHECK int us_profile_add_wait(struct us_profile *p, const struct us_wait *s);
void us_profile_free_waiters(struct us_profile *p);
/* The name of a waiting task's node, from its pc, which has US_PROFILE_WAITER set. */
void us_profile_waiter_name(const struct us_profile *p, us_gva pc, char *ret,
			    size_t size);
/* The waiting task that a node's stack belongs to; NULL: it belongs to none. */
const struct us_task *us_profile_waiter_of(const struct us_profile *p, uint32_t node);
/* us_profile_top() of such a stack. */
uint32_t us_profile_wait_top(struct us_profile *p, uint32_t key);
void us_profile_warn_of_waits(struct us_profile *p);
/* Add a program's file, mapping or name; 0 or -ENOMEM. */
US_MUST_CHECK int us_profile_add_program_file(struct us_profile *p,
					      const struct us_program_file *f);
US_MUST_CHECK int us_profile_add_mapping(struct us_profile *p,
					 const struct us_mapping *m);
US_MUST_CHECK int us_profile_add_program_name(struct us_profile *p,
					      const struct us_program_name *n);
US_MUST_CHECK int us_profile_add_image_name(struct us_profile *p,
					    const struct us_program_name *n);
/* An image of the functions that recordings name of this one, which is gone or has
 * changed; the caller's to close.  *ret NULL: they name none.  0 or -ENOMEM. */
US_MUST_CHECK int us_profile_image_of_names(const struct us_profile *p,
					    const struct us_module *m,
					    struct us_elf_image **ret);
void us_profile_free_programs(struct us_profile *p);
/* Call when all mappings and the layouts are known, before us_profile_cut_time(). */
void us_profile_sort_mappings(struct us_profile *p);
/* The mapping at pc, in this address space at this time; NULL: not known. */
const struct us_profile_mapping *
us_profile_mapping_at(const struct us_profile *p, const struct us_symbol_when *when,
		      us_gva pc);
/* The file of a mapping; NULL: not recorded. */
const struct us_profile_program *
us_profile_program_of(struct us_profile *p, const struct us_profile_mapping *m);
/* The file's function names in the recording, sorted by address. */
const struct us_profile_program_name *
us_profile_program_names(const struct us_profile *p,
			 const struct us_profile_program *of, size_t *ret_n);
/* Open the program files that have samples. */
US_MUST_CHECK int us_profile_open_programs(struct us_profile *p, struct us_err *e);
/* The time in which an image was there; until 0: to the end. */
void us_profile_module_times(const struct us_profile *p,
			     const struct us_profile_module *m, uint64_t *ret_from,
			     uint64_t *ret_until);

/*
 * Stacks are kept apart by time if images came or went in between.  Those of a later
 * epoch hang below a node of their own, with US_PROFILE_EPOCH in its flags.
 */
#define US_PROFILE_EPOCH US_TRIE_EPOCH /* pc: the epoch */
/* The same for phases.  These nodes are outermost, and have a frame; pc: the phase. */
#define US_PROFILE_PHASE    US_TRIE_PHASE
#define US_PROFILE_NO_FRAME US_TRIE_NO_FRAME
/* A US_PC_TASK node whose pc has this bit stands for a waiting task:
 * profile/waits.c. */
#define US_PROFILE_WAITER 0x80000000U
/* Find the times at which the modules change.  0 or -ENOMEM. */
US_MUST_CHECK int us_profile_cut_time(struct us_profile *p);
/* Take a phase from a fact, if it is one. */
void us_profile_phase_fact(struct us_profile *p, const char *key, const char *value);
/* The phase, from 1, that a time belongs to; 0: there are no phases. */
unsigned us_profile_phase_at(const struct us_profile *p, uint64_t t_ns);
/* When the last phase, and the boot, ended; 0: there are no phases. */
uint64_t us_profile_phases_end(const struct us_profile *p);
/* The phase that this function stands for, from 1; 0: none. */
unsigned us_profile_phase_of(const struct us_profile *p, uint32_t func);
/* The function that stands for a phase (from 0); US_PROFILE_NONE: out of memory. */
uint32_t us_profile_phase_function(struct us_profile *p, uint64_t number);
void us_profile_find_phases(struct us_profile *p);
/* The twin of a sample's stack (a node of the trie) for that time.  US_TRIE_NONE: out
 * of memory. */
uint32_t us_profile_stack_at(struct us_profile *p, uint32_t node, uint64_t t_ns);
/* The same stack below an outermost node of its own, whose pc is number.  US_TRIE_NONE:
 * out of memory. */
uint32_t us_profile_twin(struct us_profile *p, uint32_t node, uint32_t number,
			 uint8_t flag);
/* The number of the view in which to look up a node's address; US_PROFILE_NONE: out of
 * memory. */
uint32_t us_profile_view(struct us_profile *p, uint32_t node);

/* Add a host stack of the recording; as us_trie_add(). */
US_MUST_CHECK int us_profile_host_stack(struct us_profile *p, us_stack_id id,
					us_stack_id parent, us_hva pc);
/* The node of a guest's stack with the host's stack within.  US_TRIE_NONE: out of
 * memory. */
uint32_t us_profile_with_host(struct us_profile *p, uint32_t node, us_stack_id host);
/* The guest's part of such a node: where the vCPU left the guest. */
uint32_t us_profile_guest_node(const struct us_profile *p, uint32_t node);

/* With opts.by_vcpu: add weight to a lane's sum for a key of running.  0 or -ENOMEM. */
US_MUST_CHECK int us_profile_add_vcpu(struct us_profile *p, uint32_t key, uint32_t lane,
				      uint32_t weight);
/* Call after the last us_profile_add_vcpu(). */
US_MUST_CHECK int us_profile_end_vcpus(struct us_profile *p);
uint32_t us_profile_of_vcpu(const struct us_profile *p, uint32_t key, uint32_t lane);
/* Add the samples that are idle by their stack to the lanes' idle samples. */
void us_profile_add_idle(struct us_profile *p);
void us_profile_free_vcpus(struct us_profile *p);

/* Frames of a node of the trie, symbolised on first use.  NULL: out of memory. */
const struct us_profile_site *us_profile_site(struct us_profile *p, uint32_t node,
					      bool is_return);
/* Nodes of the tree being made, by parent and function. */
struct us_profile_children {
	struct us_slots slots;
	struct us_hash_seed seed;
};
/* The child of parent for func, made if needed; US_PROFILE_NONE: out of memory. */
uint32_t us_profile_child(struct us_profile *p, struct us_profile_children *children,
			  uint32_t parent, uint32_t func, uint32_t line);

/* Does a program counter belong to the requested part? */
bool us_profile_in_part(const struct us_profile *p, const struct us_trie_node *s);
/* The pseudo function for why the vCPU left the guest, if the stack says so;
 * US_PROFILE_NONE: out of memory. */
uint32_t us_profile_exit_frame(struct us_profile *p, uint32_t stack);
/* The pseudo function (US_FRAME_...) above the stack of a key of running;
 * US_PROFILE_NO_TOP: none is needed; US_PROFILE_NONE: out of memory. */
#define US_PROFILE_NO_TOP (UINT32_MAX - 1)
uint32_t us_profile_top(struct us_profile *p, uint32_t key);

/* Add a counted call, as us_reader_ops.counted.  0 or -ENOMEM. */
US_MUST_CHECK int us_profile_add_call(struct us_profile *p, unsigned vcpu,
				      uint32_t number, const struct us_counted *c);
/* Fail if the options select what counts do not know.  -EINVAL. */
US_MUST_CHECK int us_profile_check_counted(const struct us_profile *p,
					   struct us_err *e);
/* For counted profiles, in place of us_profile_build_tree(), _apply_focus() and
 * _count(). */
US_MUST_CHECK int us_profile_build_calls(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_count_calls(struct us_profile *p, struct us_err *e);
/* The function that begins at this address, even if another is inlined there. */
uint32_t us_profile_function_at(struct us_profile *p, us_gva address);

/* The index of a US_FRAME_... function; US_PROFILE_NONE: out of memory. */
uint32_t us_profile_special(struct us_profile *p, const char *name);

#endif
