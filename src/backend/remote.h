/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote.h: the common part of backends that talk to a peer in the VMM: the guest
 * behind the peer, its memory, and stops of all its vCPUs.  The backend adds the
 * conversation.
 */
#ifndef US_BACKEND_REMOTE_H
#define US_BACKEND_REMOTE_H

#include "backend/backend.h"
#include "backend/peer_ram.h"
#include "backend/whole_stop.h"
#include "guest/acpi_sleep.h"

/* Embedded first in the backend's own struct. */
struct us_remote {
	struct us_backend base;
	struct us_guest guest; /* pid 0: not known */
	struct us_peer_ram ram;
	struct us_whole_stop stop;
	struct us_acpi_sleep acpi_sleep;
};

/* Setup path: fill in the guest: the one that the target names, or else the process at
 * the other end of the socket. */
void us_remote_learn_guest(struct us_remote *r, const struct us_target *t, int fd);
/* Call it once memory, arch and n_vcpu are known: sets the rest of base (except how)
 * and how to stop the guest.  ops get the backend as ctx. */
void us_remote_describe(struct us_remote *r, enum us_accel accel,
			const struct us_whole_stop_ops *ops);

/* Between samples: is the guest about to suspend (S3)?  QEMU before 9.0 aborts if it is
 * stopped just then: it knows no way from paused to suspended (runstate_set()). */
bool us_remote_suspends(struct us_remote *r);

/* Members of us_backend_ops. */
US_MUST_CHECK int us_remote_start(struct us_backend *b, const struct us_schedule *s,
				  struct us_err *e);
int us_remote_next(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c);
void us_remote_release(struct us_backend *b, struct us_capture *c);
void us_remote_let_go(struct us_backend *b);
void us_remote_counts(const struct us_backend *b, struct us_backend_counts *ret);
void us_remote_gathers(const struct us_backend *b, char *ret, size_t size);

/* Frees memory and stops; the caller frees r itself. */
void us_remote_close(struct us_remote *r);

#endif
