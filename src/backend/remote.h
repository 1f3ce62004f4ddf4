/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote.h: what a backend that talks to a peer in the VMM has besides its
 * conversation: the guest behind it, its memory, and stops of all its vCPUs.
 */
#ifndef US_BACKEND_REMOTE_H
#define US_BACKEND_REMOTE_H

#include "backend/backend.h"
#include "backend/peer_ram.h"
#include "backend/whole_stop.h"

/* Embedded first in the backend's own struct. */
struct us_remote {
	struct us_backend base;
	struct us_guest guest; /* pid 0: not known */
	struct us_peer_ram ram;
	struct us_whole_stop stop;
};

/* Setup path: the guest that the target names, or whose process has the other end of
 * the socket. */
void us_remote_learn_guest(struct us_remote *r, const struct us_target *t, int fd);
/* Once memory, arch and n_vcpu are known: the rest of base but how, and how to stop;
 * ops get the backend as ctx. */
void us_remote_describe(struct us_remote *r, enum us_accel accel,
			const struct us_whole_stop_ops *ops);

/* Members of us_backend_ops. */
US_MUST_CHECK int us_remote_start(struct us_backend *b, const struct us_schedule *s,
				  struct us_err *e);
int us_remote_next(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c);
void us_remote_release(struct us_backend *b, struct us_capture *c);
void us_remote_counts(const struct us_backend *b, struct us_backend_counts *ret);
void us_remote_gathers(const struct us_backend *b, char *ret, size_t size);

/* Memory and stops; r itself is the caller's. */
void us_remote_close(struct us_remote *r);

#endif
