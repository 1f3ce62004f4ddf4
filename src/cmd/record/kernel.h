/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.h: the names, rules and modules of a Linux guest, out of its memory.
 *
 * Three threads share the work.  The sampler sees where the kernel lies, while a
 * capture is held, and later gives the unwinder what was read.  A thread of its own
 * reads, 0.1 to 0.4 s, while the guest runs; only where a stub reads it asks the
 * sampler for each piece.  The writer's thread asks for the names of what was sampled.
 *
 * A kernel is read again if code runs where modules are and none is known.  Some times
 * a second a piece of it is looked at: if it has changed, another kernel runs by now,
 * or the same was started anew.  From the last look at which all was as it had been
 * nothing is known of processes until the other one was read.
 */
#ifndef US_CMD_KERNEL_H
#define US_CMD_KERNEL_H

#include "cmd/record/images.h"
#include "cmd/record/processes.h"
#include "cmd/record/waits.h"
#include "linux/linux.h"

#include <pthread.h>
#include <semaphore.h>

#define US_KERNEL_MAX 12 /* times that a kernel is read */

enum us_kernel_state {
	US_KERNEL_WANTED, /* samples search for it */
	US_KERNEL_READ,	  /* the thread reads */
	US_KERNEL_READY,  /* a sample has to take what was read */
	US_KERNEL_IN_USE,
	US_KERNEL_NONE, /* this is no Linux, or we tried often enough */
};

struct us_kernel {
	struct us_images *images;
	atomic_int state; /* enum us_kernel_state */
	unsigned failed;  /* times that nothing was found */
	uint64_t next_ns, pause_ns, check_ns;
	struct us_code_map map;
	unsigned doubts;
	uint64_t drawn;		  /* as us_linux.drawn, of the one in use */
	uint64_t good_ns;	  /* when it was looked at last, and was still there */
	_Atomic uint64_t lost_ns; /* not 0: good_ns of one that is not there any more,
				     whose processes the thread has to end */
	atomic_bool lost;	  /* what was read last runs no more */
	bool replaced;		  /* another was seen in its place, the last time */
	uint64_t change[2];	  /* the last time: when it was there, and was gone */

	/* All that was read, and which of it holds: n - 1; the others may be in use by
	 * another thread, and are kept. */
	struct us_linux *read[US_KERNEL_MAX];
	_Atomic uint64_t ready_ns; /* when the first was taken; 0: not yet */
	atomic_uint n;
	/* Where one is of another kernel than that before it: since when, see change.
	 */
	uint64_t since[US_KERNEL_MAX][2];

	struct us_linux_source source;
	const struct us_elf_image
		*file[US_MAX_IMAGES]; /* the images', for the source */
	struct us_mem mem;	      /* the thread's own */
	pthread_t thread;
	sem_t wake, done, served;
	_Atomic uint64_t
		start_ns; /* of the recording, on the host's clock; 0: not yet */
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

	/* Of the writer's thread. */
	unsigned named; /* generation that it names by */
	bool ready_told;
	atomic_bool last_time;
	us_gva *told; /* hash set of functions */
	size_t n_told, n_slot;
};

/* After rights were dropped.  b is open, and looked at by another thread.  The images'
 * DWARF is read by the thread until us_kernel_stop(): no lines are looked up before.
 * -ENOMEM, -EAGAIN. */
US_MUST_CHECK int us_kernel_open(struct us_kernel *k, struct us_images *i,
				 const struct us_backend *b, struct us_err *e);
/* Before the backend, whose memory is read, is closed. */
void us_kernel_stop(struct us_kernel *k);
/* Before the images, for the unwinder knows what was read. Accepts a zeroed one. */
void us_kernel_close(struct us_kernel *k);

/*
 * Before the recording: sample the guest until its kernel was read, or seems not to be
 * there, so that the first stack is as whole as the last.  A few samples, half a second
 * mostly, US_KERNEL_ATTACH_NS at most.  What goes wrong will go wrong again when it is
 * recorded.  False: the time was up before either.
 */
#define US_KERNEL_ATTACH_NS (5 * UINT64_C(1000000000))
bool us_kernel_attach(struct us_kernel *k, struct us_backend *b, uint64_t vcpu_mask);

/* In the sampler, while a capture is held. */
void us_kernel_sample(struct us_kernel *k, const struct us_live_sample *l);
/* The same, last: which thread the vCPU runs, as us_record_opts.task has it. */
uint64_t us_kernel_task(struct us_kernel *k, const struct us_live_sample *l);
/* Is something being read, or read and not yet taken? */
bool us_kernel_pending(const struct us_kernel *k);
/* Wait until the thread has read, if it can without the sampler: at most 20 s,
 * for a busy host. */
void us_kernel_wait(struct us_kernel *k);

/* When the last sample was taken: what was read since serves the unwinder, too.  Where
 * the vCPUs sleep, no sample has come for it. */
void us_kernel_use(struct us_kernel *k);

/* In the writer's thread, when the last sample was taken: its processes once more;
 * waits as long. */
void us_kernel_finish(struct us_kernel *k);

/* Why its tasks cannot be read, in words; NULL: they can. */
const char *us_kernel_no_tasks(const struct us_kernel *k);
/* Of a kernel that was read, why what it lacks may be there; NULL: it is not. */
const char *us_kernel_unfinished(const struct us_linux *l);

/* The kernel that was read last; NULL: none, or it runs no more. */
const struct us_linux *us_kernel_linux(const struct us_kernel *k);
/* A us_symbol_namer's: ctx is the struct. */
bool us_kernel_name(void *ctx, us_gva pc, struct us_symbol_name *ret);

/* In the writer's thread: facts and names of what was read since the last time.
 * 0 or -errno, of which the writer's next call tells too. */
int us_kernel_write(struct us_kernel *k, struct us_writer *w);

#endif
