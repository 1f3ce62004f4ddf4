/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fleet.h: guests that are recorded at the same time, each in its own thread.
 *
 * us_fleet_init()
 * us_fleet_look()    now and then: attach new guests of this host; or
 * us_fleet_target()  one that the user named
 * us_fleet_wait()    until something happens, or it is time
 * us_fleet_heed()    report what has begun or ended
 * us_fleet_fini()    once stop is set and us_fleet_heed() has found all ended
 *
 * A guest that ends, fails or is slow does not affect the others.  Call all functions
 * from one thread, which keeps its rights.  It also runs the callbacks, except open().
 */
#ifndef US_CMD_FLEET_H
#define US_CMD_FLEET_H

#include "cmd/record/one.h"
#include "cmd/vmm_cpu.h"
#include "vmm/guest_watch.h"

#include <pthread.h>
#include <signal.h>

struct us_member;

struct us_fleet_ops {
	/* Called when the backend is open, in the member's thread: open r->output. */
	int (*open)(struct us_member *m, struct us_err *e);
	/* The recording has begun. */
	void (*begun)(struct us_member *m);
	/* The recording has ended; r is freed after this.  recorded, code and e say how
	 * it ended. */
	void (*ended)(struct us_member *m);
	/* Nothing was recorded, and it will not be tried again: see code and e. */
	void (*refused)(struct us_member *m);
};

enum us_member_state { US_MEMBER_TRIES, US_MEMBER_RECORDS, US_MEMBER_ENDED };

/* A guest that is or was recorded, or that cannot be. */
struct us_member {
	struct us_fleet *fleet;
	void *user;		/* for the fleet's owner */
	struct us_vmm_cpu cpu;	/* the owner updates it */
	struct us_recording *r; /* NULL: it has ended */
	pthread_t thread;
	/* enum us_member_state; set by the thread until it has ended. */
	atomic_int state;
	struct us_backend backend; /* copy of the opened backend: its properties */
	bool told;		   /* begun() was called */
	bool recorded, refused;
	bool first; /* existed at the beginning */
	bool named; /* named by the user: tried only once */
	unsigned tries;
	pid_t pid;
	uint64_t start_time;
	char name[sizeof(((struct us_guest *)0)->name)];
	char text[US_ENDPOINT_SIZE];
	char path[US_STORE_MAX_PATH]; /* set by open(), with the fleet's lock */
	struct us_record_stats sums;  /* with the fleet's lock */
	struct us_summary summary;
	char end_words[sizeof(((struct us_err *)0)->msg)];
	int code; /* its thread's result */
	struct us_err e;
};

struct us_fleet {
	/* Set by the caller; the rest is zero. */
	const struct us_record_settings *set;
	const struct us_fleet_ops *ops;
	const atomic_bool *stop;
	/* Recordings of later guests also end then; UINT64_MAX: until stopped. */
	uint64_t end_ns;
	sigset_t sleep_mask; /* signal mask while it waits */

	struct us_guest_watch watch;
	struct {
		struct us_member **v;
		size_t n, cap;
	} members;
	unsigned n_running;
	int wake_fd; /* an eventfd: the state of a member has changed */
	pthread_mutex_t lock;
};

US_MUST_CHECK int us_fleet_init(struct us_fleet *f, struct us_err *e);
void us_fleet_fini(struct us_fleet *f); /* accepts one whose init failed */

/* first: these guests existed at the beginning. */
US_MUST_CHECK int us_fleet_look(struct us_fleet *f, bool first, struct us_err *e);
/* text: as for us_target_resolve(). */
US_MUST_CHECK int us_fleet_target(struct us_fleet *f, const char *text,
				  struct us_member **ret, struct us_err *e);
/* Wait until a member's state changes, a signal arrives, or until_ns.  True: fd (-1:
 * none) became readable. */
bool us_fleet_wait(struct us_fleet *f, uint64_t until_ns, int fd);
void us_fleet_heed(struct us_fleet *f);
bool us_fleet_is_over(const struct us_fleet *f);

/* For open(): open the member's output file in this folder, with the guest's name,
 * which no other member of the fleet has.  An earlier recording's file is kept. */
US_MUST_CHECK int us_fleet_open_in(struct us_member *m, const char *dir,
				   struct us_err *e);
/* Create such a folder, unless it exists. */
US_MUST_CHECK int us_fleet_make_dir(const char *dir, struct us_err *e);

/* Have the signals of end_signals.h call the handler.  Only this thread gets them, and
 * only while it waits; use ret_mask as us_fleet.sleep_mask. */
void us_fleet_catch_signals(sigset_t *ret_mask, void (*handler)(int sig));

#endif
