/* SPDX-License-Identifier: GPL-2.0-or-later */
/* origin.c: see origin.h. */
#include "http/origin.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 64

bool us_http_host_is_ours(const char *host)
{
	char name[HOST_MAX], address[16];
	if (!host)
		return true;
	bool v6 = *host == '[';
	size_t n = strcspn(host + v6, v6 ? "]" : ":");
	const char *rest = host + v6 + n;
	if (n >= sizeof(name) || (v6 && *rest++ != ']'))
		return false;
	memcpy(name, host + v6, n);
	name[n] = '\0';
	if (!strcasecmp(name, "localhost."))
		name[n - 1] = '\0';
	if (*rest == ':')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (*rest)
		return false;
	if (v6)
		return inet_pton(AF_INET6, name, address) == 1;
	return !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, address) == 1;
}

/* A name may end with the dot of the DNS root. */
static size_t without_dot(const char *name, size_t n)
{
	return n > 1 && name[n - 1] == '.' ? n - 1 : n;
}

bool us_http_host_is_named(const char *host, const char *name)
{
	size_t end = host ? strcspn(host, ":") : 0;
	size_t n = end ? without_dot(host, end) : 0;
	if (!n || without_dot(name, strlen(name)) != n ||
	    strncasecmp(host, name, n) != 0)
		return false;
	return !host[end] || !host[end + 1 + strspn(host + end + 1, "0123456789")];
}

const char *us_http_target_path(const char *target, char *host, size_t size)
{
	static const char scheme[] = "http://";
	size_t n = strlen(scheme);
	host[0] = '\0';
	if (strncasecmp(target, scheme, n) != 0)
		return target;
	target += n;
	n = strcspn(target, "/");
	if (!n || n >= size)
		return NULL;
	memcpy(host, target, n);
	host[n] = '\0';
	return target[n] ? target + n : "/";
}

bool us_http_origin_is_ours(const char *host, const char *origin,
			    const char *sec_fetch_site)
{
	static const char scheme[] = "http://";
	size_t n = strlen(scheme);
	if (sec_fetch_site && strcmp(sec_fetch_site, "same-origin") &&
	    strcmp(sec_fetch_site, "none"))
		return false;
	if (!origin)
		return true;
	return host && !strncmp(origin, scheme, n) && !strcasecmp(origin + n, host);
}

bool us_http_sender_is_ours(const struct us_http_sender *s)
{
	bool follows = s->mode && s->dest && !strcmp(s->mode, "navigate") &&
		       !strcmp(s->dest, "document");
	return us_http_origin_is_ours(s->host, s->origin, follows ? NULL : s->site);
}
