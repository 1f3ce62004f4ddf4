/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qmp.h: a client of QEMU's machine protocol (docs/interop/qmp-spec.txt).
 *
 * A peer may be anything that listens there: every reply is bounded in size (16 MiB)
 * and in time (2 s for the greeting, 5 s for a command), and is checked.  Events
 * between replies are skipped.  QEMU serves one client at a time: no greeting within
 * the timeout means that another client is connected.
 *
 * Commands are numbered, so that a reply that comes after its timeout is not taken for
 * that of the next command: after -ETIMEDOUT a `cont` can still be sent.  After a peer
 * broke the protocol or hung up, nothing more is sent to it: all later calls give
 * -EPROTO or -ECONNRESET at once.  The exception: a GDB stub, which stops its guest as
 * a client connects, is detached from before the connection is closed.
 */
#ifndef US_VMM_QMP_H
#define US_VMM_QMP_H

#include "base/err.h"
#include "vmm/socket.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct us_qmp;

/*
 * endpoint: "/path" or "host:port", with or without "qmp:" before it.  Errors: those
 * of us_socket_connect(); -EBUSY: no greeting, another client holds the monitor;
 * -EPROTO: what listens there does not speak QMP; -ECONNRESET: it hung up.
 */
US_MUST_CHECK int us_qmp_open(const char *endpoint, struct us_qmp **ret,
			      struct us_err *e);
/* Use a connected stream socket (tests); owns fd, also when it fails. */
US_MUST_CHECK int us_qmp_open_fd(int fd, struct us_qmp **ret, struct us_err *e);
void us_qmp_close(struct us_qmp *q); /* accepts NULL */
int us_qmp_fd(const struct us_qmp *q);

/*
 * Run a command; arguments (stolen, also on failure) may be NULL.  *ret ("return" of
 * the reply, a new reference) may be NULL.  -EPROTO: not QMP; -ETIMEDOUT;
 * -ECONNRESET: the peer hung up; -EREMOTEIO: QEMU's error, whose text is in the
 * message; -ENOMEM.  The command leaves in one send(): QEMU 7.2 reads it byte by
 * byte, 2.7 us each, so it is written without spaces.
 */
US_MUST_CHECK int us_qmp_run(struct us_qmp *q, const char *command, json_t *arguments,
			     json_t **ret, struct us_err *e);

/* A command of the human monitor, with the vCPU that it is about (-1: the default).
 * text is NUL-terminated, cut at size. */
US_MUST_CHECK int us_qmp_human(struct us_qmp *q, const char *line, int cpu_index,
			       char *text, size_t size, struct us_err *e);

#endif
