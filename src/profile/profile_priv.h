/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_priv.h: what the files of this folder share.
 *
 * Reading goes in steps, a file each: profile/read.c (what a recording says),
 * profile/samples.c (its samples into slices),
 * profile/files.c (several recordings as one), profile/kernels.c (several kernels),
 * profile/facts.c (what they say of themselves),
 * profile/modules.c (images), profile/views.c (which of them hold when and for whom),
 * profile/names.c (addresses to functions), profile/idle.c (idle by its stack),
 * profile/naming.c (names that several profiles share), profile/time.c (what they did),
 * profile/host.c (and the host for them), profile/paths.c (sources as they are shown),
 * profile/namesakes.c (names told apart),
 * profile/processes.c (whose programs), profile/owners.c (whose threads),
 * profile/programs.c (which files programs had mapped), profile/program_files.c
 * (these), profile/phases.c (of a boot), profile/tree.c (stacks to the call tree),
 * profile/stacks.c (stacks as they were), profile/vcpus.c (who had them),
 * profile/waits.c (tasks that wait), profile/focus.c (which of them are asked for),
 * profile/moments.c (and when), profile/timeline.c (samples one by one),
 * profile/changes.c (how steady it is), profile/stats.c (sums and intervals),
 * profile/counted.c (calls that were counted), profile/order.c (rows in their order),
 * profile/warn.c, profile/gathers.c.
 */
#ifndef US_PROFILE_PRIV_H
#define US_PROFILE_PRIV_H

#include "profile/kernels.h"
#include "profile/late.h"
#include "profile/moments.h"
#include "profile/name_set.h"
#include "profile/naming.h"
#include "profile/pair_map.h"
#include "profile/kernels.h"
#include "profile/profile.h"
#include "profile/slices.h"
#include "profile/stretches.h"
#include "profile/trie.h"
#include "vmm/guest_list.h"

/* A key of the slices is a stack and what the vCPU did with it. */
enum us_profile_kind {
	US_KIND_GUEST,
	US_KIND_EXIT,
	US_KIND_READY,
	US_N_KIND,
};
#define US_PROFILE_NONE UINT32_MAX

/* Each once, in the order in which they were seen first. */
struct us_profile_keys {
	uint32_t *v;
	size_t n;
	uint64_t *weight; /* by key */
};

/* By key: the sum of weight * (weight - 1) of samples that stand for several, or have
 * a stack together. */
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

/* What is known of a recording besides, while they are read. */
struct us_profile_file {
	char *name, *guest, *arch, *end_words;
	unsigned guest_rank; /* how good that is */
	uint64_t names;	     /* a hash of those that it has itself */
	struct us_record_stats stats;
	bool has_stats;
	bool sampled, counted;
	bool left_out;		       /* by a filter */
	uint8_t lane_of[US_MAX_VCPUS]; /* + 1; 0: none yet.  See US_MAX_LANES */
};
#define US_MAX_LANES 254

struct us_profile_facts {
	struct us_profile_fact {
		char *key, *value;
	} * v;
	size_t n, cap;
};

struct us_profile {
	struct us_profile_opts opts; /* valid while reading only, but for part */
	struct us_profile_summary sum;
	char *filters;		   /* in words */
	double sum_weight_squares; /* of what tasks wait for: of the tasks of each look
				    */
	uint64_t last_t;

	/* profile/files.c */
	struct us_profile_recording *recording;
	struct us_profile_file *file; /* of each */
	size_t n_file, file_now;
	unsigned n_layout;
	uint64_t shift_ns; /* of the one that is being read */
	/* Of a single one: the guest's; those whose names were read so far. */
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

	struct us_profile_facts facts, file_facts; /* of all; of the one being read */
	struct {
		char **v;
		size_t n, cap;
	} warnings;
	struct {
		struct us_profile_module *v;
		size_t n, cap;
	} modules;
	struct us_naming *naming;
	struct us_symbols *symbols; /* naming's */
	char stripped[128];	    /* the name of an image without symbols; or "" */

	struct us_profile_phase phase[US_PROFILE_MAX_PHASE]; /* profile/phases.c */
	unsigned n_phase;

	/* profile/processes.c */
	struct {
		struct us_profile_process {
			struct us_process s;
			uint32_t before; /* number + 1 of another with its root; 0 */
		} * v;
		size_t n, cap;
		struct us_pair_map known;   /* (root, hash of the rest) to number + 1 */
		struct us_pair_map of_root; /* (root, 0) to the last one's */
		struct us_pair_map owner;   /* (root, epoch): whose it was, looked up */
	} processes;

	/* profile/owners.c */
	struct {
		struct us_profile_task {
			struct us_task t;
			uint32_t before; /* number + 1 of another on its stack; 0 */
		} * v;
		size_t n, cap;
		struct us_pair_map of_id;    /* (id, 0) to number + 1 */
		struct us_pair_map known;    /* (stack, hash of the rest) to that */
		struct us_pair_map of_stack; /* (stack, 0) to the last one's */
		struct us_pair_map only;     /* (tgid, 0): the only one's, or ... */
		struct us_pair_map inner;    /* (recording, tgid) to its number in its
						pid namespace; 0: the same */
		bool listed;		     /* some are known by their stacks */
	} tasks;
	struct us_name_set roots;   /* of opts.roots: their functions' names */
	struct us_pair_map root_of; /* (node, 0) to number + 1 */
	/* profile/waits.c */
	struct us_profile_waits waits;
	struct {
		struct us_task *v;
		size_t n, cap;
	} waiters;	       /* by number - 1, if opts.waits */
	uint64_t last_look_ns; /* of the look at hand */
	uint64_t of_look;      /* tasks of it so far */

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
			struct us_mapping m; /* its times: with its layout */
			size_t recording, number;
		} * v;
		size_t n, cap; /* sorted once all were read */
	} mappings;
	struct {
		struct us_profile_program_name {
			struct us_program_name n;
			size_t recording;
		} * v;
		size_t n, cap;
	} program_names;

	/* profile/views.c */
	uint32_t *epoch_of_kernel; /* by epoch: the one since which its images are the
				      same */
	struct {
		uint64_t *v;
		size_t n, cap;
	} cuts; /* times at which the images change, sorted; epoch k begins at k - 1 */
	bool has_spaces;		/* some images are in one address space only */
	struct us_pair_map epoch_nodes; /* (epoch, or phase and its flag, node) to the
					   node's twin */
	struct us_pair_map view_of;	/* (root, epoch) to the number of a view */
	struct {
		struct us_symbol_when *v;
		size_t n, cap;
	} views; /* [0]: any */

	/* profile/host.c; filled if opts.host is set */
	struct us_trie host_trie;
	struct us_pair_map host_of; /* (node, node of host_trie) to the node of both */

	/* profile/samples.c */
	/* Samples that were read and are not counted yet: several at a time, so that
	 * their cache misses overlap. */
	struct us_sample pending[US_SLICES_QUEUE];
	unsigned n_pending;
	bool whole; /* all samples of this file, which is the only one, are wanted */
	bool plain; /* of this file: stacks are what they are, whenever they were */
	uint64_t from_ns, to_ns; /* of this file: samples that are wanted */
	uint64_t busy_ns; /* there are samples of running vCPUs that late, or later */
	struct us_late late; /* those whose stack is not known yet */

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

	struct us_trie trie;	  /* mark: node of the call tree, as a caller */
	struct us_slices running; /* by node of the trie * US_N_KIND + kind */
	struct us_slices idle;	  /* by 0: not idle, 1: idle */
	struct us_stretches
		stretches;	     /* some of it, sample by sample: keys of running */
	struct us_moments moments;   /* the same evenly, if opts.by_time */
	struct us_pair_map key_ends; /* (key of running, end) to weight; not of ROOT,
					which is nearly all */
	struct {
		uint32_t *row_of; /* by key: its row + 1; 0: it has none */
		size_t n_row_of;
		uint32_t *weight; /* a row of this many vCPUs for each key */
		size_t n_row, cap_row;
		unsigned n_vcpu; /* a power of two */
		struct us_vcpu_weight {
			uint32_t key, lane, weight;
		} queue[US_SLICES_QUEUE]; /* that are to be added */
		unsigned n_queue;
	} by_vcpu; /* profile/vcpus.c; if opts.by_vcpu */

	/* profile/names.c */
	struct {
		struct us_profile_func *v;
		size_t n, cap;
	} funcs;
	uint32_t *func_slot; /* hash table of index + 1 */
	size_t func_slots;
	struct us_pair_map known_sites; /* (pc, is return) to index + 1 */
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
	} names; /* made up ones: of unknown code, of namesakes; and paths */

	struct us_paths paths; /* profile/paths.c */

	/* profile/tree.c */
	struct {
		struct us_profile_node *v;
		size_t n, cap;
	} nodes;
	struct us_profile_keys keys; /* of running */
	struct us_profile_repeats repeats;
	uint32_t *key_node; /* key to its leaf's node; US_PROFILE_NONE: not in it */
	size_t n_key;

	struct {
		struct us_profile_line *v;
		size_t n, cap;
	} lines;
};

/* Out of memory is not reported: a warning that is lost must not lose the report. */
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
/* Once the images of all are known: which lie alike, and which files are left out. */
US_MUST_CHECK int us_profile_find_layouts(struct us_profile *p, struct us_err *e);
/* The next one is to be read, with its own numbers; the one before has been. */
void us_profile_begin_file(struct us_profile *p, size_t i);
US_MUST_CHECK int us_profile_end_file(struct us_profile *p, struct us_err *e);
/* All have been read: their sums, and whether they are one profile. */
US_MUST_CHECK int us_profile_join_files(struct us_profile *p, struct us_err *e);
/* A file begins; one sample of it, or several, as us_reader_ops.samples; it ends.
 * -EOVERFLOW: they are too many for a timeline. */
void us_profile_begin_samples(struct us_profile *p);
US_MUST_CHECK int us_profile_add_sample(struct us_profile *p,
					const struct us_sample *s);
US_MUST_CHECK int us_profile_add_samples(struct us_profile *p,
					 const struct us_sample *s, size_t n);
US_MUST_CHECK int us_profile_end_samples(struct us_profile *p);
/* A fact that comes before all samples; 0 or -ENOMEM. */
US_MUST_CHECK int us_profile_file_fact(struct us_profile *p, const char *key,
				       const char *value);
/* One of several is hashed, to be compared: as us_reader_ops.named. */
void us_profile_hash_name(struct us_profile *p, const struct us_named *n);
/* With opts.timeline: a sample, with its key of running, US_STRETCH_IDLE or
 * US_STRETCH_OFF.  0, -ENOMEM, or -EOVERFLOW: there are too many. */
US_MUST_CHECK int us_profile_add_to_timeline(struct us_profile *p,
					     const struct us_sample *s, uint32_t key);
void us_profile_free_timeline(struct us_profile *p);
/* The lane of a vCPU of the file that is being read; the last one stands for those that
 * are too many.  US_PROFILE_NONE: out of memory. */
uint32_t us_profile_new_lane(struct us_profile *p, unsigned vcpu);
static inline uint32_t us_profile_lane(struct us_profile *p, unsigned vcpu)
{
	vcpu = vcpu < US_MAX_VCPUS ? vcpu : US_MAX_VCPUS - 1;
	uint32_t known = p->file[p->file_now].lane_of[vcpu];
	return known ? known - 1 : us_profile_new_lane(p, vcpu);
}
/* What a sample with this function innermost is of, by image, file or function. */
const char *us_profile_place_of(const struct us_profile_func *f, enum us_profile_by by);
/* "guest", "exit", "ready"; of tasks that wait: "sleeps", "blocked", "ready". */
const char *us_profile_state_of(const struct us_profile *p, uint8_t vcpu_state);

/* A fact of the file that is being read; 0 or -ENOMEM.  Then all of these are joined to
 * those of the files before. */
US_MUST_CHECK int us_profile_add_fact(struct us_profile *p, const char *key,
				      const char *value);
US_MUST_CHECK int us_profile_join_facts(struct us_profile *p);
void us_profile_free_facts(struct us_profile_facts *f);

/* As us_images_is_kernels(): in the lower half, and seen by the kernel alone. */
bool us_profile_is_kernels(const struct us_module *m);
/* Images of several layouts hold at several times, as images that come and go: this is
 * such a time, of a recording of that layout. */
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
/* What is said of processes, if opts.processes; 0 or -ENOMEM. */
US_MUST_CHECK int us_profile_add_process(struct us_profile *p,
					 const struct us_process *s);
void us_profile_free_processes(struct us_profile *p);
/* The same of threads. */
US_MUST_CHECK int us_profile_add_task(struct us_profile *p, const struct us_task *t);
void us_profile_free_tasks(struct us_profile *p);
/* What the nodes of a stack say of its owner. */
struct us_profile_marks {
	bool has_space, has_task;
	us_gpa root;
	uint64_t task;
	uint32_t epoch;
};
struct us_profile_marks us_profile_marks(const struct us_profile *p, uint32_t node);
/* Whose page tables these were in all of the epoch; NULL: not known. */
const struct us_process *us_profile_process_at(struct us_profile *p, us_gpa root,
					       uint32_t epoch);
/* With opts.roots: the number of the function that stands above a stack, from
 * US_PROFILE_ROOTS on; 0: none; US_PROFILE_NONE: out of memory. */
#define US_PROFILE_ROOTS 4096U
uint32_t us_profile_root_of(struct us_profile *p, uint32_t node);
#define US_PROCESS_KERNEL  "[kernel]" /* called by no program */
#define US_PROCESS_UNKNOWN "[not known]"
/* A task, and a look at one; 0 or -errno. */
US_MUST_CHECK int us_profile_add_waiter(struct us_profile *p,
					const struct us_waiter *s);
US_MUST_CHECK int us_profile_add_wait(struct us_profile *p, const struct us_wait *s);
void us_profile_free_waiters(struct us_profile *p);
/* What the node for one is called, by its pc, which has US_PROFILE_WAITER. */
void us_profile_waiter_name(const struct us_profile *p, us_gva pc, char *ret,
			    size_t size);
/* Whose stack this is, of any node; NULL: it is none of these. */
const struct us_task *us_profile_waiter_of(const struct us_profile *p, uint32_t node);
/* us_profile_top() of such a stack. */
uint32_t us_profile_wait_top(struct us_profile *p, uint32_t key);
void us_profile_warn_of_waits(struct us_profile *p);
/* What is said of programs' files; 0 or -ENOMEM. */
US_MUST_CHECK int us_profile_add_program_file(struct us_profile *p,
					      const struct us_program_file *f);
US_MUST_CHECK int us_profile_add_mapping(struct us_profile *p,
					 const struct us_mapping *m);
US_MUST_CHECK int us_profile_add_program_name(struct us_profile *p,
					      const struct us_program_name *n);
void us_profile_free_programs(struct us_profile *p);
/* Once all are known, and the layouts: before time is cut by them. */
void us_profile_sort_mappings(struct us_profile *p);
/* What lies at pc, in this address space at this time; NULL: not known. */
const struct us_profile_mapping *
us_profile_mapping_at(const struct us_profile *p, const struct us_symbol_when *when,
		      us_gva pc);
/* The file of a mapping; NULL: it was not told. */
const struct us_profile_program *
us_profile_program_of(struct us_profile *p, const struct us_profile_mapping *m);
/* The names of its functions that the recording has, sorted by address. */
const struct us_profile_program_name *
us_profile_program_names(const struct us_profile *p,
			 const struct us_profile_program *of, size_t *ret_n);
/* Open the files of those that samples are in. */
US_MUST_CHECK int us_profile_open_programs(struct us_profile *p, struct us_err *e);
/* When an image was there; until 0: to the end. */
void us_profile_module_times(const struct us_profile *p,
			     const struct us_profile_module *m, uint64_t *ret_from,
			     uint64_t *ret_until);

/*
 * Stacks of different times are kept apart if images came or went between: those of a
 * later epoch hang below a node of their own, with US_PROFILE_EPOCH in its flags.
 */
#define US_PROFILE_EPOCH (1 << 7) /* beside enum us_pc_flag; pc: the epoch */
/* The same of phases: these nodes are the outermost, and have a frame; pc: the phase.
 */
#define US_PROFILE_PHASE (1 << 6)
#define US_PROFILE_NO_FRAME                                                            \
	(US_PROFILE_EPOCH | US_PROFILE_PHASE | US_PC_SPACE | US_PC_EXIT | US_PC_TASK)
/* Of these, one with this bit in its pc stands for a task that waits: profile/waits.c.
 */
#define US_PROFILE_WAITER 0x80000000U
/* Of modules that were read: when do they change? 0 or -ENOMEM. */
US_MUST_CHECK int us_profile_cut_time(struct us_profile *p);
/* A fact may tell of a phase. */
void us_profile_phase_fact(struct us_profile *p, const char *key, const char *value);
/* Which phase, from 1, a time belongs to; 0: there are none. */
unsigned us_profile_phase_at(const struct us_profile *p, uint64_t t_ns);
/* When the last one ended, and the boot with it; 0: there are none. */
uint64_t us_profile_phases_end(const struct us_profile *p);
/* Which one this function stands for; 0: none. */
unsigned us_profile_phase_of(const struct us_profile *p, uint32_t func);
/* The function that stands for one, from 0; US_PROFILE_NONE: out of memory. */
uint32_t us_profile_phase_function(struct us_profile *p, uint64_t number);
void us_profile_find_phases(struct us_profile *p);
/* The stack of a sample, a node of the trie: its twin of that time. US_TRIE_NONE: out
 * of memory. */
uint32_t us_profile_stack_at(struct us_profile *p, uint32_t node, uint64_t t_ns);
/* The same stack below a node of its own, the outermost: its number is that one's pc.
 * US_TRIE_NONE: out of memory. */
uint32_t us_profile_twin(struct us_profile *p, uint32_t node, uint32_t number,
			 uint8_t flag);
/* The number of the view in which a node's address is to be looked up; US_PROFILE_NONE:
 * out of memory. */
uint32_t us_profile_view(struct us_profile *p, uint32_t node);

/* Of the recording's stacks of the host; as us_trie_add(). */
US_MUST_CHECK int us_profile_host_stack(struct us_profile *p, us_stack_id id,
					us_stack_id parent, us_hva pc);
/* The node of a guest's stack with that of the host within.  US_TRIE_NONE: out of
 * memory. */
uint32_t us_profile_with_host(struct us_profile *p, uint32_t node, us_stack_id host);
/* The node at which the guest was left. */
uint32_t us_profile_guest_node(const struct us_profile *p, uint32_t node);

/* With opts.by_vcpu: what a lane has of a key of running.  0 or -ENOMEM. */
US_MUST_CHECK int us_profile_add_vcpu(struct us_profile *p, uint32_t key, uint32_t lane,
				      uint32_t weight);
/* After the last one. */
US_MUST_CHECK int us_profile_end_vcpus(struct us_profile *p);
uint32_t us_profile_of_vcpu(const struct us_profile *p, uint32_t key, uint32_t lane);
/* What was told to be idle by its stack, to the lanes' idle samples. */
void us_profile_add_idle(struct us_profile *p);
void us_profile_free_vcpus(struct us_profile *p);

/* Frames of a node of the trie, symbolised on first use.  NULL: out of memory. */
const struct us_profile_site *us_profile_site(struct us_profile *p, uint32_t node,
					      bool is_return);
/* Nodes by parent and function, of the tree that is being made. */
struct us_profile_children {
	struct us_slots slots;
	struct us_hash_seed seed;
};
/* The child of parent that is func, made if it is not there; US_PROFILE_NONE: out of
 * memory. */
uint32_t us_profile_child(struct us_profile *p, struct us_profile_children *children,
			  uint32_t parent, uint32_t func, uint32_t line);

/* Is a program counter of the part that is asked for? */
bool us_profile_in_part(const struct us_profile *p, const struct us_trie_node *s);
/* The function that stands for what the vCPU was left for, of a stack that tells it;
 * US_PROFILE_NONE: out of memory. */
uint32_t us_profile_exit_frame(struct us_profile *p, uint32_t stack);
/* The function above the stack of a key of running, that is none: US_FRAME_...;
 * US_PROFILE_NO_TOP: it needs none; US_PROFILE_NONE: out of memory. */
#define US_PROFILE_NO_TOP (UINT32_MAX - 1)
uint32_t us_profile_top(struct us_profile *p, uint32_t key);

/* A call that was counted: as us_reader_ops.counted.  0 or -ENOMEM. */
US_MUST_CHECK int us_profile_add_call(struct us_profile *p, unsigned vcpu,
				      uint32_t number, const struct us_counted *c);
/* In place of us_profile_build_tree(), _apply_focus() and _count(). */
US_MUST_CHECK int us_profile_build_calls(struct us_profile *p, struct us_err *e);
US_MUST_CHECK int us_profile_count_calls(struct us_profile *p, struct us_err *e);
/* The function that begins there, whatever is inlined into its first instruction. */
uint32_t us_profile_function_at(struct us_profile *p, us_gva address);

/* The index of a US_FRAME_... function; US_PROFILE_NONE: out of memory. */
uint32_t us_profile_special(struct us_profile *p, const char *name);

#endif
