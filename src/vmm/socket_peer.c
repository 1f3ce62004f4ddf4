/* SPDX-License-Identifier: GPL-2.0-or-later */
/* socket_peer.c: see socket_peer.h. */
#include "vmm/socket_peer.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "vmm/proc.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>

/* TCP_ESTABLISHED and TCP_LISTEN; unix sockets use the same states. */
#define ESTABLISHED 1
#define LISTENING   10
#define MAX_FORKS   8 /* from a socket's opener to the owner found */

/* An end of a TCP connection in a comparable form: IPv4 as mapped IPv6. */
struct end {
	uint8_t addr[16];
	unsigned port;
};

static bool end_of(const struct sockaddr_storage *s, struct end *ret)
{
	*ret = (struct end){ .addr = { [10] = 0xff, [11] = 0xff } };
	if (s->ss_family == AF_INET) {
		const struct sockaddr_in *a = (const void *)s;
		memcpy(ret->addr + 12, &a->sin_addr, 4);
		ret->port = ntohs(a->sin_port);
		return true;
	}
	if (s->ss_family == AF_INET6) {
		const struct sockaddr_in6 *a = (const void *)s;
		memcpy(ret->addr, &a->sin6_addr, 16);
		ret->port = ntohs(a->sin6_port);
		return true;
	}
	return false;
}

static bool end_equal(const struct end *a, const struct end *b)
{
	return a->port == b->port && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

/* "0100007F:115C": words of four bytes, each printed in the host's byte order. */
static bool end_parse(const char *text, struct end *ret)
{
	*ret = (struct end){ .addr = { [10] = 0xff, [11] = 0xff } };
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	if (n != 8 && n != 32)
		return false;
	uint8_t *to = n == 8 ? ret->addr + 12 : ret->addr;
	for (size_t i = 0; i < n / 8; i++) {
		char word[9] = { 0 };
		memcpy(word, text + 8 * i, 8);
		uint32_t v = (uint32_t)strtoul(word, NULL, 16);
		memcpy(to + 4 * i, &v, 4);
	}
	ret->port = (unsigned)strtoul(colon + 1, NULL, 16);
	return true;
}

/* One TCP socket of this host, and its peer. */
struct tcp_socket {
	struct end local, remote;
	unsigned state;
	unsigned long inode;
};

static bool tcp_parse(const char *line, struct tcp_socket *ret)
{
	char l[80], r[80];
	return sscanf(line, " %*[^:]: %79s %79s %x %*s %*s %*s %*s %*s %lu", l, r,
		      &ret->state, &ret->inode) == 4 &&
	       end_parse(l, &ret->local) && end_parse(r, &ret->remote);
}

/* The first TCP socket of this host that matches. */
static bool tcp_find(bool (*matches)(const struct tcp_socket *, const void *),
		     const void *what, struct tcp_socket *ret)
{
	static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	bool found = false;
	for (unsigned i = 0; !found && i < 2; i++) {
		FILE *f = fopen(tables[i], "re");
		char line[512];
		while (f && !found && fgets(line, sizeof(line), f))
			found = tcp_parse(line, ret) && matches(ret, what);
		if (f)
			fclose(f);
	}
	return found;
}

/* The peer's socket has the same ends the other way round. */
static bool is_other_end(const struct tcp_socket *t, const void *what)
{
	const struct tcp_socket *of = what;
	return end_equal(&t->local, &of->remote) && end_equal(&t->remote, &of->local);
}

static bool is_served_at(const struct tcp_socket *t, const void *what)
{
	return t->local.port == *(const unsigned *)what && t->state == ESTABLISHED;
}

static bool listens_at(const struct tcp_socket *t, const void *what)
{
	return t->local.port == *(const unsigned *)what && t->state == LISTENING;
}

static bool holds_socket(int proc, const char *pid, const char *link)
{
	char path[32];
	snprintf(path, sizeof(path), "%.10s/fd", pid);
	DIR *d = us_proc_folder(proc, path);
	if (!d)
		return false;
	bool found = false;
	for (struct dirent *ent; !found && (ent = readdir(d));) {
		char to[64];
		ssize_t n = readlinkat(dirfd(d), ent->d_name, to, sizeof(to) - 1);
		if (n > 0) {
			to[n] = '\0';
			found = !strcmp(to, link);
		}
	}
	closedir(d);
	return found;
}

/* A process may have passed the socket to its children, as uniscope passes the stub to
 * its watchdog.  Pids wrap around, so a child may be found first: return the process
 * that passed it. */
static pid_t who_gave(int proc, pid_t pid, const char *link)
{
	for (unsigned i = 0; i < MAX_FORKS; i++) {
		struct us_proc_stat st;
		char number[16];
		_cleanup_close_ int child = us_proc_open(pid);
		if (child < 0 || us_proc_stat(child, &st) < 0 || st.parent <= 0)
			break;
		snprintf(number, sizeof(number), "%d", (int)st.parent);
		if (!holds_socket(proc, number, link))
			break;
		pid = st.parent;
	}
	return pid;
}

/* 0: none that this user may see. */
static pid_t owner_of_inode(unsigned long inode)
{
	if (!inode)
		return 0;
	char link[48];
	snprintf(link, sizeof(link), "socket:[%lu]", inode);
	DIR *d = opendir("/proc");
	if (!d)
		return 0;
	pid_t pid = 0;
	for (struct dirent *ent; !pid && (ent = readdir(d));) {
		if (ent->d_name[0] >= '1' && ent->d_name[0] <= '9' &&
		    holds_socket(dirfd(d), ent->d_name, link))
			pid = (pid_t)strtol(ent->d_name, NULL, 10);
	}
	if (pid)
		pid = who_gave(dirfd(d), pid, link);
	closedir(d);
	return pid;
}

pid_t us_socket_peer_pid(int fd)
{
	struct sockaddr_storage here, there;
	socklen_t n_here = sizeof(here), n_there = sizeof(there);
	if (getsockname(fd, (struct sockaddr *)&here, &n_here) < 0 ||
	    getpeername(fd, (struct sockaddr *)&there, &n_there) < 0)
		return 0;
	if (here.ss_family == AF_UNIX) {
		struct ucred c;
		socklen_t n = sizeof(c);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
			return 0;
		return c.pid;
	}
	struct tcp_socket mine, peer;
	if (!end_of(&here, &mine.local) || !end_of(&there, &mine.remote) ||
	    !tcp_find(is_other_end, &mine, &peer))
		return 0;
	return owner_of_inode(peer.inode);
}

/* A server's unix socket, listening or connected, as the kernel describes it. */
struct unix_server {
	const char *name; /* not terminated */
	size_t name_len;
	struct unix_diag_vfs file;
	uint32_t peer; /* the client's inode; 0: none, or it is gone */
};

/* A client that waits to be accepted and still exists. */
static uint32_t first_waiting(const void *inodes, size_t n)
{
	uint32_t inode = 0;
	for (size_t i = 0; !inode && i < n / sizeof(inode); i++)
		memcpy(&inode, (const char *)inodes + i * sizeof(inode), sizeof(inode));
	return inode;
}

static void unix_parse(const struct unix_diag_msg *msg, int len,
		       struct unix_server *ret)
{
	*ret = (struct unix_server){ 0 };
	for (const struct rtattr *a = (const void *)(msg + 1); RTA_OK(a, len);
	     a = RTA_NEXT(a, len)) {
		size_t n = RTA_PAYLOAD(a);
		const void *data = (const char *)a + RTA_LENGTH(0);
		if (a->rta_type == UNIX_DIAG_NAME) {
			ret->name = data;
			ret->name_len = strnlen(data, n);
		} else if (a->rta_type == UNIX_DIAG_VFS && n >= sizeof(ret->file)) {
			memcpy(&ret->file, data, sizeof(ret->file));
		} else if (a->rta_type == UNIX_DIAG_PEER && n >= sizeof(ret->peer)) {
			memcpy(&ret->peer, data, sizeof(ret->peer));
		} else if (a->rta_type == UNIX_DIAG_ICONS) {
			ret->peer = first_waiting(data, n);
		}
	}
}

/* Compares the name, or the file: the server may have used another path to it. */
static bool is_server_at(const struct unix_server *u, const char *path,
			 const struct stat *st)
{
	if (u->name && u->name_len == strlen(path) &&
	    !memcmp(u->name, path, u->name_len))
		return true;
	/* The kernel's own encoding of a device. */
	uint32_t dev = major(st->st_dev) << 20 | minor(st->st_dev);
	return u->file.udiag_vfs_ino == (uint32_t)st->st_ino &&
	       u->file.udiag_vfs_dev == dev;
}

static int unix_ask(int fd)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req body;
	} ask = { .head = { .nlmsg_len = sizeof(ask),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		  .body = { .sdiag_family = AF_UNIX,
			    .udiag_states = 1u << ESTABLISHED | 1u << LISTENING,
			    .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS |
					  UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS } };
	const struct timeval patience = { .tv_sec = 1 };
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    send(fd, &ask, sizeof(ask), 0) < 0)
		return -errno;
	return 0;
}

/* The inodes of the sockets at a path; 0: none. */
struct unix_inodes {
	uint32_t client, server;
};

/* One message of the answer: 1: there are more. */
static int unix_take(const struct nlmsghdr *h, const char *path, const struct stat *st,
		     struct unix_inodes *ret)
{
	if (h->nlmsg_type == NLMSG_DONE)
		return 0;
	const struct unix_diag_msg *msg = (const void *)(h + 1);
	int len = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*msg));
	if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || len < 0)
		return -ENOTSUP;
	struct unix_server u;
	unix_parse(msg, len, &u);
	if ((u.peer || msg->udiag_state == LISTENING) && is_server_at(&u, path, st)) {
		if (u.peer)
			ret->client = u.peer;
		if (msg->udiag_state == LISTENING)
			ret->server = msg->udiag_ino;
	}
	return 1;
}

/* -errno: this kernel does not report it. */
static int find_unix_inodes(const char *path, struct unix_inodes *ret)
{
	union {
		struct nlmsghdr first;
		char bytes[16384];
	} in;
	struct stat st;
	*ret = (struct unix_inodes){ 0 };
	if (stat(path, &st) < 0)
		return -errno;
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
					NETLINK_SOCK_DIAG);
	int r = fd < 0 ? -errno : unix_ask(fd);
	if (r < 0)
		return r;
	for (r = 1; r == 1;) {
		ssize_t n = recv(fd, &in, sizeof(in), 0);
		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		for (const struct nlmsghdr *h = &in.first; r == 1 && NLMSG_OK(h, n);
		     h = NLMSG_NEXT(h, n))
			r = unix_take(h, path, &st, ret);
	}
	return r;
}

/* Does /proc/net/unix know a connected socket with that path? */
static bool had_unix_client(const char *path)
{
	FILE *f = fopen("/proc/net/unix", "re");
	if (!f)
		return false;
	char line[512], state[4], name[256];
	bool found = false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*x: %*s %*s %*s %*s %3s %*s %255[^\n]", state,
			       name) == 2 &&
			!strcmp(state, "03") && !strcmp(name, path);
	fclose(f);
	return found;
}

static enum us_socket_client find_unix(const char *path, pid_t *ret_pid)
{
	struct unix_inodes at;
	if (find_unix_inodes(path, &at) < 0)
		return had_unix_client(path) ? US_SOCKET_PERHAPS : US_SOCKET_FREE;
	if (ret_pid)
		*ret_pid = owner_of_inode(at.client);
	return at.client ? US_SOCKET_TAKEN : US_SOCKET_FREE;
}

static enum us_socket_client find_tcp(unsigned port, pid_t *ret_pid)
{
	struct tcp_socket server, client;
	if (!tcp_find(is_served_at, &port, &server))
		return US_SOCKET_FREE;
	if (ret_pid && tcp_find(is_other_end, &server, &client))
		*ret_pid = owner_of_inode(client.inode);
	return US_SOCKET_TAKEN;
}

/* The port of "host:port" of this host; 0: another host's. */
static unsigned port_here(const char *endpoint)
{
	const char *colon = strrchr(endpoint, ':');
	bool here = colon && (colon == endpoint || !strncmp(endpoint, "127.", 4) ||
			      !strncmp(endpoint, "localhost:", 10) ||
			      !strncmp(endpoint, "[::1]:", 6));
	return here ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

enum us_socket_client us_socket_find_client(const char *endpoint, pid_t *ret_pid)
{
	if (ret_pid)
		*ret_pid = 0;
	if (endpoint[0] == '/')
		return find_unix(endpoint, ret_pid);
	unsigned port = port_here(endpoint);
	return port ? find_tcp(port, ret_pid) : US_SOCKET_FREE;
}

const char *us_socket_name_client(const char *endpoint, const char *other, char *ret,
				  size_t size)
{
	char name[96];
	struct us_proc_stat st;
	pid_t pid;
	us_socket_find_client(endpoint, &pid);
	_cleanup_close_ int proc = pid ? us_proc_open(pid) : -1;
	if (proc >= 0 && us_proc_stat(proc, &st) == 0)
		snprintf(ret, size, "%s (pid %d)",
			 us_printable(name, sizeof(name), st.comm), (int)pid);
	else
		snprintf(ret, size, "%s", other);
	return ret;
}

pid_t us_socket_server_pid(const char *endpoint)
{
	struct unix_inodes at;
	struct tcp_socket server;
	if (endpoint[0] == '/')
		return find_unix_inodes(endpoint, &at) < 0 ? 0
							   : owner_of_inode(at.server);
	unsigned port = port_here(endpoint);
	return port && tcp_find(listens_at, &port, &server)
		       ? owner_of_inode(server.inode)
		       : 0;
}
