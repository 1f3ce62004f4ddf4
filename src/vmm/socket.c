/* SPDX-License-Identifier: GPL-2.0-or-later */
/* socket.c: see socket.h. */
#include "vmm/socket.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static void hint_connect(struct us_err *e, int code)
{
	switch (code) {
	case -ENOENT:
	case -ECONNREFUSED:
		us_hint(e, "nothing listens there: 'uniscope ps' lists the monitors "
			   "and stubs of running guests");
		break;
	case -EACCES:
	case -EPERM:
		us_hint(e, "run as root or as the owner of the socket");
		break;
	}
}

static int fail_connect(struct us_err *e, int code, const char *endpoint)
{
	char shown[160];
	us_printable(shown, sizeof(shown), endpoint);
	if (code == -EAGAIN) {
		us_fail(e, -ETIMEDOUT,
			"connect to %s: others wait for it already, and it takes none",
			shown);
		return -ETIMEDOUT;
	}
	us_fail(e, code, "connect to %s: %s", shown, strerror(-code));
	hint_connect(e, code);
	return code;
}

/* connect(2) with a deadline; the fd is blocking again afterwards. */
static int connect_within(int fd, const struct sockaddr *to, socklen_t len,
			  uint64_t deadline_ns)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	int r = 0;
	if (connect(fd, to, len) < 0)
		r = -errno;
	/* A unix socket whose backlog is full gives EAGAIN, and no event follows. */
	if (r == -EAGAIN)
		return r;
	while (r == -EINPROGRESS || r == -EINTR) {
		uint64_t now = us_now_ns();
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		int ms = (int)((deadline_ns - now) / US_NS_PER_MS) + 1;
		if (poll(&p, 1, ms) <= 0)
			continue;
		int code = 0;
		socklen_t size = sizeof(code);
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
			return -errno;
		r = -code;
	}
	if (r == 0 && fcntl(fd, F_SETFL, flags) < 0)
		r = -errno;
	return r;
}

static int connect_unix(const char *path, uint64_t deadline_ns)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.sun_path, path, strlen(path) + 1);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int r = connect_within(fd, (struct sockaddr *)&a, sizeof(a), deadline_ns);
	return r < 0 ? r : us_take_fd(fd);
}

/* Cut "host:port" in two; "[v6]:port" too.  An empty host is this host. */
static int split_host_port(const char *endpoint, char *host, size_t size,
			   const char **port)
{
	const char *colon = strrchr(endpoint, ':');
	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return -EINVAL;
	size_t n = (size_t)(colon - endpoint);
	if (n >= 2 && endpoint[0] == '[' && endpoint[n - 1] == ']') {
		endpoint++;
		n -= 2;
	}
	if (n >= size)
		return -ENAMETOOLONG;
	memcpy(host, endpoint, n);
	host[n] = '\0';
	if (!n)
		snprintf(host, size, "127.0.0.1");
	*port = colon + 1;
	return 0;
}

static int connect_tcp(const char *endpoint, uint64_t deadline_ns)
{
	char host[256];
	const char *port;
	int r = split_host_port(endpoint, host, sizeof(host), &port);
	if (r < 0)
		return r;
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list;
	if (getaddrinfo(host, port, &want, &list))
		return -EHOSTUNREACH;
	r = -EHOSTUNREACH;
	for (struct addrinfo *a = list; a; a = a->ai_next) {
		int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0) {
			r = -errno;
			continue;
		}
		r = connect_within(fd, a->ai_addr, a->ai_addrlen, deadline_ns);
		if (r == 0) {
			r = fd;
			break;
		}
		close(fd);
	}
	freeaddrinfo(list);
	return r;
}

int us_socket_connect(const char *endpoint, unsigned timeout_ms, struct us_err *e)
{
	uint64_t deadline = us_now_ns() + timeout_ms * US_NS_PER_MS;
	int r = endpoint[0] == '/' ? connect_unix(endpoint, deadline)
				   : connect_tcp(endpoint, deadline);
	if (r >= 0)
		return r;
	if (r == -EINVAL) {
		char shown[160];
		return us_fail(e, r, "connect to '%s': neither a /path nor a host:port",
			       us_printable(shown, sizeof(shown), endpoint));
	}
	return fail_connect(e, r, endpoint);
}

int us_socket_find(const char *path, const char *what, struct us_err *e)
{
	struct stat st;
	int code = stat(path, &st) < 0 ? errno : 0;
	/* Connecting needs write permission (unix(7)).  Check that without connecting,
	 * because QEMU serves one client at a time. */
	if (!code && S_ISSOCK(st.st_mode) &&
	    faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
		code = errno;
	if (code == EACCES) {
		us_fail(e, -EACCES, "%s %s is not accessible: %s", what, path,
			strerror(code));
		us_hint(e, "run as the user of the VMM, or as root (sudo)");
		return -EACCES;
	}
	if (!code && S_ISSOCK(st.st_mode))
		return 0;
	us_fail(e, -ENOENT, "%s %s does not exist", what, path);
	us_hint(e, "run: uniscope ps");
	return -ENOENT;
}
