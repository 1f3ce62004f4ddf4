/* SPDX-License-Identifier: GPL-2.0-or-later */
/* address.c: see address.h. */
#include "http/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool parse_port(const char *text, uint16_t *ret)
{
	size_t n = strspn(text, "0123456789");
	if (!n || n > 5 || text[n] || strtoul(text, NULL, 10) > UINT16_MAX)
		return false;
	*ret = (uint16_t)strtoul(text, NULL, 10);
	return true;
}

static bool set_v6(struct us_http_address *a, const char *host, uint16_t port)
{
	struct sockaddr_in6 *in6 = (void *)&a->sa;
	a->len = sizeof(*in6);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
}

static bool set_v4(struct us_http_address *a, const char *host, uint16_t port)
{
	struct sockaddr_in *in = (void *)&a->sa;
	bool local = !*host || !strcasecmp(host, "localhost");
	a->len = sizeof(*in);
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	return inet_pton(AF_INET, local ? "127.0.0.1" : host, &in->sin_addr) == 1;
}

int us_http_address_parse(const char *text, struct us_http_address *ret,
			  struct us_err *e)
{
	char host[US_HTTP_ADDRESS_MAX] = "";
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	uint16_t port;
	*ret = (struct us_http_address){ 0 };
	bool ok = n < sizeof(host) && parse_port(colon ? colon + 1 : text, &port);
	if (ok) {
		memcpy(host, text, n);
		bool v6 = n > 2 && host[0] == '[' && host[n - 1] == ']';
		if (v6)
			host[n - 1] = '\0';
		ok = v6 ? set_v6(ret, host + 1, port) : set_v4(ret, host, port);
	}
	if (ok)
		return 0;
	us_fail(e, -EINVAL, "listen on %s: this is not an address with a port", text);
	us_hint(e, "127.0.0.1:9090, [::1]:9090, or :0 for any free port");
	return -EINVAL;
}

bool us_http_address_is_loopback(const struct us_http_address *a)
{
	const struct sockaddr_in *in = (const void *)&a->sa;
	const struct sockaddr_in6 *in6 = (const void *)&a->sa;
	if (a->sa.ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

void us_http_address_text(const struct us_http_address *a,
			  char ret[static US_HTTP_ADDRESS_MAX])
{
	const struct sockaddr_in *in = (const void *)&a->sa;
	const struct sockaddr_in6 *in6 = (const void *)&a->sa;
	bool v6 = a->sa.ss_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "?";
	inet_ntop(a->sa.ss_family,
		  v6 ? (const void *)&in6->sin6_addr : (const void *)&in->sin_addr,
		  host, sizeof(host));
	snprintf(ret, US_HTTP_ADDRESS_MAX, v6 ? "[%s]:%u" : "%s:%u", host,
		 ntohs(v6 ? in6->sin6_port : in->sin_port));
}
