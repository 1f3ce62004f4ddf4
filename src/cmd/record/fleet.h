/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fleet.h: guests that are recorded at the same time, each in a thread of its own.
 *
 *	us_fleet_init()
 *	us_fleet_look()    now and then: take up the guests of this host; or
 *	us_fleet_target()  one that the user named
 *	us_fleet_wait()    until something happens, or it is time
 *	us_fleet_heed()    tell what has begun or ended
 *	us_fleet_fini()    once stop is set and us_fleet_heed() has found all ended
 *
 * A guest that ends, fails or is slow does not concern the others.  All functions are
 * for one thread, which keeps its rights; the callbacks come in it, but for open().
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
	/* The backend is open: open r->output.  In the member's thread. */
	int (*open)(struct us_member *m, struct us_err *e);
	/* The recording has begun. */
	void (*begun)(struct us_member *m);
	/* It is over, and r goes after this; recorded, code and e say how. */
	void (*ended)(struct us_member *m);
	/* Nothing was recorded of it, and it will not be tried again: code and e. */
	void (*refused)(struct us_member *m);
};

enum us_member_state { US_MEMBER_TRIES, US_MEMBER_RECORDS, US_MEMBER_ENDED };

/* A guest that is, or was, recorded, or that cannot be. */
struct us_member {
	struct us_fleet *fleet;
	void *user;		/* the owner's */
	struct us_vmm_cpu cpu;	/* the owner's to renew */
	struct us_recording *r; /* NULL: it has ended */
	pthread_t thread;
	atomic_int state; /* enum us_member_state; the thread's, until it has ended */
	struct us_backend backend; /* as it was opened: what it is and can */
	bool told;		   /* the owner, that it is recorded */
	bool recorded, refused;
	bool first; /* it was there at the beginning */
	bool named; /* by the user: tried once */
	unsigned tries;
	pid_t pid;
	uint64_t start_time;
	char name[sizeof(((struct us_guest *)0)->name)];
	char text[US_ENDPOINT_SIZE];
	char path[US_STORE_MAX_PATH]; /* open()'s, with the fleet's lock */
	struct us_record_stats sums;  /* with the fleet's lock */
	struct us_summary summary;
	char end_words[sizeof(((struct us_err *)0)->msg)];
	int code; /* of its thread */
	struct us_err e;
};

struct us_fleet {
	/* Set by the caller, besides zeroing all. */
	const struct us_record_settings *set;
	const struct us_fleet_ops *ops;
	const atomic_bool *stop;
	uint64_t end_ns;     /* recordings of guests that come later end then, too;
				UINT64_MAX: until stopped */
	sigset_t sleep_mask; /* of signals, while it waits */

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

/* first: they were there at the beginning. */
US_MUST_CHECK int us_fleet_look(struct us_fleet *f, bool first, struct us_err *e);
/* text: as for us_target_resolve(). */
US_MUST_CHECK int us_fleet_target(struct us_fleet *f, const char *text,
				  struct us_member **ret, struct us_err *e);
/* Until a member's state changes, a signal comes, or it is time; or fd (-1: none) can
 * be read: true. */
bool us_fleet_wait(struct us_fleet *f, uint64_t until_ns, int fd);
void us_fleet_heed(struct us_fleet *f);
bool us_fleet_is_over(const struct us_fleet *f);

/* For open(): the member's output is a file in this folder with the guest's name, which
 * no other of the fleet has; that of an earlier recording is kept. */
US_MUST_CHECK int us_fleet_open_in(struct us_member *m, const char *dir,
				   struct us_err *e);
/* Such a folder, unless it is there. */
US_MUST_CHECK int us_fleet_make_dir(const char *dir, struct us_err *e);

/* SIGINT, SIGTERM and SIGHUP set *stop and come to this thread alone, and only while it
 * waits: ret_mask is for us_fleet.sleep_mask. */
void us_fleet_catch_signals(sigset_t *ret_mask, void (*handler)(int sig));

#endif
