/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qmp.h: a client of QEMU's machine protocol (docs/interop/qmp-spec.txt).
 *
 * A peer may be anything that listens there: every reply is bounded in size and in
 * time, and is checked.  Events between replies are skipped.  QEMU serves one client
 * at a time: no greeting within the timeout means that somebody else holds it.
 */
#ifndef US_VMM_QMP_H
#define US_VMM_QMP_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct us_qmp;

/* endpoint: "/path" or "host:port", with or without "qmp:" before it. */
US_MUST_CHECK int us_qmp_open(const char *endpoint, struct us_qmp **ret,
			      struct us_err *e);
/* Speak on a connected socket (tests, fuzzing); owns fd. */
US_MUST_CHECK int us_qmp_open_fd(int fd, struct us_qmp **ret, struct us_err *e);
void us_qmp_close(struct us_qmp *q); /* accepts NULL */
int us_qmp_fd(const struct us_qmp *q);

/* Run a command; arguments (stolen) may be NULL.  *ret ("return" of the reply, a new
 * reference) may be NULL. -EPROTO: not QMP; -ETIMEDOUT; -EREMOTEIO: QEMU's error,
 * whose text is the message. */
US_MUST_CHECK int us_qmp_run(struct us_qmp *q, const char *command, json_t *arguments,
			     json_t **ret, struct us_err *e);

/* A command of the human monitor; text is NUL-terminated, cut at size. */
US_MUST_CHECK int us_qmp_human(struct us_qmp *q, const char *line, int cpu_index,
			       char *text, size_t size, struct us_err *e);

/* Pid of the peer: of a unix socket by SO_PEERCRED, of a loopback TCP connection by
 * the owner of the other end; 0 if it cannot be told. */
pid_t us_socket_peer_pid(int fd);

/* Connect to "/path" or "host:port" with a timeout, close-on-exec. fd or -errno. */
US_MUST_CHECK int us_socket_connect(const char *endpoint, unsigned timeout_ms,
				    struct us_err *e);

#endif
