/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * processes.h: which programs a Linux guest runs while it is recorded.
 *
 * The kernel's thread reads the list of tasks about once a second, outside of the hot
 * path; the writer's thread writes what is new.  A process that begins and ends between
 * two readings is not seen.  If page tables are reused, the time between the last
 * reading with the old process and the first with the new one belongs to neither.
 *
 * The sampler finds the threads, if it can (owners.h).  If it cannot, they are listed
 * here by their kernel stacks, in the same way.  If it can, up to two of each process
 * are: a sample that only tells its process, as one from before the kernel was known,
 * belongs to its thread if it has only one.
 */
#ifndef US_CMD_PROCESSES_H
#define US_CMD_PROCESSES_H

#include "base/pair_map.h"
#include "cmd/record/owners.h"
#include "cmd/record/programs.h"
#include "linux/linux.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define US_PROCESSES_MOST 65536U /* most of one recording */
#define US_TASKS_MOST	  16384U /* most that are known by their stacks */

/* What the readings cost, in CPU time of this thread. */
struct us_scan_stats {
	uint64_t scans, tasks; /* tasks: in the last one */
	uint64_t cost_ns, cost_max_ns, cost_first_ns;
	/* Reads of processes soon after their first sample. */
	uint64_t feeds, feed_ns, feed_max_ns;
};

struct us_processes {
	pthread_mutex_t lock;
	struct us_scan_stats stats;
	struct {
		struct us_known_process {
			us_gpa root;
			uint32_t pid;
			bool pair, dirty, gone, written;
			uint64_t from_ns, seen_ns;
			char name[US_LINUX_COMM];
		} * v;
		size_t n, cap;
	} all;
	struct us_pair_map of_root; /* (root, 0) to the number of the last one + 1 */
	/* By their stacks, if requested. */
	struct {
		struct us_known_task {
			struct us_linux_who who;
			uint64_t start_ns; /* as in the list */
			bool dirty, gone, written;
			uint64_t from_ns, seen_ns;
		} * v;
		size_t n, cap;
	} tasks;
	struct us_pair_map of_stack; /* (stack, 0) to the number of the last one + 1 */
	struct us_pair_map told;     /* (id, 0) of those that were written */
	struct us_paging *paging;    /* for the reading thread */
	struct us_mem_pages *pages;  /* for the reading thread, while it reads */
	struct us_owners *owners;    /* NULL: threads are not known */
	struct us_programs programs;
	atomic_bool wanted;
	atomic_uint stack_size; /* of each task's kernel stack */
	bool by_stack;		/* threads are known by their stacks */
};

/* by_stack: captures cannot tell their thread. */
void us_processes_init(struct us_processes *p, bool by_stack);
void us_processes_fini(struct us_processes *p);

/* In the reading thread, the only user of mem.  start_ns: start of the recording, on
 * the host's clock; 0: not yet. */
void us_processes_read(struct us_processes *p, const struct us_linux *l,
		       struct us_mem *mem, uint64_t start_ns);
/* In the reading thread, more often: read what is needed to unwind the stacks of
 * processes with their first samples. */
void us_processes_feed(struct us_processes *p, const struct us_linux *l,
		       uint64_t start_ns);
/* In the reading thread: end all processes; their kernel stopped running some time
 * after t_ns. */
void us_processes_end(struct us_processes *p, uint64_t t_ns);
/* In the writer's thread: write what is new.  0 or -errno, which the writer's next call
 * also returns. */
int us_processes_write(struct us_processes *p, struct us_writer *w);
/* In any thread. */
void us_processes_stats(struct us_processes *p, struct us_scan_stats *ret);

#endif
