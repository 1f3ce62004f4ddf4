/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb/detach.h: detach from a guest behind a GDB stub, whatever state the conversation
 * is in.
 */
#ifndef US_BACKEND_GDB_DETACH_H
#define US_BACKEND_GDB_DETACH_H

#include "backend/gdb/session.h"
#include "base/clock.h"

#include <stdatomic.h>

#define US_GDB_PATIENCE_NS (500 * US_NS_PER_MS) /* for a caller that waits for it */

/* A page shared with the watchdog: what it must know to let the guest go. */
struct us_gdb_shared {
	atomic_bool paused; /* paused by its owner: not to be resumed */
	atomic_bool qemu;
	atomic_bool no_ack;  /* the watchdog need not and must not acknowledge */
	atomic_bool watched; /* the connection has its watchdog */
	char detach[32];     /* the packet that detaches; "" until it is known */
};

void us_gdb_set_run(struct us_gdb_session *s, enum us_gdb_run run);

/*
 * Make sure that QEMU's guest is stopped, since while it runs the stub takes any byte
 * for a request to stop, and that no reply is under way.  *stopped: our request stopped
 * it.  False if the stub did not answer.
 */
bool us_gdb_halt_qemu(struct us_gdb *g, uint64_t patience_ns, bool *stopped);

/*
 * Detach, so that the guest runs (or stays paused, if it was).  patience_ns: how long
 * to wait for each of two answers.  If somebody else resumed the guest meanwhile, the
 * request is repeated at once.  False if the stub did not confirm.
 */
bool us_gdb_let_go(struct us_gdb *g, struct us_gdb_shared *shared,
		   uint64_t patience_ns);

/* The same, in the watchdog, whom nobody waits for: if QEMU itself is stopped or has no
 * CPU, this waits until QEMU answers or has ended. */
bool us_gdb_rescue(struct us_gdb *g, struct us_gdb_shared *shared);

/* For a stub that does not answer: leave the guest to the watchdog.  It waits longer
 * and keeps the connection open; if that were closed, QEMU would lose what it has not
 * read.  Nothing is sent afterwards. */
void us_gdb_session_leave(struct us_gdb_session *s);

/* us_gdb_let_go(), or if that fails us_gdb_session_leave(); nothing is sent afterwards.
 */
void us_gdb_session_let_go(struct us_gdb_session *s);

#endif
