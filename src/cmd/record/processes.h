/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * processes.h: which programs a Linux guest runs while it is recorded.
 *
 * The kernel's thread reads the list of tasks about each second, away from the hot
 * path; the writer's thread writes what is new.  A process that begins and ends between
 * two of them is not seen.  Where page tables are used again, the time between the last
 * that saw the one process and the first that saw the other is of neither.
 *
 * Threads are told by the sampler, where it can (owners.h).  Where it cannot, they are
 * listed here by their kernel stacks, in the same way.
 */
#ifndef US_CMD_PROCESSES_H
#define US_CMD_PROCESSES_H

#include "cmd/record/owners.h"
#include "cmd/record/programs.h"
#include "linux/linux.h"
#include "profile/pair_map.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define US_PROCESSES_MOST 65536U /* of one recording */
#define US_TASKS_MOST	  16384U /* that are told by their stacks */

/* What the readings took: of this thread's CPU time. */
struct us_scan_stats {
	uint64_t scans, tasks; /* tasks: of the last one */
	uint64_t cost_ns, cost_max_ns, cost_first_ns;
	uint64_t feeds, feed_ns, feed_max_ns; /* of processes, soon after a sample */
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
	struct us_pair_map of_root; /* (root, 0) to the last one's number + 1 */
	/* By their stacks, if that is asked for. */
	struct {
		struct us_known_task {
			struct us_linux_who who;
			uint64_t start_ns; /* as the list has it */
			bool dirty, gone, written;
			uint64_t from_ns, seen_ns;
		} * v;
		size_t n, cap;
	} tasks;
	struct us_pair_map of_stack; /* (stack, 0) to the last one's number + 1 */
	struct us_pair_map told;     /* (id, 0) of those that the writer wrote */
	struct us_paging *paging;    /* the reading thread's */
	struct us_mem_pages *pages;  /* likewise, while it reads */
	struct us_owners *owners;    /* NULL: nobody tells of threads */
	struct us_programs programs;
	atomic_bool wanted;
	atomic_uint stack_size; /* of each */
	bool by_stack;		/* captures do not hold the guest */
};

/* by_stack: captures cannot tell which thread they are of. */
void us_processes_init(struct us_processes *p, bool by_stack);
void us_processes_fini(struct us_processes *p);

/* In the reading thread, which alone uses mem.  start_ns: of the recording, on the
 * host's clock; 0: not yet. */
void us_processes_read(struct us_processes *p, const struct us_linux *l,
		       struct us_mem *mem, uint64_t start_ns);
/* In the reading thread, more often: what it takes to unwind the stacks of processes in
 * which samples were for the first time. */
void us_processes_feed(struct us_processes *p, const struct us_linux *l,
		       uint64_t start_ns);
/* In the reading thread: their kernel runs no more since some time after t_ns. */
void us_processes_end(struct us_processes *p, uint64_t t_ns);
/* In the writer's thread: what is new.  0 or -errno, of which the writer's next call
 * tells too. */
int us_processes_write(struct us_processes *p, struct us_writer *w);
/* In any thread. */
void us_processes_stats(struct us_processes *p, struct us_scan_stats *ret);

#endif
