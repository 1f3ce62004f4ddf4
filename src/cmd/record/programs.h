/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.h: which files the programs of a Linux guest have mapped while it is
 * recorded, and the names that these offer to others.
 *
 * The kernel's thread reads them, away from the hot path, of processes in which samples
 * were, as the writer's thread tells: within a tenth of a second, and again when they
 * have changed, which is looked at each second.  Of the others it notes each second how
 * many mappings there are and where: if that is the same when the first sample comes,
 * so they were before.  A turn takes US_PROGRAMS_TURN_NS of CPU at most; the next goes
 * on.  The writer's thread writes those that samples were in.  A file is known by its
 * path and its build-id, which is read where the program has it mapped.  Of its dynamic
 * symbols those are written that cover a sample: a report has them where no file is to
 * be found.
 *
 * Of a process in which a sample was, the call frame information of all its files is
 * read, where one of those that have a file mapped has that in memory too; else from a
 * file of the host's with its build-id, or of the user's folder of the guest's files.
 * Those whose tasks were seen to wait (record --tasks) come after these, and leave them
 * half of the files, mappings and bytes of rules that are kept.
 */
#ifndef US_CMD_PROGRAMS_H
#define US_CMD_PROGRAMS_H

#include "cmd/record/id_index.h"
#include "cmd/record/program_code.h"
#include "linux/linux.h"
#include "linux/program_elf.h"
#include "profile/pair_map.h"
#include "store/limits.h"
#include "store/store.h"

#include <pthread.h>

#define US_PROGRAMS_MOST_FILES	  4096U	 /* of one recording */
#define US_PROGRAMS_MOST_MAPPINGS 65536U /* likewise */
#define US_PROGRAMS_MOST_SPACES	  65536U /* likewise */
#define US_PROGRAMS_MOST_OF_ONE	  4096U	 /* mappings of code of one process */
#define US_PROGRAMS_UNKNOWN	  1024U
#define US_PROGRAMS_TURN_NS	  UINT64_C(4000000)
#define US_PROGRAMS_MOST_NAMES	  (32U << 20) /* bytes that are kept of names */

/* When the list of tasks was read: since the start; 0: before it. */
struct us_programs_time {
	uint64_t start_ns; /* of the recording, on the host's clock; 0: not yet */
	uint64_t begin_ns, end_ns;
};

/* A function that a file offers, and whether it was written. */
struct us_offered_name {
	uint64_t address, size;
	uint32_t name; /* in names of the file */
	bool told;
};

struct us_known_file {
	char *path;
	uint8_t kind; /* enum us_program_kind */
	uint8_t build_id[US_BUILD_ID_MAX], build_id_len;
	bool wanted, written;
	/* Addresses of the file at which samples were; those before `named` are done.
	 */
	struct {
		uint64_t *v;
		size_t n, cap;
	} hits;
	size_t named;
	unsigned tries; /* at reading its names */
	size_t missing; /* bytes, at the best of them */
	struct {
		struct us_offered_name *v; /* sorted */
		size_t n, cap;
	} offered;
	struct {
		char *v;
		size_t n, cap;
	} names;
	/* Of the reading thread: by what its stacks are unwound; NULL: nothing yet. */
	struct us_cfi_table *rules;
	size_t rules_missing; /* bytes, at the best try */
	unsigned rule_tries;
	bool file_tried; /* for them */
};

struct us_known_mapping {
	struct us_mapping m; /* until_ns: when it is gone */
	us_gva header; /* where the first byte of the file is mapped; 0: nowhere */
	us_gva at;     /* the kernel's struct file; 0: none */
	uint32_t next; /* number + 1 of another of its space; 0 */
	bool wanted, dirty, gone, kept;
};

/* The address space of a process. */
struct us_known_space {
	us_gpa root;
	us_gva mm, task; /* task: the process's task_struct */
	uint32_t pid;
	/* us_linux_mappings_mark() when it was looked at last, and since when it is the
	 * same: what is there has been there since. */
	uint64_t mark[2], same_ns;
	uint64_t from_ns, seen_ns;
	uint64_t read_ns; /* + 1; 0: never */
	bool stale;	  /* its mark is another than when it was read */
	unsigned seen;	  /* number of the reading that saw it last */
	unsigned tries;	  /* what was missing when it was read is looked for again */
	bool pair, gone, again;
	bool sampled;	/* a sample was in its program: what it has mapped counts */
	bool waited;	/* a task of it is to be unwound; of the reading thread */
	bool known;	/* then: it was looked for rules for its code */
	uint32_t first; /* number + 1 of a mapping; 0: none */
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
	struct us_pair_map of_root; /* (root, 0) to the last space's number + 1 */
	struct us_pair_map of_file; /* (hash of path, of build-id) to a file's + 1 */
	/* Where samples were that no mapping is known for yet. */
	struct {
		us_gpa root;
		us_gva pc;
		unsigned age; /* readings since */
	} unknown[US_PROGRAMS_UNKNOWN];
	unsigned n_unknown;
	size_t name_bytes, turn;
	struct us_programs_time last; /* when the list was read last */
	unsigned readings;
	us_gva cache_base; /* us_page_cache_base() of some file; 0: not known */
	bool pair;	   /* the page tables of user mode are apart */
	const struct us_debug_dirs *dirs; /* of files; set before the first reading */
	struct us_id_index ids;		  /* by build-id */
	struct us_id_index root;	  /* opens dirs->root; nothing else of it */
	struct us_limits limits;
	uint64_t limit_told[US_N_LIMITS]; /* of the writer's thread */
	atomic_bool hungry; /* a process was sampled that had not been before */
	struct us_program_code code;	/* of those that were sampled */
	struct us_program_code waiting; /* of those that wait: the reading thread's */
};

void us_programs_init(struct us_programs *p);
void us_programs_fini(struct us_programs *p);

/* In the reading thread, after the list of tasks.  pair: the page tables of user mode
 * are apart. */
void us_programs_read(struct us_programs *p, const struct us_linux *l,
		      struct us_paging *paging, const struct us_linux_tasks *t,
		      bool pair, const struct us_programs_time *at);

/* The same thread, the kernel not being another by now: what those have mapped in which
 * samples were since, and what it takes to unwind their stacks. */
void us_programs_unwind(struct us_programs *p, const struct us_linux *l,
			struct us_paging *paging);

/* The same thread: a task of the guest waits, whose program is to be unwound, too.  Was
 * it looked what that has mapped?  What rules there are for it are in `waiting`. */
bool us_programs_wait(struct us_programs *p, const struct us_linux_task *t);

/* The same thread, or another after it: the path of what is mapped there, and the
 * address in the file; NULL: not known. */
const char *us_programs_at(struct us_programs *p, us_gpa root, us_gva pc,
			   uint64_t *ret_at);

/* Does the disk of --symbols, or of --root, not answer yet to what was asked? */
bool us_programs_pending(struct us_programs *p);

/* The same thread, at the end of a recording: if the folders of --symbols were not read
 * until then, or that of --root not opened, that is a limit that was reached. */
void us_programs_tell_pending(struct us_programs *p);

/* A us_program_seer's, in the writer's thread; ctx: the struct. */
void us_programs_see(void *ctx, us_gpa root, us_gva pc);
/* In the writer's thread: what is new.  0 or -errno, of which the writer's next call
 * tells too. */
int us_programs_write(struct us_programs *p, struct us_writer *w);

#endif
