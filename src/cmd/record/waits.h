/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits.h: what the tasks of a Linux guest wait for (record --tasks).
 *
 * The kernel's thread looks at all tasks a few times a second, at random moments that
 * no guest can be in step with, outside of the hot path and without stopping the
 * guest.  Tasks that are on no CPU have their registers in memory, and their stacks are
 * unwound there.  A task that ran while it was read is left out, and counted.  A task
 * that has not run since the last look has the same stack, which is not read again.
 * The writer's thread writes the results.
 *
 * A look takes at most 50 ms of CPU time, not counting the list of tasks.  At most 10
 * ms of it are for stacks that continue in programs; further stacks have only the
 * kernel's part, until a later look.  Tasks that a look does not reach come first in
 * the next one.  All looks together take a fiftieth of a CPU.
 */
#ifndef US_CMD_WAITS_H
#define US_CMD_WAITS_H

#include "base/pair_map.h"
#include "cmd/record/images.h"
#include "cmd/record/programs.h"
#include "linux/linux.h"
#include "linux/wait.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define US_WAITS_MOST_HZ 50
#define US_WAITS_TASKS	 65536U /* different ones in a recording, by number and name */
#define US_WAITS_QUEUE	 65536U /* looks at a task that are not written yet */
#define US_WAITS_KEPT	 4096U	/* stacks kept from the last look; a power of two */
#define US_WAITS_WAYS	 4U

struct us_waits_queue {
	struct {
		struct us_waits_one {
			struct us_wait s;
			uint32_t first; /* its first frame */
			uint16_t n;
		} * v;
		size_t n, cap;
	} waits;
	struct {
		us_gva *v;
		size_t n, cap;
	} pc;
	struct {
		uint8_t *v;
		size_t n, cap;
	} flags;
};

struct us_waits {
	double hz; /* 0: not wanted */
	uint64_t random;
	uint64_t next_ns, tick; /* time of the next look; ticks since the start */
	uint64_t rest_ns;	/* no look before this time, to limit their cost */
	size_t turn;		/* the task to begin with */
	struct us_wait_stats now;

	/* For unwinding. */
	const struct us_linux *of;
	const struct us_images *images;
	struct us_programs *programs;
	unsigned changes;	  /* of images, at present */
	unsigned program_changes; /* of programs->waiting */
	bool known;	      /* the mappings of the current task's program are known */
	uint64_t programs_ns; /* CPU time spent on programs in this look */
	struct us_linux_scheduler scheduler;
	struct us_paging *paging;
	struct us_mem_pages *pages; /* pages of the list of tasks, while it is read */
	/* For one look: code and the page tables that lead to it are read only once. */
	struct us_waits_view {
		struct us_mem mem;
		struct us_mem_pages pages;
		struct us_paging paging;
	} * view;
	struct us_unwinder *unwinder;
	struct us_waits_code {
		struct us_code_map own, map[US_MAX_PLACES];
		uint8_t image[US_MAX_PLACES]; /* image of each map */
		size_t n_map, n_place;
		const struct us_code_map *next; /* the first map */
		struct us_cfi cfi;
		struct us_stack stack;
		struct us_place place[US_MAX_PLACES];
	} * code;
	struct us_waits_kept {
		us_gva at; /* 0: unused */
		uint64_t switches;
		uint64_t look; /* the last look that found it */
		int32_t pid;
		uint16_t n;
		uint8_t end;
		bool partial, known; /* the program's part may be missing */
		unsigned changes;    /* program_changes at that time */
		us_gva *pc;
		uint8_t *flags;
	} * kept; /* sets of US_WAITS_WAYS, by the task's address */

	pthread_mutex_t lock; /* for the following members */
	struct us_waits_queue queue;
	struct {
		struct us_waits_name {
			uint32_t pid, process;
			bool kernel_thread;
			char name[US_LINUX_NAME], process_name[US_LINUX_NAME];
		} * v;
		size_t n, cap;
	} names;
	size_t names_told;
	struct us_pair_map name_of; /* (numbers, hash of the names) to number */
	struct us_wait_stats stats; /* as of the last look */
	bool news;		    /* stats have changed since they were written */
};

void us_waits_init(struct us_waits *w);
void us_waits_fini(struct us_waits *w);
/* Call it before the reading thread begins to look. */
void us_waits_want(struct us_waits *w, double hz, uint64_t seed);

/* In the reading thread: when the next look is due, on the host's clock; UINT64_MAX:
 * never. */
uint64_t us_waits_due(const struct us_waits *w);
/* Look at the tasks, if a look is due.  start_ns: start of the recording.  images,
 * programs: give the rules to unwind programs; rules for a program that waits are
 * available from the next look on. */
void us_waits_look(struct us_waits *w, const struct us_linux *l,
		   const struct us_images *images, struct us_programs *programs,
		   struct us_mem *mem, uint64_t start_ns);

/* In the writer's thread: write the results since the last call.  0 or -errno, which
 * the writer's next call also returns. */
int us_waits_write(struct us_waits *w, struct us_writer *to);
void us_waits_stats(struct us_waits *w, struct us_wait_stats *ret);

#endif
