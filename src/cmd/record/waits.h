/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits.h: what the tasks of a Linux guest wait for (record --tasks).
 *
 * The kernel's thread looks at all tasks a few times a second, at moments that no guest
 * can keep step with, away from the hot path and without a stop: those that are on no
 * CPU have their registers in memory, and their stacks are unwound there.  A task that
 * ran while it was read is left out, and counted; one that did not run since the look
 * before has the same stack still, which is not read again.  The writer's thread writes
 * what was taken.
 *
 * A look takes 50 ms of CPU time at most, the list of tasks not counted, 10 ms of it
 * for stacks that go on in programs: others are the kernel's part alone, until a later
 * look. Tasks that it does not come to are the first of the next one.  All looks take a
 * fiftieth of a CPU.
 */
#ifndef US_CMD_WAITS_H
#define US_CMD_WAITS_H

#include "cmd/record/images.h"
#include "cmd/record/programs.h"
#include "linux/linux.h"
#include "linux/wait.h"
#include "profile/pair_map.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define US_WAITS_MOST_HZ 50
#define US_WAITS_TASKS	 65536U /* different ones of a recording, by number and name */
#define US_WAITS_QUEUE	 65536U /* looks at a task that the writer has not come to */
#define US_WAITS_KEPT	 4096U	/* stacks of the look before; a power of two */
#define US_WAITS_WAYS	 4U

struct us_waits_queue {
	struct {
		struct us_waits_one {
			struct us_wait s;
			uint32_t first; /* of its frames */
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
	double hz; /* 0: nobody wants to know */
	uint64_t random;
	uint64_t next_ns, tick; /* of the next look; ticks since the start */
	uint64_t rest_ns;	/* no look before: what they may cost */
	size_t turn;		/* the task that comes first */
	struct us_wait_stats now;

	/* What stacks are unwound by. */
	const struct us_linux *of;
	const struct us_images *images;
	struct us_programs *programs;
	unsigned changes;	  /* of images, as of now */
	unsigned program_changes; /* of programs->waiting */
	bool known;		  /* the task at hand: what its program has mapped */
	uint64_t programs_ns;	  /* of CPU time, that programs took in this look */
	struct us_linux_scheduler scheduler;
	struct us_paging *paging;
	struct us_mem_pages *pages; /* of the list of tasks, while it is read */
	/* Of one look: its code and the page tables that lead there are read once. */
	struct us_waits_view {
		struct us_mem mem;
		struct us_mem_pages pages;
		struct us_paging paging;
	} * view;
	struct us_unwinder *unwinder;
	struct us_waits_code {
		struct us_code_map own, map[US_MAX_PLACES];
		uint8_t image[US_MAX_PLACES]; /* of each map */
		size_t n_map, n_place;
		const struct us_code_map *next; /* the first of them */
		struct us_cfi cfi;
		struct us_stack stack;
		struct us_place place[US_MAX_PLACES];
	} * code;
	struct us_waits_kept {
		us_gva at; /* 0: none is here */
		uint64_t switches;
		uint64_t look; /* the last that met it */
		int32_t pid;
		uint16_t n;
		uint8_t end;
		bool partial, known; /* its program's part may be missing */
		unsigned changes;    /* as program_changes, then */
		us_gva *pc;
		uint8_t *flags;
	} * kept; /* sets of US_WAITS_WAYS by the task's address */

	pthread_mutex_t lock; /* of what follows */
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
	struct us_wait_stats stats; /* after the last look */
	bool news;		    /* in the stats, since they were written */
};

void us_waits_init(struct us_waits *w);
void us_waits_fini(struct us_waits *w);
/* Before the reading thread begins to look. */
void us_waits_want(struct us_waits *w, double hz, uint64_t seed);

/* In the reading thread: when the next look is due, on the host's clock; UINT64_MAX:
 * never. */
uint64_t us_waits_due(const struct us_waits *w);
/* Look, if one is due.  start_ns: of the recording.  images, programs: whose code
 * programs are unwound by; what waits is to be had of the latter from the next look on.
 */
void us_waits_look(struct us_waits *w, const struct us_linux *l,
		   const struct us_images *images, struct us_programs *programs,
		   struct us_mem *mem, uint64_t start_ns);

/* In the writer's thread: what was taken since.  0 or -errno, of which the writer's
 * next call tells too. */
int us_waits_write(struct us_waits *w, struct us_writer *to);
void us_waits_stats(struct us_waits *w, struct us_wait_stats *ret);

#endif
