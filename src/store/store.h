/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h: the recording on disk (docs/format.md is the specification).
 *
 * A file is a header and a sequence of chunks {type, size, crc32c, payload},
 * little-endian.  It is written front to back without seeking: a pipe, a socket and a
 * file carry the same bytes, and a file cut by a crash is good up to its last whole
 * chunk.  A reader skips chunk types that it does not know.
 *
 * Addresses are stored raw.  Each distinct stack is written once, as a path in a trie
 * (parent, pc); a sample then takes about five bytes.  If a guest has more stacks than
 * the writer remembers (half a million nodes), the writer forgets them and may write a
 * stack again under another number.  A reader therefore sums by addresses, not by
 * numbers.
 *
 * Times of samples are stored in whole microseconds, everything else exactly.
 */
#ifndef US_STORE_H
#define US_STORE_H

#include "backend/backend.h"
#include "base/err.h"
#include "unwind/unwind.h"

/* The number of a node of the trie.  It stands for the stack from the node's pc
 * outwards, through its parents, to the outermost frame.  0 is the empty stack. */
typedef uint32_t us_stack_id;

/* Keys of facts: how wide the x86 code was that ran, "16", "32" or "64".  "16" of all
 * kernel or program code only if nothing wider was seen. */
#define US_FACT_CODE_BITS    "code_bits"
#define US_FACT_PROGRAM_BITS "program_bits"
#define US_FACT_MODE_BITS    "mode_bits" /* of what ended with US_END_MODE */

#define US_BUILD_ID_MAX	  20
#define US_STORE_MAX_PATH 4096

struct us_sample {
	uint64_t t_ns; /* since the start of the recording */
	us_stack_id stack;
	us_stack_id host; /* likewise, among the host's stacks; 0: not known */
	uint16_t vcpu;	  /* less than US_MAX_VCPUS */
	uint8_t end;	  /* enum us_unwind_end */
	uint8_t state;	  /* enum us_vcpu_state */
	uint32_t weight;
};

/* Did the image's text equal the guest's memory? Stored: append only. */
enum us_match {
	US_MATCH_UNKNOWN, /* could not be compared */
	US_MATCH_YES,
	US_MATCH_NO,
};

/* An image loaded in the guest: what offline symbolisation needs to find it. */
struct us_module {
	us_gva start, end; /* in the guest */
	uint64_t bias;	   /* guest address minus the image's own address */
	uint8_t build_id[US_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: it has none */
	uint8_t match;	      /* enum us_match */
	const char *path;
	/* Very old recordings do not have the members below: then they are 0. */
	uint32_t number; /* replaces an earlier module with this number; 0: by its start
			  */
	us_gpa root;	 /* the only address space that it is in; 0: it is in all */
	/* When it was loaded: since the start, whole microseconds; until 0: to the end.
	 * Outside of that time it is not known what was at its addresses. */
	uint64_t from_ns, until_ns;
	uint64_t code_hash; /* where it has no build-id: us_elf_image_code_hash();
			       0: not known */
};

/* Are they of the same file, and build as far as is known? */
bool us_module_same_image(const struct us_module *a, const struct us_module *b);

/* A function of the guest that has a name but no file: from the guest's own tables. */
struct us_named {
	us_gva start;
	uint64_t size;	    /* not 0; start + size does not wrap round */
	const char *name;   /* 1 to 1023 bytes */
	const char *module; /* 1 to 64 bytes: "linux", "virtio_net" */
};

/* A program that a Linux guest ran: the user parts of stacks belong to one. */
struct us_process {
	us_gpa root; /* of its page tables */
	bool pair; /* the root with bit 12 set is also its own (page-table isolation) */
	uint32_t pid;
	/* When it was seen, since the start, whole microseconds.  from 0: it is not
	 * known who had this root before; until 0: to the end. */
	uint64_t from_ns, until_ns;
	const char *name; /* up to 63 bytes */
};

/*
 * A thread of a Linux guest, or of its kernel.  The node with US_PC_TASK in a stack
 * holds either its id or, in the upper half of the address space, the lowest byte of
 * the kernel stack that the vCPU was on.
 */
struct us_task {
	uint64_t id;  /* of this thread under this name only; 0: known by its stack */
	us_gva stack; /* lowest byte of its kernel stack; 0: not known */
	uint32_t stack_size;
	/* When the stack was its own: like those of a us_process. */
	uint64_t from_ns, until_ns;
	uint64_t
		started_ns; /* since the guest's boot, by its own clock; 0: not known */
	uint32_t pid, tgid; /* its own number, its process's */
	uint32_t inner;	    /* its number in its own pid namespace; 0: the same */
	bool kernel_thread;
	const char *name, *process; /* up to 63 bytes: its own, its process's */
	const char *cgroup;	    /* up to 255 bytes; "": the root, or not known */
};

/* A task of a Linux guest that was seen to wait. */
struct us_waiter {
	uint32_t number;       /* from 1 on, without gaps */
	uint32_t pid, process; /* its own number, its process's */
	bool kernel_thread;
	const char *name, *process_name; /* up to 63 bytes each */
};

/* How a task waits.  Stored: append only. */
enum us_wait_state {
	US_WAIT_SLEEPS,	 /* ps prints S: a signal ends the wait */
	US_WAIT_BLOCKED, /* D: no signal ends it */
	US_WAIT_READY,	 /* R, not on a CPU: it waits for one */
	US_N_WAIT_STATE,
};

/* A task that was sampled while it was on no CPU: its stack in the kernel. */
struct us_wait {
	uint64_t t_ns; /* since the start of the recording: when all tasks were read */
	us_stack_id stack;
	uint32_t waiter; /* its number */
	uint8_t end;	 /* enum us_unwind_end; ROOT: the stack is complete */
	uint8_t state;	 /* enum us_wait_state */
	/* How many of the innermost frames belong to the scheduler: the task waits in
	 * the one after them. */
	uint8_t inside;
};

/*
 * What became of the looks at tasks, since the start.  A look reads the guest's list of
 * tasks and samples those that wait.  us_record_stats does not count these.  Exactly,
 * in each:
 *
 *	tasks = running + idle + other + due
 *	due = taken + moved + failed + skipped + lost
 */
struct us_wait_stats {
	uint64_t looks; /* reads of the list of tasks */
	uint64_t late;	/* looks that were due but not made: they cost too much */
	uint64_t
		torn; /* of looks: the list changed at each try, so tasks are missing */
	uint64_t tasks;	  /* seen in all looks */
	uint64_t running; /* of tasks: on a CPU */
	uint64_t idle;	  /* kernel threads without work */
	uint64_t other;	  /* stopped, parked, dead */
	uint64_t due;	  /* of tasks: those that waited */
	uint64_t taken;
	uint64_t moved;	      /* ran while they were read */
	uint64_t failed;      /* nothing consistent was saved for them */
	uint64_t skipped;     /* the look took too long */
	uint64_t lost;	      /* taken, but there was no space to keep them */
	uint64_t truncated;   /* of taken: the end is not ROOT */
	uint64_t cost_ns;     /* CPU time of all looks */
	uint64_t cost_max_ns; /* of the longest */
};

/* Where a program's code came from.  Stored: append only. */
enum us_program_kind {
	US_PROGRAM_FILE,
	US_PROGRAM_VDSO, /* the kernel's code in programs: the vdso, uprobes' copies */
	US_PROGRAM_NONE, /* no file: code that was generated at run time */
	US_N_PROGRAM_KIND,
};

/* A file that programs of a Linux guest had mapped. */
struct us_program_file {
	uint32_t number; /* from 1 */
	uint8_t kind;	 /* enum us_program_kind */
	uint8_t build_id[US_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: it has none, or it was not seen */
	bool deleted; /* or replaced, while it was mapped: another file may be there */
	const char *path; /* in the guest; "[vdso]", "[uprobes]", "[jit]" */
};

/* Code of such a file in a program's memory. */
struct us_mapping {
	uint32_t file; /* its number */
	uint32_t pid;  /* the process's */
	us_gpa root;   /* of its page tables */
	bool pair;     /* as in struct us_process */
	us_gva start, end;
	uint64_t offset; /* of start, in the file */
	uint64_t bias;	 /* as in struct us_module */
	bool has_bias;	 /* bias is known */
	/* When it was mapped: as in struct us_process. */
	uint64_t from_ns, until_ns;
};

/* A function that such a file exports, as found in the guest's memory; or a function of
 * an image. */
struct us_program_name {
	uint32_t file;	  /* or the number of the image's module */
	uint64_t address; /* in the file's own address space */
	uint64_t size;	  /* 0: not known */
	const char *name; /* 1 to 255 bytes; of an image 1 to 1023 */
};

/* A node of a tree of calls that were counted, not sampled: a function on one path of
 * callers. */
struct us_counted {
	uint32_t parent; /* the caller's number; 0: no caller */
	us_gva address;	 /* of the function's first instruction, or, below
			    US_COUNTED_SPECIALS, what vmm/plugin_counts.h defines */
	uint64_t calls;
	uint64_t self; /* instructions */
};
#define US_COUNTED_SPECIALS 16

/* How a recording ended. Stored: append only. */
enum us_record_end {
	US_RECORD_CUT, /* no end was written: killed, or the disk was full */
	US_RECORD_DONE,
	US_RECORD_INTERRUPTED, /* Ctrl-C, SIGTERM */
	US_RECORD_GUEST_GONE,  /* the guest ended, or its VMM was killed */
	US_RECORD_LOST_TOUCH,  /* stub or monitor closed, watchdog stepped in */
	US_N_RECORD_END,
};

/*
 * What was due, what became of it, and what it cost the guest, since the start.
 * Written about every second and at the end.  Counts are of due samples: a sample
 * counts with its weight.  Exactly, in each:
 *
 *	due = running + idle + off + late + backed_off + failed + lost
 *
 * and running, idle and off are the sums of the weights of the samples before it in the
 * file.  A sample that is still under way is not due yet.
 */
struct us_record_stats {
	uint64_t elapsed_ns;
	uint64_t due;
	uint64_t running;    /* samples in state GUEST, EXIT or READY */
	uint64_t idle;	     /* samples in state HALTED */
	uint64_t off;	     /* samples in state OFF: not started, guest paused */
	uint64_t late;	     /* not taken: the previous one was not done yet */
	uint64_t backed_off; /* not taken: the budget forbade it */
	uint64_t failed;     /* not taken: the vCPU could not be read */
	uint64_t lost;	     /* taken, but the ring was full: in no other count */
	uint64_t truncated; /* of running: a stack was taken, but its end is not ROOT */
	uint64_t stolen_ns, vcpu_ns; /* guest time taken, guest time observed */
	/* How long samples stopped the guest, of those that did: upper bounds, at most
	 * 1/32 above the true value; 0 if there was none. */
	uint64_t held_p50_ns, held_p99_ns;
	uint64_t held_max_ns; /* exact */
};

/* ---- Writing ---- */

struct us_writer;

/* Writes the header.  fd stays the caller's. */
US_MUST_CHECK int us_writer_open(int fd, struct us_writer **ret, struct us_err *e);
/* A fact is a name (1 to 64 bytes) and a text: "target", "command", "backend", "hz",
 * ...  A later fact with the same name replaces the earlier one.  Written at once, as
 * modules are.  -E2BIG: together they have more than 64 KiB. */
US_MUST_CHECK int us_writer_fact(struct us_writer *w, const char *key,
				 const char *value, struct us_err *e);
/* A module with the number of an earlier one replaces it. */
US_MUST_CHECK int us_writer_module(struct us_writer *w, const struct us_module *m,
				   struct us_err *e);
/* One with the root, pid and from_ns of an earlier one replaces it. */
US_MUST_CHECK int us_writer_process(struct us_writer *w, const struct us_process *s,
				    struct us_err *e);
/* One with the id, stack, pid and from_ns of an earlier one replaces it. */
US_MUST_CHECK int us_writer_task(struct us_writer *w, const struct us_task *t,
				 struct us_err *e);
/* A task that waits, before the first of its waits.  -EINVAL: a number is left out. */
US_MUST_CHECK int us_writer_waiter(struct us_writer *w, const struct us_waiter *s,
				   struct us_err *e);
/* One sample of a task that waits; as us_writer_sample(). */
US_MUST_CHECK int us_writer_wait(struct us_writer *w, const struct us_wait *s,
				 const us_gva *pc, const uint8_t *flags, size_t n,
				 struct us_err *e);
US_MUST_CHECK int us_writer_wait_stats(struct us_writer *w,
				       const struct us_wait_stats *s, struct us_err *e);
/* One with the number of an earlier one replaces it. */
US_MUST_CHECK int us_writer_program_file(struct us_writer *w,
					 const struct us_program_file *f,
					 struct us_err *e);
/* One with the root, start and from_ns of an earlier one replaces it. */
US_MUST_CHECK int us_writer_mapping(struct us_writer *w, const struct us_mapping *m,
				    struct us_err *e);
/* n names of one file; more may follow. */
US_MUST_CHECK int us_writer_program_names(struct us_writer *w,
					  const struct us_program_name *v, size_t n,
					  struct us_err *e);
/* The same for one image's functions, of which the others are not needed. */
US_MUST_CHECK int us_writer_image_names(struct us_writer *w,
					const struct us_program_name *v, size_t n,
					struct us_err *e);
/* Call see() for each frame of a program that is new in the stacks, when they are
 * written: root of the program's page tables, and program counter.  In the writer's
 * thread. */
struct us_program_seer {
	void (*see)(void *ctx, us_gpa root, us_gva pc);
	void *ctx;
};
void us_writer_see_programs(struct us_writer *w, const struct us_program_seer *s);
/* Intern the stack, pc[0] innermost (s->stack and s->host are ignored), and buffer the
 * sample.  Full buffers go to fd.  flags: enum us_pc_flag of each pc, or NULL if none
 * is set; those with US_PC_HOST come last.  -EINVAL: more than US_MAX_FRAMES, or more
 * than US_MAX_HOST_FRAMES of the host, or an enum or vCPU out of range. */
US_MUST_CHECK int us_writer_sample(struct us_writer *w, const struct us_sample *s,
				   const us_gva *pc, const uint8_t *flags, size_t n,
				   struct us_err *e);
/*
 * From now on ask for the functions at the program counters of stacks, past and future,
 * and write them.  The writer's thread calls name(), which returns true once for each
 * function.  name NULL: stop asking.
 */
struct us_namer {
	bool (*name)(void *ctx, us_gva pc, struct us_named *ret);
	void *ctx;
};
void us_writer_name_by(struct us_writer *w, const struct us_namer *n);
/* The same for the host's stacks: modules are "[kernel]", "[kvm]", the VMM's files. */
void us_writer_name_host_by(struct us_writer *w, const struct us_namer *n);
/* Ask for the function at this address as well, which may be in no stack.  Only the
 * first US_STORE_MOST_ALSO are asked for. */
#define US_STORE_MOST_ALSO 256
void us_writer_name_also(struct us_writer *w, us_gva pc);
/*
 * n nodes of a vCPU's call tree, numbered from first on.  A vCPU's numbers begin at 1
 * and have no gaps; a parent's is lower.  -EINVAL: not so.
 */
US_MUST_CHECK int us_writer_counted(struct us_writer *w, unsigned vcpu, uint32_t first,
				    const struct us_counted *v, size_t n,
				    struct us_err *e);
/*
 * A trace consists of
 *
 * - the addresses of functions, numbered from first on, without a gap to those before
 *   (the first: 0);
 * - records of a vCPU, as defined in trace/events.h, in order;
 * - the statement that everything until t_ns, on all vCPUs, has been written.
 */
US_MUST_CHECK int us_writer_event_functions(struct us_writer *w, uint32_t first,
					    const us_gva *v, size_t n,
					    struct us_err *e);
US_MUST_CHECK int us_writer_events(struct us_writer *w, unsigned vcpu,
				   const uint64_t *record, size_t n, struct us_err *e);
US_MUST_CHECK int us_writer_events_until(struct us_writer *w, uint64_t t_ns,
					 struct us_err *e);
US_MUST_CHECK int us_writer_stats(struct us_writer *w, const struct us_record_stats *s,
				  struct us_err *e);
/* Write everything buffered to fd, as whole chunks. */
US_MUST_CHECK int us_writer_flush(struct us_writer *w, struct us_err *e);
/* Flush, then write the stats and how it ended. */
US_MUST_CHECK int us_writer_end(struct us_writer *w, const struct us_record_stats *s,
				enum us_record_end end, const char *words,
				struct us_err *e);
uint64_t us_writer_bytes(const struct us_writer *w); /* written to fd so far */
/*
 * After a failed write (disk full) nothing more is written, and every call fails in the
 * same way.  fd may end in half a chunk then: this returns how long the good part is,
 * so that the caller can truncate the file there.
 */
uint64_t us_writer_good_bytes(const struct us_writer *w);
void us_writer_close(struct us_writer *w); /* frees; accepts NULL */

/* ---- Reading: one pass; callbacks that are NULL are skipped ---- */

/* A callback returns 0, or a negative errno that ends the reading.  Strings are valid
 * during the call.  Stack ids are dense: 1, 2, 3, ... in order of appearance, parent <
 * id; the host's are numbered separately.  Samples refer to stacks that came before.
 * All of this is checked. */
/* A distinct stack: that of its caller, and one node more. */
struct us_stack_node {
	us_gva pc;
	us_stack_id parent;
	uint8_t flags; /* enum us_pc_flag; unknown ones removed */
};

struct us_reader_ops {
	int (*fact)(void *ctx, const char *key, const char *value);
	int (*module)(void *ctx, const struct us_module *m);
	int (*stack)(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
		     uint8_t flags);
	/* If set, called instead of stack, with several; first: the first's number. */
	int (*stacks)(void *ctx, us_stack_id first, const struct us_stack_node *v,
		      size_t n);
	int (*sample)(void *ctx, const struct us_sample *s);
	/* If set, called instead of sample, with several consecutive samples. */
	int (*samples)(void *ctx, const struct us_sample *s, size_t n);
	/* For a reader that wants no samples, or not yet: when the first sample of a
	 * chunk was taken whose vCPU was busy.  Only for valid samples. */
	int (*busy_at)(void *ctx, uint64_t t_ns);
	int (*stats)(void *ctx, const struct us_record_stats *s);
	int (*end)(void *ctx, enum us_record_end end, const char *words);
	int (*named)(void *ctx, const struct us_named *n);
	int (*host_stack)(void *ctx, us_stack_id id, us_stack_id parent, us_hva pc);
	int (*host_named)(void *ctx, const struct us_named *n);
	int (*counted)(void *ctx, unsigned vcpu, uint32_t number,
		       const struct us_counted *c);
	int (*event_function)(void *ctx, uint32_t number, us_gva address);
	int (*events)(void *ctx, unsigned vcpu, const uint64_t *record, size_t n);
	int (*events_until)(void *ctx, uint64_t t_ns);
	int (*process)(void *ctx, const struct us_process *s);
	int (*task)(void *ctx, const struct us_task *t);
	int (*waiter)(void *ctx, const struct us_waiter *s);
	int (*wait)(void *ctx, const struct us_wait *s);
	int (*wait_stats)(void *ctx, const struct us_wait_stats *s);
	int (*program_file)(void *ctx, const struct us_program_file *f);
	int (*mapping)(void *ctx, const struct us_mapping *m);
	int (*program_name)(void *ctx, const struct us_program_name *n);
	int (*image_name)(void *ctx, const struct us_program_name *n);
};

struct us_reader_result {
	uint64_t bytes; /* good bytes read */
	bool cut;	/* it ends in half a chunk, or in one with a wrong checksum */
	bool ended;	/* an end chunk was seen: how it ended is known. Neither cut nor
			   ended: the writer was killed between two chunks */
	bool more;	/* of a file, not a pipe: bytes follow the end chunk */
};

/*
 * Read from fd (file, pipe, socket) until the recording's end chunk or the end of fd.
 * A cut file is no error: the good part is delivered, and ret says so.  -ENOEXEC: not a
 * recording; -ENOTSUP: made by a newer format; -EBADMSG: a chunk has a right checksum
 * but impossible contents (what came before it was delivered); else the error of read()
 * or of a callback.  A callback may fill e itself through its ctx.
 *
 * Memory: two chunks (16 MiB each at most, and never more than twice what was read of
 * one), and a byte for each node of the trie.
 */
US_MUST_CHECK int us_read(int fd, const struct us_reader_ops *ops, void *ctx,
			  struct us_reader_result *ret, struct us_err *e);
/* The same, and copy what was read to copy_fd: for a second pass over a pipe. */
US_MUST_CHECK int us_read_copy(int fd, int copy_fd, const struct us_reader_ops *ops,
			       void *ctx, struct us_reader_result *ret,
			       struct us_err *e);

/* ---- Reading what is still being written ---- */

struct us_reader;

/* fd, a file, stays the caller's, as do ops and ctx; it is read from its offset on. */
US_MUST_CHECK int us_reader_open(int fd, const struct us_reader_ops *ops, void *ctx,
				 struct us_reader **ret, struct us_err *e);
/*
 * Deliver the chunks that have been written since the last call, and no byte twice.  An
 * incomplete chunk, or a file without its header yet, is no error: the next call
 * continues there.  Errors are those of us_read(), and -EBADMSG also for a chunk with a
 * wrong checksum.  After an error the file cannot be followed any more.
 */
US_MUST_CHECK int us_reader_follow(struct us_reader *r, struct us_reader_result *ret,
				   struct us_err *e);
void us_reader_close(struct us_reader *r); /* accepts NULL */

#endif
