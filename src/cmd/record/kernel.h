/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.h: the names, unwind rules and modules of a Linux guest, read from its memory.
 *
 * Three threads share the work:
 *
 * - The sampler finds where the kernel is, while a capture is held, and later gives the
 *   unwinder what was read.
 * - A thread of its own reads for 0.1 to 0.4 s, while the guest runs.  Only if a stub
 *   reads the memory does it ask the sampler for each piece.
 * - The writer's thread asks for the names of what was sampled.
 *
 * A kernel is read again if code runs in the area of modules and no module is known
 * there.  A few times a second a piece of it is checked.  If it has changed, another
 * kernel runs, or the same one was rebooted.  From the last check at which all was
 * unchanged, processes are unknown until the new kernel was read.
 */
#ifndef US_CMD_KERNEL_H
#define US_CMD_KERNEL_H

#include "cmd/record/images.h"
#include "cmd/record/processes.h"
#include "cmd/record/waits.h"
#include "linux/linux.h"

#include <pthread.h>
#include <semaphore.h>

#define US_KERNEL_MAX	  12 /* most times that a kernel is read */
#define US_KERNEL_ALIASES 16 /* that are known; of all kernels */

enum us_kernel_state {
	US_KERNEL_WANTED, /* samples search for the kernel */
	US_KERNEL_READ,	  /* the thread reads */
	US_KERNEL_READY,  /* a sample has to take what was read */
	US_KERNEL_IN_USE,
	US_KERNEL_NONE, /* not Linux, or given up */
};

struct us_kernel {
	struct us_images *images;
	atomic_int state;    /* enum us_kernel_state */
	unsigned failed;     /* times that no kernel was found */
	bool anywhere;	     /* only samples in the kernel can show where it is */
	unsigned n_searched; /* samples in which it was searched for */
	uint64_t next_ns, pause_ns, check_ns, list_ns;
	struct us_code_map map;
	unsigned doubts;
	uint64_t drawn;	  /* us_linux.drawn of the kernel in use */
	uint64_t good_ns; /* last check at which it was still there */
	/* Not 0: good_ns of a kernel that is gone, whose processes the thread has to
	 * end. */
	_Atomic uint64_t lost_ns;
	atomic_bool lost;   /* the kernel read last does not run any more */
	bool replaced;	    /* the last time, another kernel was seen instead */
	uint64_t change[2]; /* the last time: when it was still there, and when gone */

	/* All that was read.  The last one (n - 1) is current; the others may be in use
	 * by another thread, and are kept. */
	struct us_linux *read[US_KERNEL_MAX];
	_Atomic uint64_t ready_ns; /* when the first was taken into use; 0: not yet */
	atomic_uint n;
	/* If one is another kernel than the one before: since when; as `change`. */
	uint64_t since[US_KERNEL_MAX][2];

	/* kernel_alias.c: the sampler adds to them. */
	struct us_kernel_alias {
		us_gva start, end, at; /* at: of start in the kernel's image */
		unsigned number;       /* of the kernel in read */
	} alias[US_KERNEL_ALIASES];
	atomic_uint n_alias;
	us_gva alias_tried[US_KERNEL_ALIASES]; /* pages that were looked at */
	unsigned n_tried;

	struct us_linux_source source;
	const struct us_elf_image *file[US_MAX_IMAGES]; /* for the source */
	struct us_mem mem;				/* for the thread */
	pthread_t thread;
	sem_t wake, done, served;
	_Atomic uint64_t start_ns; /* of the recording, host's clock; 0: not yet */
	struct us_processes processes;
	struct us_waits waits;
	atomic_bool quit;
	bool started;

	struct {
		atomic_int state; /* enum in kernel.c */
		us_gva va;
		void *buf;
		size_t len;
		bool ok;
	} ask;

	/* For the writer's thread. */
	unsigned named; /* generation of the names that it uses */
	bool ready_told;
	atomic_bool last_time;
	us_gva *told; /* hash set of functions already written */
	size_t n_told, n_slot;
};

/* Call it after rights were dropped.  b is open and another thread samples with it.
 * The thread reads the images' DWARF until us_kernel_stop(): do not look up lines
 * before.  -ENOMEM, -EAGAIN. */
US_MUST_CHECK int us_kernel_open(struct us_kernel *k, struct us_images *i,
				 const struct us_backend *b, struct us_err *e);
/* Call it before the backend is closed, because it reads memory through it. */
void us_kernel_stop(struct us_kernel *k);
/* Call it before closing the images, because the unwinder has what was read.  Accepts a
 * zeroed one. */
void us_kernel_close(struct us_kernel *k);

/*
 * Call it before the recording: sample the guest until its kernel was read, or does not
 * seem to exist, so that the first stack is as complete as the last.  This takes a few
 * samples, usually half a second, at most US_KERNEL_ATTACH_NS.  Errors are ignored
 * here: they occur again during the recording.  False: the time ran out.
 */
#define US_KERNEL_ATTACH_NS (5 * UINT64_C(1000000000))
bool us_kernel_attach(struct us_kernel *k, struct us_backend *b, uint64_t vcpu_mask);

/* In the sampler, while a capture is held. */
void us_kernel_sample(struct us_kernel *k, const struct us_live_sample *l);
/* The same, called last: the thread that the vCPU runs, as us_record_opts.task. */
uint64_t us_kernel_task(struct us_kernel *k, const struct us_live_sample *l);
/* Is something being read, or was it read but not yet taken into use? */
bool us_kernel_pending(const struct us_kernel *k);
/* May the next sample show where the kernel is, although those so far did not?  On some
 * processors a program's samples do not. */
bool us_kernel_unseen(const struct us_kernel *k);
/* Wait until the thread has read, if it can read without the sampler: at most 20 s, for
 * a busy host. */
void us_kernel_wait(struct us_kernel *k);

/* Call it after the last sample: the unwinder gets what was read since.  If all vCPUs
 * sleep, no sample has done this. */
void us_kernel_use(struct us_kernel *k);

/* In the writer's thread, after the last sample: read the processes once more; waits as
 * long. */
void us_kernel_finish(struct us_kernel *k);

/* Why the kernel's tasks cannot be read, in words; NULL: they can. */
const char *us_kernel_no_tasks(const struct us_kernel *k);
/* Why data that seems to be missing from a kernel may exist: it was not read
 * completely.  NULL: it was. */
const char *us_kernel_unfinished(const struct us_linux *l);

/* The kernel that was read last; NULL: none, or it does not run any more. */
const struct us_linux *us_kernel_linux(const struct us_kernel *k);
/* In a sample, with a kernel in use: is its pc in a page of the kernel's image that is
 * mapped elsewhere, too?  That is noted, once for each page. */
void us_kernel_look_for_alias(struct us_kernel *k, const struct us_live_sample *l);
/* The function there, which may be "[kernel entry]"; number: of the kernel in k->read.
 * Any thread. */
bool us_kernel_alias_name(const struct us_kernel *k, unsigned number, us_gva pc,
			  struct us_linux_name *ret);
/* A us_symbol_namer callback; ctx: the struct us_kernel. */
bool us_kernel_name(void *ctx, us_gva pc, struct us_symbol_name *ret);

/* In the writer's thread: write facts and names of what was read since the last call.
 * 0 or -errno, which the writer's next call also returns. */
int us_kernel_write(struct us_kernel *k, struct us_writer *w);

#endif
