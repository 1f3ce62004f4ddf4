/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h: profiles of any part of a recording that is still being made.
 *
 *	us_live_open()      on the file that the recording is written to
 *	us_live_follow()    now and then: read what was appended
 *	us_live_profile()   the last seconds, since the start, or between two times
 *	us_live_vcpus()     what each vCPU did in that time
 *	us_live_close()
 *
 * record/record.h makes the recording.  A profile is the same as `report` makes of the
 * same samples: names, intervals, warnings.  It is made from samples in memory if they
 * are still there; else the file is read again.  A profile of the whole time of a long
 * recording is expensive, and making one each second is of little use: it changes ever
 * more slowly.
 *
 * The recording is made by other threads, which know nothing of this.  All functions
 * here, and the profiles that they return (they share names), are for one thread at a
 * time; it need not be the one that opened it.
 *
 * Memory is bounded, however long it takes and whatever the guest does.  It holds
 *
 * - samples of keep_ns, at most US_LIVE_SAMPLES, 24 bytes each;
 * - as many samples of tasks that waited (record --tasks), and who they were;
 * - the last US_LIVE_NODES nodes of stacks, 24 bytes each, which is twice what a writer
 *   remembers: a sample with an older stack has none;
 * - a byte for each node in the file (store/store.h), the names, and what the recording
 *   says of processes and threads.
 */
#ifndef US_LIVE_LIVE_H
#define US_LIVE_LIVE_H

#include "profile/profile.h"

#define US_LIVE_KEEP_NS (60 * 1000000000ULL)
#define US_LIVE_SAMPLES (1U << 20)
#define US_LIVE_NODES	(1U << 20)

struct us_live;

/* Everything is copied, except what images and dirs point to, which must stay valid. */
struct us_live_opts {
	uint64_t keep_ns;	   /* the longest window that is served from memory; 0:
				      US_LIVE_KEEP_NS */
	const char *const *images; /* the rest: as in us_profile_opts */
	size_t n_image;
	struct us_debug_dirs dirs;
	bool raw_names, host;
};

/* The part of a recording to profile.  Zeroed: all of it. */
struct us_live_view {
	uint64_t last_ns; /* the last so many ns, up to now; 0: use the following */
	uint64_t from_ns, to_ns; /* times of the recording; to_ns 0: now */
	uint64_t vcpu_mask;	 /* the rest: as in us_profile_opts */
	const char *focus;
	enum us_profile_part part;
	bool by_vcpu, by_time, no_intervals;
	/* Also as in us_profile_opts: which processes of a Linux guest the samples
	 * belong to. */
	bool processes, if_known; /* show them; show them only if they are known */
	/* What tasks waited for, instead of samples: the vCPUs, by_time, processes and
	 * roots above have no effect then. */
	bool waits;
	enum us_profile_by roots;
	const struct us_profile_opts *only; /* its filter and pid; NULL: all */
};

/* What a vCPU did, in weights of samples. */
struct us_live_vcpu {
	bool seen; /* it was seen at some time; else all is 0 */
	/* In the view: */
	uint64_t guest, idle, ready, off;
	uint64_t exit; /* the sum of: */
	uint64_t exit_for[US_N_EXIT][US_N_PLACE], exit_untold;
	/* From its last sample, even if that is older: */
	uint64_t t_ns;
	enum us_vcpu_state state;
};

/* fd: a regular file, which is reopened for reading from its first byte on: it need not
 * have a name, nor any byte yet.  -errno: it cannot be opened. */
US_MUST_CHECK int us_live_open(int fd, const struct us_live_opts *o,
			       struct us_live **ret, struct us_err *e);
void us_live_close(struct us_live *l); /* accepts NULL; profiles may be freed later */

/* Read what was appended.  0, also if nothing was; else an error as from
 * us_reader_follow(), and what was read before remains available. */
US_MUST_CHECK int us_live_follow(struct us_live *l, struct us_err *e);

/* The time of the recording up to which it was read. */
uint64_t us_live_now_ns(const struct us_live *l);
uint64_t us_live_bytes(const struct us_live *l); /* and the position in the file */
const struct us_record_stats *us_live_stats(const struct us_live *l);
/* Is the recording over?  Then how it ended, and words about that, which may be "". */
bool us_live_ended(const struct us_live *l, enum us_record_end *ret_end,
		   const char **ret_words);
/* Were waiting tasks sampled?  us_live_wait_stats(): what became of that, so far. */
bool us_live_waits_known(const struct us_live *l);
const struct us_wait_stats *us_live_wait_stats(const struct us_live *l);
/* Does the recording contain processes or threads? */
bool us_live_owners_known(const struct us_live *l);
const char *us_live_fact(const struct us_live *l, const char *key); /* or NULL */
unsigned us_live_n_vcpu(const struct us_live *l); /* the highest known one + 1 */

/*
 * The profile of a view.  If it has no samples, it has no functions, and a warning says
 * so.  Errors are those of us_profile_read().
 */
US_MUST_CHECK int us_live_profile(struct us_live *l, const struct us_live_view *v,
				  struct us_profile **ret, struct us_err *e);

/* What each vCPU does in a view, from samples that are in memory: ret[vCPU], of n.
 * (Idle means that the vCPU is halted; only a profile recognizes a loop that waits by
 * its stack.) */
void us_live_vcpus(const struct us_live *l, const struct us_live_view *v,
		   struct us_live_vcpu *ret, unsigned n);

/* Where a vCPU is now: a profile of its last sample alone.  The tree is one path, and
 * empty if it was idle.  -ENOENT: there is no sample of it. */
US_MUST_CHECK int us_live_stack(struct us_live *l, unsigned vcpu,
				struct us_profile **ret, struct us_err *e);

/* Write what was read so far to a file, as a complete recording of its own. */
US_MUST_CHECK int us_live_save(const struct us_live *l, int fd, struct us_err *e);

#endif
