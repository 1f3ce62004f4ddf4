/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb/detach.h: let go a guest behind a GDB stub, whatever state the conversation is
 * in.
 */
#ifndef US_BACKEND_GDB_DETACH_H
#define US_BACKEND_GDB_DETACH_H

#include "backend/gdb/session.h"
#include "base/clock.h"

#include <stdatomic.h>

#define US_GDB_PATIENCE_NS (500 * US_NS_PER_MS) /* of who waits for it */

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
 * Make sure that QEMU's guest stands, since a running one takes any byte for a request
 * to stop, and that no reply is under way.  *stopped: it stands by our request.  False
 * if the stub did not answer.
 */
bool us_gdb_halt_qemu(struct us_gdb *g, uint64_t patience_ns, bool *stopped);

/*
 * Detach, so that the guest runs on (or stays paused, if it was).  patience_ns: how
 * long to wait for each of two answers; a request that somebody else's resuming has
 * spoilt is made again at once.  False if the stub did not confirm.
 */
bool us_gdb_let_go(struct us_gdb *g, struct us_gdb_shared *shared,
		   uint64_t patience_ns);

/* The same by the watchdog, whom nobody waits for: a QEMU that is stopped itself, or
 * has no CPU, is waited for until it answers or has ended. */
bool us_gdb_rescue(struct us_gdb *g, struct us_gdb_shared *shared);

/* Of a stub that does not answer: the watchdog has more patience, and keeps the
 * connection, with which QEMU would forget what it has not read.  Nothing is sent
 * afterwards. */
void us_gdb_session_leave(struct us_gdb_session *s);

/* Let it go, or leave it; nothing is sent afterwards. */
void us_gdb_session_let_go(struct us_gdb_session *s);

#endif
