/* SPDX-License-Identifier: GPL-2.0-or-later */
/* address.h: where a server listens, as users write it. */
#ifndef US_HTTP_ADDRESS_H
#define US_HTTP_ADDRESS_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/socket.h>

#define US_HTTP_ADDRESS_MAX 64 /* bytes of its text */

struct us_http_address {
	struct sockaddr_storage sa;
	socklen_t len;
};

/* "127.0.0.1:9090", "[::1]:9090", "localhost:9090"; ":9090" or "9090" for the loopback
 * interface.  Port 0: any free one.  -EINVAL. */
US_MUST_CHECK int us_http_address_parse(const char *text, struct us_http_address *ret,
					struct us_err *e);
/* Can only programs on this machine connect to it? */
bool us_http_address_is_loopback(const struct us_http_address *a);
/* As in a URL. */
void us_http_address_text(const struct us_http_address *a,
			  char ret[static US_HTTP_ADDRESS_MAX]);

#endif
