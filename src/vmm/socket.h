/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket.h: connect to a monitor or a stub.
 */
#ifndef US_VMM_SOCKET_H
#define US_VMM_SOCKET_H

#include "base/err.h"

/*
 * Connect to "/path" or "host:port" ("[::1]:port", and ":port" for this host) within
 * timeout_ms.  Returns a blocking, close-on-exec fd that the caller owns, or -errno:
 * -EINVAL and -ENAMETOOLONG: this cannot be an endpoint, -ETIMEDOUT, -ECONNREFUSED,
 * -ENOENT, -EACCES, ... of connect(2).  A name is resolved (getaddrinfo), which may
 * take longer than timeout_ms; a number is not.
 */
US_MUST_CHECK int us_socket_connect(const char *endpoint, unsigned timeout_ms,
				    struct us_err *e);

/*
 * Is there a socket at this path?  what: "the monitor's socket", for the message.
 * -ENOENT: there is none; -EACCES: this user may not connect to it.
 */
US_MUST_CHECK int us_socket_find(const char *path, const char *what, struct us_err *e);

#endif
