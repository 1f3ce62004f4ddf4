/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb_setup.h: what the two halves of a GDB session share. */
#ifndef US_BACKEND_GDB_SETUP_H
#define US_BACKEND_GDB_SETUP_H

#include "backend/gdb_session.h"

#include <stdatomic.h>

/* A page that the watchdog sees too; what it must know to let the guest go. */
struct us_gdb_shared {
	atomic_bool paused; /* by its owner: not to be resumed */
	atomic_bool qemu;
	atomic_bool no_ack;  /* the watchdog need not and must not acknowledge */
	atomic_bool watched; /* the connection has its watchdog */
	char detach[32];     /* the packet that detaches; "" until it is known */
};

void us_gdb_set_run(struct us_gdb_session *s, enum us_gdb_run run);

/*
 * Whatever state the conversation is in: detach, so that the guest runs on (or stays
 * paused, if it was).  patience_ns: how long to wait for each of at most four answers;
 * a request that somebody else's resuming has spoilt is made again at once.
 * False if the stub did not confirm.
 */
bool us_gdb_let_go(struct us_gdb *g, struct us_gdb_shared *shared,
		   uint64_t patience_ns);

/* The same for a session; nothing is sent afterwards. */
void us_gdb_session_let_go(struct us_gdb_session *s);

#endif
