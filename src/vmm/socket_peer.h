/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket_peer.h: who is at the other end: the process that serves a connection, and the
 * client that is already connected to a monitor or a stub.
 */
#ifndef US_VMM_SOCKET_PEER_H
#define US_VMM_SOCKET_PEER_H

#include <sys/types.h>

/*
 * Pid of the process that serves a connected socket.  For a unix socket it comes from
 * SO_PEERCRED (the process that called listen(2): if a manager passes sockets on, it is
 * the manager).  For a loopback TCP connection it is the owner of the other end in
 * /proc/net/tcp and tcp6.  0 if it cannot be told: a remote peer, another user's
 * process, a closed socket.
 */
pid_t us_socket_peer_pid(int fd);

/* "gdb (pid 4711)": the client that is connected there; other: what to call one of
 * whose process nothing is known.  Returns ret. */
const char *us_socket_name_client(const char *endpoint, const char *other, char *ret,
				  size_t size);

/*
 * Pid of the process that listens at "/path", or at "host:port" of this host; nothing
 * is connected.  0: none, or on another host, or of another user, whose files may not
 * be seen.
 */
pid_t us_socket_server_pid(const char *endpoint);

enum us_socket_client {
	US_SOCKET_FREE,	   /* no client, or one on another host, which cannot be seen */
	US_SOCKET_TAKEN,   /* a client is connected */
	US_SOCKET_PERHAPS, /* one was connected; whether it is gone is not known */
};

/*
 * Is a client connected to the server at "/path", or at "host:port" of this host?  A
 * client that is gone does not count, even before a busy server has noticed.  ret_pid:
 * the client's process, 0: not known (another user's); NULL: not wanted, which is
 * quicker.  Sources: sock_diag(7) and proc(5), net/unix and net/tcp.
 */
enum us_socket_client us_socket_find_client(const char *endpoint, pid_t *ret_pid);

#endif
