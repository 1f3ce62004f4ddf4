/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h: a recording that is still being made, as profiles of any span of its time.
 *
 *	us_live_open()      on the file that a recording (record/record.h) grows in
 *	us_live_follow()    now and then: take in what was appended
 *	us_live_profile()   the last seconds, since the start, or from one time to
 *another us_live_vcpus()     what each vCPU did in it us_live_close()
 *
 * A profile is what `report` makes of the same samples: names, intervals, warnings.  It
 * is made of samples in memory if they are still there, else the file is read again.
 * To ask for a profile each second of the whole time of a long recording is dear, and
 *of little use: it changes ever more slowly.
 *
 * The recording is made by other threads, which know nothing of this.  All functions
 * here, and the profiles that they give (they share names), are for one thread at a
 * time; it need not be the one that opened it.
 *
 * Memory is bounded, however long it takes and whatever the guest does: samples of
 * keep_ns, at most US_LIVE_SAMPLES, 24 bytes each; as many looks at tasks that waited
 * (record --tasks), and who they were; and the last US_LIVE_NODES nodes of
 * stacks, 24 bytes each, which is twice what a writer remembers: a sample whose stack
 *is older has none.  Besides a byte for each node that the file has (store/store.h),
 *and the names, and what the recording says of processes and threads.
 */
#ifndef US_LIVE_LIVE_H
#define US_LIVE_LIVE_H

#include "profile/profile.h"

#define US_LIVE_KEEP_NS (60 * 1000000000ULL)
#define US_LIVE_SAMPLES (1U << 20)
#define US_LIVE_NODES	(1U << 20)

struct us_live;

/* All is copied but what images and dirs point to, which must stay. */
struct us_live_opts {
	uint64_t keep_ns; /* the longest window that is quick; 0: US_LIVE_KEEP_NS */
	const char *const *images; /* the rest: as in us_profile_opts */
	size_t n_image;
	struct us_debug_dirs dirs;
	bool raw_names, host;
};

/* What of it is looked at.  Zeroed: all of it. */
struct us_live_view {
	uint64_t last_ns;	 /* the last so many, up to now; 0: these: */
	uint64_t from_ns, to_ns; /* of the recording; to 0: now */
	uint64_t vcpu_mask;	 /* the rest: as in us_profile_opts */
	const char *focus;
	enum us_profile_part part;
	bool by_vcpu, by_time, no_intervals;
	/* The same of a Linux guest: whose samples are. */
	bool processes, if_known; /* to be told; that, if it is known */
	/* What tasks waited for, in place of samples: the vCPUs, by_time, processes and
	 * roots above are not of these, and have no effect. */
	bool waits;
	enum us_profile_by roots;
	const struct us_profile_opts *only; /* its filter and pid; NULL: all */
};

/* What a vCPU did, by weights of samples. */
struct us_live_vcpu {
	bool seen; /* at any time; else all is 0 */
	/* In the view: */
	uint64_t guest, idle, ready, off;
	uint64_t exit; /* all of: */
	uint64_t exit_for[US_N_EXIT][US_N_PLACE], exit_untold;
	/* Of its last sample, even if that is older: */
	uint64_t t_ns;
	enum us_vcpu_state state;
};

/* fd: of a regular file, which is opened anew for reading from its first byte on: it
 * need not have a name, nor a byte yet.  -errno: it cannot be opened. */
US_MUST_CHECK int us_live_open(int fd, const struct us_live_opts *o,
			       struct us_live **ret, struct us_err *e);
void us_live_close(struct us_live *l); /* accepts NULL; profiles may be freed later */

/* Take in what was appended.  0, also if that was nothing; else as us_reader_follow(),
 * and what was read before is still there to be looked at. */
US_MUST_CHECK int us_live_follow(struct us_live *l, struct us_err *e);

/* The time of the recording up to which it was taken in. */
uint64_t us_live_now_ns(const struct us_live *l);
uint64_t us_live_bytes(const struct us_live *l); /* and up to where in the file */
const struct us_record_stats *us_live_stats(const struct us_live *l);
/* Is it over?  Then how it ended, and words about that, which may be "". */
bool us_live_ended(const struct us_live *l, enum us_record_end *ret_end,
		   const char **ret_words);
/* Were tasks looked at while they waited?  What became of that, so far. */
bool us_live_waits_known(const struct us_live *l);
const struct us_wait_stats *us_live_wait_stats(const struct us_live *l);
/* Does it tell of processes or threads? */
bool us_live_owners_known(const struct us_live *l);
const char *us_live_fact(const struct us_live *l, const char *key); /* or NULL */
unsigned us_live_n_vcpu(const struct us_live *l); /* known of: highest + 1 */

/*
 * The profile of a view.  It may have no samples: then there are no functions in it,
 * and a warning says so.  Errors are those of us_profile_read().
 */
US_MUST_CHECK int us_live_profile(struct us_live *l, const struct us_live_view *v,
				  struct us_profile **ret, struct us_err *e);

/* What each vCPU does in a view, of those that are in memory: ret[vCPU], of n.  (Idle
 * is a vCPU that has halted; that its stack shows a loop that waits, a profile alone
 * knows.) */
void us_live_vcpus(const struct us_live *l, const struct us_live_view *v,
		   struct us_live_vcpu *ret, unsigned n);

/* Where a vCPU is now: a profile of its last sample alone; the tree is one path, and
 * empty if it was idle.  -ENOENT: there is no sample of it. */
US_MUST_CHECK int us_live_stack(struct us_live *l, unsigned vcpu,
				struct us_profile **ret, struct us_err *e);

/* Write what was taken in to a file, as a recording of its own that has an end. */
US_MUST_CHECK int us_live_save(const struct us_live *l, int fd, struct us_err *e);

#endif
