/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.h: which files the programs of a Linux guest have mapped while it is
 * recorded, and the names that these files export.
 *
 * The kernel's thread reads the mappings, outside of the hot path, of processes that
 * have samples, as the writer's thread reports them.  It reads them within a tenth of a
 * second, and again when they have changed, which it checks every second.  For other
 * processes it notes every second how many mappings there are and where.  If that is
 * unchanged at the first sample, the mappings were the same before.  A turn takes at
 * most US_PROGRAMS_TURN_NS of CPU time; the next turn continues.
 *
 * The writer's thread writes the mappings that have samples.  A file is identified by
 * its path and by its build-id, which is read where the program has it mapped; without
 * one, by its ELF headers and notes: containers have different files of one path.  Of
 * its dynamic symbols, those that cover a sample are written: a report uses them if it
 * does not find the file.
 *
 * For a sampled process, the call frame information of all its files is read, from the
 * memory of any process that has it there; else from a host file with the same
 * build-id, or from the user's folder of the guest's files.  Processes whose tasks were
 * seen to wait (record --tasks) come after these, and leave them half of the limits on
 * files, mappings and bytes of rules.
 */
#ifndef US_CMD_PROGRAMS_H
#define US_CMD_PROGRAMS_H

#include "base/pair_map.h"
#include "cmd/record/id_index.h"
#include "cmd/record/program_code.h"
#include "linux/linux.h"
#include "linux/program_elf.h"
#include "store/limits.h"
#include "store/store.h"

#include <pthread.h>

#define US_PROGRAMS_MOST_FILES	  4096U	 /* of one recording */
#define US_PROGRAMS_MOST_MAPPINGS 65536U /* of one recording */
#define US_PROGRAMS_MOST_SPACES	  65536U /* of one recording */
#define US_PROGRAMS_MOST_OF_ONE	  4096U	 /* code mappings of one process */
#define US_PROGRAMS_UNKNOWN	  1024U
#define US_PROGRAMS_TURN_NS	  UINT64_C(4000000)
#define US_PROGRAMS_MOST_NAMES	  (32U << 20) /* bytes of names that are kept */

/* When the list of tasks was read, since the recording's start; 0: before it. */
struct us_programs_time {
	uint64_t start_ns; /* start of the recording, on the host's clock; 0: not yet */
	uint64_t begin_ns, end_ns;
};

/* A function that a file exports, and whether it was written. */
struct us_offered_name {
	uint64_t address, size;
	uint32_t name; /* offset in the file's names */
	bool told;
};

struct us_known_file {
	char *path;
	uint8_t kind; /* enum us_program_kind */
	uint8_t build_id[US_BUILD_ID_MAX], build_id_len;
	bool deleted; /* see us_program_file */
	bool sure;    /* which file it is: a build-id, or whole headers, were read */
	bool wanted, written;
	/* Addresses in the file that have samples; those before `named` are done. */
	struct {
		uint64_t *v;
		size_t n, cap;
	} hits;
	size_t named;
	unsigned tries; /* attempts to read its names */
	size_t missing; /* bytes missing in the best attempt */
	struct {
		struct us_offered_name *v; /* sorted */
		size_t n, cap;
	} offered;
	struct {
		char *v;
		size_t n, cap;
	} names;
	/* For the reading thread: rules to unwind its stacks; NULL: none yet. */
	struct us_cfi_table *rules;
	size_t rules_missing; /* bytes missing in the best attempt */
	unsigned rule_tries;
	bool file_tried; /* files on the host's disks were tried for rules */
};

struct us_known_mapping {
	struct us_mapping m; /* until_ns is set when it is gone */
	us_gva header;	     /* address of the file's first byte; 0: not mapped */
	us_gva at;	     /* the kernel's struct file; 0: none */
	us_gva dentry;	     /* its dentry */
	uint32_t next;	     /* number + 1 of the next in its space; 0: none */
	bool wanted, dirty, gone, kept;
};

/* The address space of a process. */
struct us_known_space {
	us_gpa root;
	us_gva mm, task; /* task: the process's task_struct */
	uint32_t pid;
	/* us_linux_mappings_mark() at the last check, and since when it is unchanged:
	 * the mappings exist since then. */
	uint64_t mark[2], same_ns;
	uint64_t from_ns, seen_ns;
	uint64_t read_ns; /* time of the last read + 1; 0: never */
	bool stale;	  /* its mark has changed since it was read */
	unsigned seen;	  /* number of the last reading that saw it */
	unsigned tries;	  /* attempts to read what was missing */
	bool pair, gone, again;
	bool sampled;	/* its program has a sample: its mappings are needed */
	bool waited;	/* a waiting task is to be unwound; for the reading thread */
	bool known;	/* if waited: rules for its code were searched for */
	uint32_t first; /* number + 1 of its first mapping; 0: none */
};

struct us_programs {
	pthread_mutex_t lock;
	struct {
		struct us_known_file *v;
		size_t n, cap;
	} files;
	struct {
		struct us_known_mapping *v;
		size_t n, cap;
	} mappings;
	struct {
		struct us_known_space *v;
		size_t n, cap;
	} spaces;
	struct us_pair_map of_root; /* (root, 0) to the number of the last space + 1 */
	/* (hash of path, of what identifies the file) to the file's number. */
	struct us_pair_map of_file;
	/* Samples without a known mapping so far. */
	struct {
		us_gpa root;
		us_gva pc;
		unsigned age; /* readings since */
	} unknown[US_PROGRAMS_UNKNOWN];
	unsigned n_unknown;
	size_t name_bytes, turn;
	struct us_programs_time last; /* the last reading of the list */
	unsigned readings;
	us_gva cache_base; /* us_page_cache_base() of some file; 0: not known */
	bool pair;	   /* user mode has separate page tables */
	/* With the user's files; set before the first reading. */
	const struct us_debug_dirs *dirs;
	struct us_id_index ids;	 /* files by build-id */
	struct us_id_index root; /* used only to open dirs->root */
	struct us_limits limits;
	uint64_t limit_told[US_N_LIMITS]; /* for the writer's thread */
	atomic_bool hungry;		  /* a process has its first sample */
	struct us_program_code code;	  /* rules of sampled programs */
	/* Rules of waiting tasks' programs, for the reading thread. */
	struct us_program_code waiting;
};

void us_programs_init(struct us_programs *p);
void us_programs_fini(struct us_programs *p);

/* In the reading thread, after reading the list of tasks.  pair: user mode has separate
 * page tables. */
void us_programs_read(struct us_programs *p, const struct us_linux *l,
		      struct us_paging *paging, const struct us_linux_tasks *t,
		      bool pair, const struct us_programs_time *at);

/* In the same thread, while the kernel is still the same: read the mappings of
 * processes sampled since.  `hungry` is set if there are more than one turn can read.
 */
void us_programs_read_sampled(struct us_programs *p, const struct us_linux *l,
			      struct us_paging *paging);
/* The same, and what is needed to unwind their stacks. */
void us_programs_unwind(struct us_programs *p, const struct us_linux *l,
			struct us_paging *paging);

/* In the same thread: a waiting task is to be unwound, including its program.  True:
 * the program's mappings were examined, and `waiting` has the available rules. */
bool us_programs_wait(struct us_programs *p, const struct us_linux_task *t);

/* In the same thread, or another after it has ended: the path of the file mapped at pc,
 * and the address in the file; NULL: not known. */
const char *us_programs_at(struct us_programs *p, us_gpa root, us_gva pc,
			   uint64_t *ret_at);

/* Is a request to the disk of --symbols or --root still without an answer? */
bool us_programs_pending(struct us_programs *p);

/* In the same thread, at the end of a recording: if the folders of --symbols were not
 * read by then, or that of --root not opened, report that as a limit that was
 * reached. */
void us_programs_tell_pending(struct us_programs *p);

/* A us_program_seer callback, in the writer's thread; ctx: the struct us_programs. */
void us_programs_see(void *ctx, us_gpa root, us_gva pc);
/* In the writer's thread: write what is new.  0 or -errno, which the writer's next call
 * also returns. */
int us_programs_write(struct us_programs *p, struct us_writer *w);

#endif
